"""Addresses as they may be shown: without user names and passwords."""

import re
from typing import Final

_CREDENTIALS: Final = re.compile(r"(?<=://)[^/@\s]*@")


def shown(text: str) -> str:
    """`text` without the credentials of any URL in it: `redis://:secret@host:6379` -> `redis://host:6379`."""
    return _CREDENTIALS.sub("", text)
