"""The faults, by the name that drills use. One file each; see docs/adding-a-fault.md."""

from collections.abc import Mapping
from typing import Any

import msgspec

from chaos.errors import UsageError
from chaos.faults.bandwidth import Bandwidth
from chaos.faults.base import Evidence, Fault, Undo
from chaos.faults.cpu import Cpu
from chaos.faults.cut import Cut
from chaos.faults.flush import Flush
from chaos.faults.isolate import Isolate
from chaos.faults.kill import Kill
from chaos.faults.latency import Latency
from chaos.faults.partition import Partition
from chaos.faults.pause import Pause
from chaos.faults.readonly import Readonly
from chaos.faults.reset import Reset
from chaos.faults.restart import Restart
from chaos.faults.slicer import Slicer
from chaos.faults.step_down import StepDown
from chaos.faults.stop import Stop
from chaos.faults.timeout import Timeout
from chaos.units import decode, encode, suggest

__all__ = ["FAULTS", "Evidence", "Fault", "Undo", "make", "options_of"]

FAULTS: dict[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        Kill, Stop, Restart, Pause, Cpu, Isolate,
        StepDown, Flush, Readonly,
        Cut, Latency, Bandwidth, Timeout, Reset, Slicer, Partition,
    )
}  # fmt: skip


def make(name: str, options: Mapping[str, Any]) -> Fault:
    """The fault of that name with these options, spelled as in a drill. Raises UsageError."""
    if name not in FAULTS:
        raise UsageError(f"no fault '{name}'{suggest(name, FAULTS)}")
    kind = FAULTS[name]
    known = msgspec.structs.fields(kind)
    for option in options:
        if option not in (field.encode_name for field in known):
            raise UsageError(f"the fault '{name}' has no option '{option}'" + _options(known, option))
    try:
        return msgspec.convert(dict(options), kind, dec_hook=decode)
    except msgspec.ValidationError as error:
        raise UsageError(f"the options of the fault '{name}' are wrong: {error}") from None


def options_of(fault: Fault) -> dict[str, Any]:
    """The options as `make` reads them."""
    return dict(msgspec.to_builtins(fault, enc_hook=encode))


def _options(known: tuple[msgspec.structs.FieldInfo, ...], option: str) -> str:
    return suggest(option, (field.encode_name for field in known)) if known else ": it takes none"
