"""Stores that can be taken away."""

from dataclasses import dataclass, field

from reference_app.errors import StoreRefusedError


@dataclass
class Outages:
    """Names of stores that are gone now: "mongo", "redis", "kafka"; or "primary": then mongo only reads."""

    gone: set[str] = field(default_factory=set)

    def check(self, store: str) -> None:
        if store in self.gone:
            raise StoreRefusedError(store, "taken away")
