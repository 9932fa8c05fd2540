"""What Locust sees of open arrivals: users that are equal shares of the rate.

So Locust deals the rate over its workers, and deals it again when a worker is lost or joins.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from locust import User, constant, task


class Arrivals(User):
    """One share of the arrivals. It does nothing itself: the scheduler runs while shares are held."""

    abstract = True  # never picked up from a locustfile: the swarm puts it in place
    wait_time = constant(3600)
    take: ClassVar[Callable[[Any, int], None]]

    @task
    def hold(self) -> None:
        """A share is held until Locust stops this user."""

    def on_start(self) -> None:
        type(self).take(self.environment, 1)

    def on_stop(self) -> None:
        type(self).take(self.environment, -1)
