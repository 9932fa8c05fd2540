"""Audits: is everything that was acknowledged still there, once, in order, and counted right?

    report = audit.run(directory, mongo_uri=..., redis_url=..., api=(...,), worker_metrics=(...,))

Each invariant is a pure function from `Evidence` (ledger and final state) to a `Finding`; `run` waits
until the stack is quiet, reads the state and asks them all.
"""

from results.audit.errors import ReadError
from results.audit.evidence import Evidence
from results.audit.examine import read, run
from results.audit.finding import AuditReport, Finding
from results.audit.invariants import INVARIANTS

__all__ = ["INVARIANTS", "AuditReport", "Evidence", "Finding", "ReadError", "read", "run"]
