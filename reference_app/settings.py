"""Every setting of the app, from `FEED_*` environment variables, checked all at once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit, urlunsplit

from reference_app.errors import SettingsError

Strategy: TypeAlias = Literal["pull", "push", "hybrid"]
STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
PREFIX: Final = "FEED_"


@dataclass(frozen=True)
class Settings:
    """The names are those of the environment variables, in lower case and without `FEED_`."""

    mongo_uri: str = "mongodb://127.0.0.1:27017/?replicaSet=rs0"
    mongo_database: str = "feedstorm"
    redis_url: str = "redis://127.0.0.1:6379/0"
    kafka_bootstrap: str = "127.0.0.1:9092"

    strategy: Strategy = "hybrid"
    celebrity_threshold: int = 100_000
    """Followers at which posts are no longer pushed: fan-out rate x staleness budget."""
    feed_size: int = 500
    """Entries kept for each user."""
    follower_depth: int = 10_000
    """So many followers can be paged through, and no more."""

    fallback_rps: float = 3000.0
    """Feed reads a second, in each API process, that may go to Mongo while Redis is gone."""
    rebuild_rps: float = 300.0
    """Cold feeds a second, in each API process, that are rebuilt."""

    mongo_timeout_s: float = 1.8
    redis_timeout_s: float = 0.75
    kafka_timeout_s: float = 1.5

    like_shards: int = 100
    partitions: int = 4
    """Partitions of a topic that has to be made."""
    replication: int = 1

    sweep_every_s: float = 0.5
    outbox_grace_s: float = 2.0
    count_grace_s: float = 0.25
    """How long the fast path has before the sweeper does a marked thing itself."""
    local_cache_s: float = 1.0
    """How long a process trusts its own memory: celebrity posts, like counts."""

    media_endpoint: str = "http://127.0.0.1:9000/media"
    media_region: str = "us-east-1"
    media_access_key: str = "feedstorm"
    media_secret_key: str = "feedstorm-not-a-secret"
    media_expires_s: int = 900
    cursor_key: str = "feedstorm"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Raises SettingsError that names every variable that cannot be used, not just the first."""
        values: dict[str, object] = {}
        problems: list[str] = []
        for field in fields(cls):
            name = PREFIX + field.name.upper()
            text = environ.get(name, "").strip()
            if not text:
                continue
            try:
                values[field.name] = _parsed(text, field.default)
            except ValueError:
                kind = "a whole number" if isinstance(field.default, int) else "a number"
                problems.append(f"{name} must be {kind}, not {text!r}")
        settings = cls(**values)  # type: ignore[arg-type]  # each value has its default's type
        problems += settings.problems()
        if problems:
            raise SettingsError("These settings cannot be used: " + "; ".join(problems) + ".")
        return settings

    def problems(self) -> list[str]:
        """What is wrong with these values, one phrase each."""
        found: list[str] = []
        if self.strategy not in STRATEGIES:
            found.append(f"FEED_STRATEGY must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}")
        if not self.mongo_uri.startswith(("mongodb://", "mongodb+srv://")):
            found.append("FEED_MONGO_URI must begin with mongodb://")
        if not self.redis_url.startswith("redis://"):
            found.append("FEED_REDIS_URL must begin with redis://")
        if not all(_is_address(part) for part in self.kafka_bootstrap.split(",")):
            found.append("FEED_KAFKA_BOOTSTRAP must be host:port, or several with commas between")
        found += [
            f"{PREFIX}{field.name.upper()} must be more than 0"
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), int | float)
            and value <= 0
            and field.name not in ("fallback_rps", "rebuild_rps")
        ]
        found += [
            f"{PREFIX}{name.upper()} must not be negative"
            for name in ("fallback_rps", "rebuild_rps")
            if getattr(self, name) < 0
        ]
        return found


def _parsed(text: str, default: object) -> str | int | float:
    """The text as a value of its default's type. Raises ValueError."""
    if isinstance(default, int):
        return int(text)
    return float(text) if isinstance(default, float) else text


def _is_address(text: str) -> bool:
    host, _, port = text.strip().rpartition(":")
    return bool(host) and port.isdigit() and 0 < int(port) < 65536


def without_password(url: str) -> str:
    """A URL as it may be shown: the password, if it has one, is starred out."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at or ":" not in user:
        return url
    return urlunsplit(parts._replace(netloc=f"{user.split(':')[0]}:***@{host}"))
