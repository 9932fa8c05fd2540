"""Who is a celebrity: somebody whose posts cost more to push than the staleness budget allows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """Followers at which an author's posts stop being pushed: fan-out rate x staleness budget.

    The way back lies lower, so that somebody on the border does not change sides with every follower.
    """

    promote_at: int
    demote_below: int

    @classmethod
    def of(cls, promote_at: int, hysteresis: float = 0.2) -> "Threshold":
        """`hysteresis`: the share of the threshold that has to be lost before the way back."""
        return cls(promote_at, max(1, int(promote_at * (1 - hysteresis))))

    def is_celebrity(self, *, was: bool, followers: int) -> bool:
        return followers >= (self.demote_below if was else self.promote_at)
