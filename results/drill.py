"""The parts of a drill that judging needs, read from the run's own record of it."""

from typing import Any

import msgspec

from results.history import RunInfo


class DrillFacts(msgspec.Struct):
    """What a drill promised. Unknown keys are the runner's business and are passed over."""

    drill: str = ""
    question: str = ""
    targets: list[str] = []
    invariants: list[str] = []
    proof: list[str] = []
    timeline: list[dict[str, Any]] = []

    @classmethod
    def of(cls, run: RunInfo) -> "DrillFacts":
        """Raises ValueError if the record is no drill."""
        try:
            return msgspec.convert(run.drill, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"the drill of run {run.run} cannot be read: {error}") from None
