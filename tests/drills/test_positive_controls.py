"""An app that breaks one promise fails the audit of that promise and no other.

The app as it ships passes them all on the same drill; without that, a failing audit would show nothing.
"""

import importlib

import pytest

from results.audit import INVARIANTS
from tests.drills.conftest import Shell

QUIET = f"""\
drill: control
question: Which audit notices?
load: {{arrivals: 30/s, mix: {{feed_reader: 50, viral_liker: 25, celebrity_follower: 10, author: 15}}}}
population: {{users: 200, celebrities: 1, celebrity_followers: 100, follows_mean: 6}}
stack: {{election_timeout: 3s}}
phases: {{warmup: 1s, baseline: 5s, fault: 10s, recovery: 2s}}
invariants: [{", ".join(INVARIANTS)}]
"""
pytestmark = pytest.mark.timeout(420)  # a whole stack on a busy machine
VARIANTS = [
    "acks_before_durable",
    "applies_twice",
    "forgets_the_outbox",
    "counts_blindly",
    "serves_stale_for_ever",
]


def broken_audits(shell: Shell, app_module: str) -> set[str]:
    ran = shell.run("drill", shell.write("control.yaml", QUIET), "--app-module", app_module)
    assert ran.code in (0, 1, 3), ran.out + ran.err
    findings = shell.verdict()["invariants"]
    assert len(findings) == len(INVARIANTS)
    return {finding["invariant"] for finding in findings if finding["ok"] is False}


def test_the_app_as_it_ships_breaks_nothing(shell: Shell) -> None:
    assert broken_audits(shell, "reference_app") == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_broken_promise_fails_its_audit_and_no_other(name: str, shell: Shell) -> None:
    promise = importlib.import_module(f"tests.variants.{name}").BREAKS
    assert broken_audits(shell, f"tests.variants.{name}") == {promise}
