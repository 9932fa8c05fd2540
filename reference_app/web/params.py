"""What a request's parameters look like: how each is read from text, and how OpenAPI describes it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from reference_app.domain.ids import ID_PATTERN, is_id
from reference_app.errors import RequestError

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema; `Any` because that is what JSON is."""


@dataclass(frozen=True)
class Param:
    """`read` turns the text into a value, or raises ValueError with what is wrong."""

    name: str
    place: Literal["path", "query", "header"]
    schema: Schema
    read: Callable[[str], Any]
    about: str = ""
    required: bool = False
    default: Any = None

    def value(self, text: str | None) -> Any:
        """Raises RequestError that names this parameter."""
        if text is None:
            if self.required:
                raise RequestError(f"{self.name} is missing.", field=self.name)
            return self.default
        try:
            return self.read(text)
        except ValueError as error:
            raise RequestError(f"{self.name} {error}.", field=self.name) from error


MAX_IDS: Final = 100
MAX_PAGE: Final = 100
MAX_KEY: Final = 200
_ID: Final[Schema] = {"type": "string", "pattern": ID_PATTERN, "format": "uuid"}


def _read_id(text: str) -> str:
    if not is_id(text):
        raise ValueError("must be a lower-case UUID")
    return text


def _read_ids(text: str) -> list[str]:
    ids = text.split(",")
    if len(ids) > MAX_IDS:
        raise ValueError(f"must be {MAX_IDS} ids at most")
    return [_read_id(one) for one in ids]


def _read_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_PAGE):
        raise ValueError(f"must be a whole number from 1 to {MAX_PAGE}")
    return int(text)


def _read_order(text: str) -> str:
    if text not in ("newest", "oldest"):
        raise ValueError("must be newest or oldest")
    return text


def _read_cursor(text: str) -> str:
    if not 1 <= len(text) <= 200:
        raise ValueError("is not a cursor")
    return text


def _read_key(text: str) -> str:
    if not (1 <= len(text) <= MAX_KEY and text.isascii() and text.isprintable()):
        raise ValueError(f"must be 1 to {MAX_KEY} printable ASCII characters")
    return text


def path_id(name: str) -> Param:
    return Param(name, "path", _ID, _read_id, required=True)


CALLER: Final = Param("X-User-Id", "header", _ID, _read_id, "Who asks.", required=True)
KEY: Final = Param(
    "Idempotency-Key",
    "header",
    {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
    _read_key,
    "Repeating a request with its key never does the thing twice.",
)
IDS: Final = Param(
    "ids",
    "query",
    {"type": "string", "pattern": f"^{ID_PATTERN[1:-1]}(,{ID_PATTERN[1:-1]}){{0,{MAX_IDS - 1}}}$"},
    _read_ids,
    f"Up to {MAX_IDS} ids with commas between.",
    required=True,
)
CURSOR: Final = Param(
    "cursor", "query", {"type": "string"}, _read_cursor, "`nextCursor` of the page before; opaque."
)
LIMIT: Final = Param(
    "limit",
    "query",
    {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 20},
    _read_limit,
    "Items on a page.",
    default=20,
)
ORDER: Final = Param(
    "order",
    "query",
    {"type": "string", "enum": ["newest", "oldest"], "default": "newest"},
    _read_order,
    default="newest",
)
