"""How fast and how small the audit of a million acknowledged writes is.

Time is CPU time: the audit is one thread that hardly waits, and the machine may have other work.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .million import prepare

WRITES = 1_000_000
WITHIN_S = 60
WITHIN_MIB = 500


@pytest.mark.bench
@pytest.mark.timeout(300)
def test_a_million_acknowledged_writes_are_audited_in_a_minute_and_in_500_mb(tmp_path: Path) -> None:
    prepare(tmp_path, WRITES)
    command = [sys.executable, "-m", "tests.integration.results.million", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=240)
    found = json.loads(done.stdout)
    seconds, mib = found["took_s"], found["peak_mib"]
    sys.stdout.write(f"\naudit of {WRITES} acknowledged writes: {seconds:.1f} CPU seconds, {mib:.0f} MiB\n")
    assert found["findings"]["no_acknowledged_write_lost"][0] is True
    assert found["findings"]["no_write_applied_twice"][0] is True
    assert seconds < WITHIN_S
    assert mib < WITHIN_MIB
