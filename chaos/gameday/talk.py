"""Asking and listening in a terminal, without ever blocking the event loop or a signal.

Lines are read between drills; while a drill runs, single keys are (the terminal is then in cbreak mode,
and is put back however the drill ends).
"""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.text import Text

_CHUNK = 4096


class Talk(Protocol):
    """How the host talks with the room."""

    async def ask(self, question: str) -> str:
        """One line; empty if nothing is to be said."""

    def keys(self, on_key: Callable[[str], None]) -> AbstractContextManager[None]:
        """Within the context, `on_key` is called with each key that is pressed."""


class Silence:
    """Nobody is there (`--auto`, or no terminal): nothing is asked."""

    async def ask(self, question: str) -> str:
        return ""

    @contextmanager
    def keys(self, on_key: Callable[[str], None]) -> Iterator[None]:
        yield


class Terminal:
    """Somebody is there."""

    def __init__(self, console: Console, fd: int | None = None) -> None:
        self._console = console
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._rest = b""

    async def ask(self, question: str) -> str:
        self._console.print(Text(f"{question} ", style="bold"), end="")
        while b"\n" not in self._rest:
            data = await self._read()
            if not data:  # the end of the input: whoever was there has gone
                self._rest += b"\n"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()

    async def _read(self) -> bytes:
        """What comes next; cancelling this leaves the input as it was."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._fd, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)
        return os.read(self._fd, _CHUNK)

    @contextmanager
    def keys(self, on_key: Callable[[str], None]) -> Iterator[None]:
        loop, before = asyncio.get_running_loop(), termios.tcgetattr(self._fd)

        def read() -> None:
            data = os.read(self._fd, _CHUNK)
            if not data:
                loop.remove_reader(self._fd)
            for key in data.decode(errors="ignore"):
                on_key(key)

        tty.setcbreak(self._fd)
        loop.add_reader(self._fd, read)
        try:
            yield
        finally:
            loop.remove_reader(self._fd)
            termios.tcsetattr(self._fd, termios.TCSADRAIN, before)


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def talk_for(console: Console, *, auto: bool) -> Talk:
    return Silence() if auto or not sys.stdin.isatty() else Terminal(console)


class Typing:
    """What a key means while a drill runs: `a` aborts, `n` begins a note, which Enter ends."""

    def __init__(self, on_abort: Callable[[], None], on_note: Callable[[str], None]) -> None:
        self._on_abort, self._on_note = on_abort, on_note
        self.text: str | None = None
        """The note that is being typed; None while none is."""

    def press(self, key: str) -> None:
        if self.text is None:
            if key in ("a", "A"):
                self._on_abort()
            elif key in ("n", "N"):
                self.text = ""
        elif key in ("\r", "\n"):
            note, self.text = self.text.strip(), None
            if note:
                self._on_note(note)
        elif key == "\x1b":
            self.text = None
        elif key in ("\x7f", "\b"):
            self.text = self.text[:-1]
        elif key.isprintable():
            self.text += key

    @property
    def hint(self) -> str:
        """One line for beneath the picture."""
        if self.text is not None:
            return f"note: {self.text}▏   (Enter keeps it, Esc drops it)"
        return "a  abort: heal everything now      n  take a note"
