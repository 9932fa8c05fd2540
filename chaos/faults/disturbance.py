"""What the faults on a link share: toxics are put on it, a probe feels them, they are removed."""

from chaos import probes
from chaos.capabilities import OURS, CanDisturb, need
from chaos.faults.base import Evidence, Fault, Undo
from chaos.targets import Target

_PROBE_WITHIN_S = 5.0
PROBE_BYTES = 30_000


class Disturbance(Fault, frozen=True):
    """Traffic through the link suffers."""

    hits = "link"

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        """(kind, stream, attributes) as Toxiproxy names them; `downstream` is from server to client."""
        raise NotImplementedError

    def prepare(self, target: Target, lease: str) -> Undo:
        need(target.driver, CanDisturb, self.name).toxics(target.name)
        return {stream: f"{OURS}{lease}-{kind}-{stream}" for kind, stream, _ in self.toxics()}

    def inject(self, target: Target, undo: Undo) -> None:
        driver = need(target.driver, CanDisturb, self.name)
        for kind, stream, attributes in self.toxics():
            driver.add_toxic(target.name, undo[stream], kind, stream, attributes)

    def heal(self, target: Target, undo: Undo) -> None:
        driver = need(target.driver, CanDisturb, self.name)
        for toxic in undo.values():
            driver.remove_toxic(target.name, toxic)

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        left = need(target.driver, CanDisturb, self.name).toxics(target.name) & set(undo.values())
        if left:
            return Evidence(False, f"{len(left)} toxics are left")
        felt = probes.describe(target.component, target.address)
        return Evidence(True, f"no toxic of ours is left, a probe through it finds that it {felt}")


def slowness(target: Target, *, at_least_s: float, payload_bytes: int = 0) -> Evidence:
    """Evidence that an answer through the link takes `at_least_s`; a broken connection is not slowness."""
    try:
        took = probes.answer_time(
            target.component,
            target.address,
            within_s=_PROBE_WITHIN_S + at_least_s,
            payload_bytes=payload_bytes,
        )
    except TimeoutError:
        return Evidence(True, f"a probe got no answer within {_PROBE_WITHIN_S + at_least_s:g} s")
    except OSError as error:
        return Evidence(False, f"a probe's connection failed ({type(error).__name__})")
    return Evidence(took >= at_least_s, f"a probe was answered in {took * 1000:.0f} ms")
