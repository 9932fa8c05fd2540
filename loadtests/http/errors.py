"""Why an op was not `ok`, as Locust's statistics show it.

HttpError
├── ConnectFailed     nothing was sent
├── Broken            the connection broke or timed out after sending had begun
└── BadAnswer         an error status, or a body that is wrong
"""


class HttpError(Exception):
    """`str()` is a short category without ids, so that equal errors are counted together."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))

    def __repr__(self) -> str:
        return str(self)


class ConnectFailed(HttpError):  # noqa: N818  # named by what happened
    """The connection was refused or did not come about in time."""


class Broken(HttpError):  # noqa: N818
    """No whole answer: "timeout", "connection closed", "connection reset" or "unreadable answer"."""


class BadAnswer(HttpError):  # noqa: N818
    """There is an answer, and it is not the one that was asked for."""
