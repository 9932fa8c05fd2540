"""Talking through a terminal: lines between drills, keys during one, and the terminal as it was."""

import asyncio
import contextlib
import os
import termios
from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from chaos.gameday.talk import Terminal


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    """Somebody's keyboard, and the terminal that it types into."""
    keyboard, terminal = os.openpty()
    yield keyboard, terminal
    os.close(keyboard)
    os.close(terminal)


async def test_lines_are_answers_one_after_the_other(pair: tuple[int, int]) -> None:
    keyboard, fd = pair
    terminal = Terminal(Console(file=StringIO()), fd)
    os.write(keyboard, b"yes\nno\n")
    assert await asyncio.wait_for(terminal.ask("Ready?"), 5) == "yes"
    assert await asyncio.wait_for(terminal.ask("Sure?"), 5) == "no"


async def test_asking_can_be_cut_short(pair: tuple[int, int]) -> None:
    keyboard, fd = pair
    terminal = Terminal(Console(file=StringIO()), fd)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(terminal.ask("Anybody?"), 0.05)
    os.write(keyboard, b"late\n")
    assert await asyncio.wait_for(terminal.ask("Now?"), 5) == "late"


async def test_the_end_of_input_is_an_empty_answer() -> None:
    read_end, write_end = os.pipe()
    os.close(write_end)
    terminal = Terminal(Console(file=StringIO()), read_end)
    assert await asyncio.wait_for(terminal.ask("Anybody?"), 5) == ""
    os.close(read_end)


async def test_keys_come_at_once_and_the_terminal_is_put_back(pair: tuple[int, int]) -> None:
    keyboard, fd = pair
    before = termios.tcgetattr(fd)
    terminal = Terminal(Console(file=StringIO()), fd)
    keys: asyncio.Queue[str] = asyncio.Queue()
    with contextlib.suppress(ZeroDivisionError), terminal.keys(keys.put_nowait):
        assert termios.tcgetattr(fd)[3] & termios.ICANON == 0
        os.write(keyboard, b"na")
        assert [await asyncio.wait_for(keys.get(), 5) for _ in range(2)] == ["n", "a"]
        raise ZeroDivisionError("the drill went wrong")
    assert termios.tcgetattr(fd) == before
