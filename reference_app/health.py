"""Is a store usable? Asked with a real write, within a second, and once however many ask at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from reference_app.service.coalesce import LocalCache

Probe: TypeAlias = Callable[[], Awaitable[None]]

WITHIN_S: Final = 1.0
_TRUST_S: Final = 0.25


class Readiness:
    """`probes` by name, e.g. "mongo": each returns if what it stands for is usable, and raises if not."""

    def __init__(self, probes: Mapping[str, Probe]) -> None:
        self._probes = probes
        self._answers: LocalCache[str, dict[str, str]] = LocalCache(lambda _: self._ask(), ttl_s=_TRUST_S)

    async def unusable(self) -> dict[str, str]:
        """What cannot be used now, and why; empty if all is well."""
        return await self._answers.get("all")

    async def _ask(self) -> dict[str, str]:
        reasons = await asyncio.gather(*(self._one(probe) for probe in self._probes.values()))
        return {name: why for name, why in zip(self._probes, reasons, strict=True) if why}

    async def _one(self, probe: Probe) -> str:
        try:
            async with asyncio.timeout(WITHIN_S):
                await probe()
        except TimeoutError:
            return f"no answer within {WITHIN_S:g} s"
        except Exception as error:  # whatever a store does while it is broken
            return str(error) or type(error).__name__
        return ""
