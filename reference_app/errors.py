"""Everything that can go wrong, as one tree; `web.problems` turns it into problem documents."""


class AppError(Exception):
    """The base of the app's own errors. The message is one plain sentence."""


class SettingsError(AppError):
    """The environment cannot be used; the message lists every problem."""


class StoreError(AppError):
    """A store could not do its work now. `store` is "mongo", "redis" or "kafka"."""

    def __init__(self, store: str, message: str, *, retry_after_s: float = 1.0) -> None:
        self.store, self.retry_after_s = store, retry_after_s
        super().__init__(f"{store}: {message}")


class StoreRefusedError(StoreError):
    """Nothing was done: the store is known to be gone, or said no. Answered with 503."""


class PoolExhaustedError(StoreRefusedError):
    """Nothing was done: every connection to the store is busy."""


class StoreUncertainError(StoreError):
    """The store was asked and did not answer in time: it may have been done. Answered with 504."""


class ShedError(AppError):
    """Refused on purpose, to keep what is left of the capacity for others. Answered with 503."""

    def __init__(self, message: str, *, retry_after_s: float = 1.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class RequestError(AppError):
    """The caller asked for something that cannot be. `field` names what is wrong."""

    status = 400
    title = "Bad request"

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        self.detail, self.field = detail, field
        super().__init__(detail)


class NotFoundError(RequestError):
    status = 404
    title = "Not found"


class UnauthorizedError(RequestError):
    status = 401
    title = "Caller unknown"


class ForbiddenError(RequestError):
    status = 403
    title = "Not allowed"


class ConflictError(RequestError):
    status = 409
    title = "Conflict"


class TooLargeError(RequestError):
    status = 413
    title = "Body too large"


class MediaTypeError(RequestError):
    status = 415
    title = "Unsupported media type"


class MethodError(RequestError):
    status = 405
    title = "Method not allowed"

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        super().__init__(f"This path answers {', '.join(allowed)}.")
