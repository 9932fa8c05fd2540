"""Who plays the arrivals: users of the mix, each doing one task at a time."""

import logging
import random
from bisect import bisect
from itertools import accumulate
from typing import Any

from locust import User

logger = logging.getLogger(__name__)


class Cast:
    """The users of the mix, made when first needed and used again: one task each time."""

    def __init__(self, environment: Any, mix: dict[type[User], float], rng: random.Random) -> None:
        self._environment, self._rng = environment, rng
        self._classes, self._weights = list(mix), list(accumulate(mix.values()))
        self._told = False
        self._off_stage: dict[type[User], list[User]] = {kind: [] for kind in mix}

    def play(self, intended: float) -> None:
        """Let one user do one task. Exceptions are reported as Locust reports those of tasks."""
        rng, weights = self._rng, self._weights
        kind = self._classes[bisect(weights, rng.random() * weights[-1], hi=len(weights) - 1)]
        waiting = self._off_stage[kind]
        user: User | None = None
        try:
            user = waiting.pop() if waiting else self._enter(kind)
            user.client.intended = intended  # type: ignore[attr-defined]  # a `RawHttpUser`
            perform: Any = rng.choice(user.tasks)  # a function: task sets were refused
            perform(user)
        except Exception as error:
            if not self._told:  # once with its traceback; they are all counted
                self._told = True
                logger.exception("%s: a task has failed", kind.__name__)
            self._environment.events.user_error.fire(
                user_instance=user, exception=error, tb=error.__traceback__
            )
        if user is not None:
            user.client.intended = None  # type: ignore[attr-defined]
            waiting.append(user)

    def _enter(self, kind: type[User]) -> User:
        user = kind(self._environment)
        user.on_start()
        return user
