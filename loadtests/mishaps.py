"""Exceptions of user classes and event listeners: Locust logs them and goes on; we also remember them."""

import logging
from typing import Any

_LISTENER = "Uncaught exception in event handler"


class Mishaps(logging.Handler):
    """How many there were and the first of them, in one line without a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.count, self.first = 0, ""

    def on_user_error(self, exception: BaseException, **_: Any) -> None:
        self._remember(f"{type(exception).__name__}: {exception}")

    def emit(self, record: logging.LogRecord) -> None:
        """Locust tells of exceptions in listeners by its log only."""
        text = record.getMessage()
        if text.startswith(_LISTENER):
            self._remember(f"{text.strip().splitlines()[-1]} (in an event listener)")

    def _remember(self, what: str) -> None:
        self.count += 1
        self.first = self.first or what

    def detail(self) -> str:
        """ "" if there were none."""
        if not self.count:
            return ""
        return f"exception: {self.first}" + (f" ({self.count} in all)" if self.count > 1 else "")
