"""A drill from beginning to end: have a stack, fill it, run, audit, judge, report, leave it as it was.

A stack that was up before stays up, and the user is told so; one that was brought up for the drill is
taken down again, whatever happens.
"""

import asyncio
import fcntl
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import roles, rundir
from chaos.drill import Drill, Population, StackWishes
from chaos.errors import CouldNotRunError
from chaos.healing import heal, remove_stray_toxics
from chaos.leases import LeaseBook
from chaos.live import View
from chaos.runner import Ending, Run, Runner
from chaos.sampling import Sampling
from chaos.seeding import seed_stack, seeded_population
from chaos.stacks import arm, attach, create
from chaos.stop import Stop, in_daemon_thread
from chaos.targets import Arsenal
from chaos.timeline import acts_of
from compose.stack import Stack, StackError, StackOptions, State, WritesLogs, worker_metrics
from compose.waiting import NeverHappenedError
from results import audit, report, verdict
from results.audit import AuditReport
from results.history import History
from results.verdict import Verdict

CELEBRITY_SHARE = 0.8
"""Small stacks have small celebrities: the threshold is this share of a seeded celebrity's followers."""
_LIVELY_WITHIN_S = 30.0
_CATCH_UP_WITHIN_S = 30.0
_AUDIT_WITHIN_S = 180.0


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line.

    `meanwhile` goes on beside the run, with the run's directory, until its load has ended. `before_audit` is
    for tests that tamper with the stores; `after_audit` for what writes more than the ledger knows of.
    """

    drill: Drill
    seed: int
    home: Path
    runs: Path
    stack: str = "embedded"
    command: str = ""
    app_module: str = "reference_app"
    allowed_hosts: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    meanwhile: Callable[[Path], Coroutine[Any, Any, None]] | None = None
    before_audit: Callable[[Stack, Path], None] = field(default=lambda stack, directory: None)
    after_audit: Callable[[Stack, Path], None] = field(default=lambda stack, directory: None)


@dataclass(frozen=True)
class Finished:
    """A run that came to a verdict."""

    verdict: Verdict
    ending: Ending
    directory: Path
    report: Path


async def run_drill(request: Request, view: View, stop: Stop) -> Finished:
    """Raises ChaosError or StackError if there is no run to judge."""
    with only_one(request.home):
        async with a_stack(request, view, stop) as stack:
            arsenal = arm(stack, request.home, request.allowed_hosts)
            await asyncio.to_thread(refuse_unknown_roles, request, arsenal)
            await populate(request.home, stack, request.drill.population, request.seed, view, stop)
            directory = rundir.create(request.runs, request.drill.drill)
            rundir.describe(
                directory, request.drill, stack,
                seed=request.seed, command=request.command, for_drift=request.sampling.for_drift,
            )  # fmt: skip
            run = Run(request.drill, request.seed, directory, request.home)
            try:
                runner = Runner(run, arsenal, view, stop, request.sampling)
                async with _beside(request.meanwhile, directory):
                    ending = await runner.run()
                return await _judge(request, stack, directory, ending, view, stop)
            finally:
                if isinstance(stack, WritesLogs):
                    with suppress(StackError):
                        await asyncio.to_thread(stack.write_logs)
                logs = [member.log for member in stack.members if member.log is not None]
                rundir.copy_logs(directory, [*logs, request.home / "logs" / "reaper.log"])


@asynccontextmanager
async def _beside(
    work: Callable[[Path], Coroutine[Any, Any, None]] | None, directory: Path
) -> AsyncIterator[None]:
    """The work goes on for the time of the context."""
    task = asyncio.create_task(work(directory)) if work is not None else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _judge(
    request: Request, stack: Stack, directory: Path, ending: Ending, view: View, stop: Stop
) -> Finished:
    await asyncio.to_thread(request.before_audit, stack, directory)
    findings = None
    if request.drill.invariants and not stop.again.is_set():
        with view.step("auditing the acknowledged writes"):
            findings = await _audit(request, stack, directory, ending, view, stop)
    if stop.asked.is_set():
        ending = "interrupted"
    else:
        await asyncio.to_thread(request.after_audit, stack, directory)
    judged = await asyncio.to_thread(verdict.judge, History.load(directory), findings)
    paths = await asyncio.to_thread(report.write, directory)
    return Finished(judged, ending, directory, paths.html)


async def _audit(
    request: Request, stack: Stack, directory: Path, ending: Ending, view: View, stop: Stop
) -> AuditReport | None:
    """The audit's report; None if it was too slow, or cut short by a signal: nothing is in force any more."""
    cut_short = stop.again if ending == "interrupted" else stop.asked
    invariants = tuple(request.drill.invariants)
    report = await in_daemon_thread(
        lambda: audit_run(directory, stack, invariants), until=cut_short, within_s=_AUDIT_WITHIN_S
    )
    if report is None:
        why = "was cut short" if cut_short.is_set() else f"did not end within {_AUDIT_WITHIN_S:g} s"
        view.say(f"the audit {why}; `feedstorm audit` can repeat it while the stack is up")
    return report


def audit_run(directory: Path, stack: Stack, invariants: tuple[str, ...] = ()) -> AuditReport:
    """Hold the run's ledger against what the stack's stores hold now. Blocking."""
    return audit.run(
        directory,
        mongo_uri=stack.endpoints.mongo_uri,
        mongo_database=stack.endpoints.mongo_database,
        redis_url=stack.endpoints.redis_url,
        api=stack.endpoints.api,
        worker_metrics=worker_metrics(stack.members),
        invariants=invariants,
        settle_within_s=_CATCH_UP_WITHIN_S,
    )


@asynccontextmanager
async def a_stack(request: Request, view: View, stop: Stop) -> AsyncIterator[Stack]:
    """The stack that is up, or one that is brought up for the time of the context."""
    there = attach(request.home)
    if there is not None:
        _check_settings(there, request.drill)
        await clear_leftovers(request.home, arm(there, request.home, request.allowed_hosts), view)
        await _check_lively(there)
        view.say(f"using the {there.kind} stack that is up in {request.home}, and leaving it up")
        yield there
        return
    options = options_for(request.drill.stack, request.drill.population, request.app_module)
    stack = create(request.stack, request.home, options, request.allowed_hosts)
    try:
        with view.step(f"starting the {stack.kind} stack"):
            await stop.guard(stack.up())
        await clear_leftovers(request.home, arm(stack, request.home, request.allowed_hosts), view)
        yield stack
    finally:
        with view.step(f"stopping the {stack.kind} stack"):
            await stack.down()


def _check_settings(there: Stack, drill: Drill) -> None:
    """A drill with settings of its own means nothing on a stack without them. Raises CouldNotRunError."""
    if not drill.stack.env:
        return
    settings = there.app_env
    for name, value in drill.stack.env.items():
        if settings.get(name) != value:
            raise CouldNotRunError(
                f"{drill.drill} needs {name}={value}, and the stack that is up was started without: "
                f"`feedstorm down` first, or `feedstorm up --set {name}={value}`"
            )


async def _check_lively(stack: Stack) -> None:
    """What runs may still need a moment. What does not run will not begin to by itself."""
    states = {member.name: stack.control.state(member.name) for member in stack.members}
    if idle := [f"{name} is {state}" for name, state in states.items() if state is not State.RUNNING]:
        raise CouldNotRunError(
            f"a part of the stack that is up does not run ({', '.join(idle)}); try `feedstorm heal`, or "
            "`feedstorm down`"
        )
    try:
        await stack.wait_ready(within_s=_LIVELY_WITHIN_S)
    except (StackError, NeverHappenedError) as error:
        raise CouldNotRunError(
            f"the stack that is up does not do its work ({error}); try `feedstorm heal`, or `feedstorm down`"
        ) from None


def options_for(
    wishes: StackWishes, population: Population, app_module: str = "reference_app"
) -> StackOptions:
    """How a stack has to be for these wishes and people."""
    threshold = max(1, int(population.celebrity_followers * CELEBRITY_SHARE))
    env = {"FEED_CELEBRITY_THRESHOLD": str(threshold), **wishes.env}
    election_s = 10.0 if wishes.election_timeout is None else float(wishes.election_timeout)
    return StackOptions(election_timeout_s=election_s, app_env=env, app_module=app_module)


async def populate(
    home: Path, stack: Stack, population: Population, seed: int, view: View, stop: Stop
) -> None:
    people = population.settled(seed)
    if seeded_population(home, stack) == people:
        view.say(f"{population.users} users are there already")
        return
    with view.step(f"seeding {population.users} users"):
        await stop.guard(seed_stack(home, stack, people))


async def clear_leftovers(home: Path, arsenal: Arsenal, view: View) -> None:
    """Heal what a run that was killed has left behind. Raises CouldNotRunError if that fails."""
    book = LeaseBook(home)
    orphans = [lease for lease in book.all() if lease.why_overdue()]
    for healing in await asyncio.to_thread(heal, orphans, arsenal, book, "left behind by an earlier run"):
        view.say(f"left behind by an earlier run: {healing.lease.fault} on {healing.target}: {healing.stage}")
        if healing.stage == "heal_failed":
            raise CouldNotRunError(
                f"{healing.lease.fault} on {healing.target} is left from an earlier run and could not be "
                f"healed: {healing.detail}; take the stack down with `feedstorm down`"
            )
    for link, toxic in await asyncio.to_thread(remove_stray_toxics, arsenal, book):
        view.say(f"left behind by an earlier run: {toxic} on {link}: removed")


def refuse_unknown_roles(request: Request, arsenal: Arsenal) -> None:
    """A role that nobody plays on a stack in good health is a mistake; better now than after the baseline.

    Raises CannotInjectError. Looks, and changes nothing.
    """
    for act in acts_of(request.drill, request.seed):
        roles.resolve(roles.parse(act.on), arsenal, random.Random(0))


@contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Two drills on one stack would explain each other's errors. Raises CouldNotRunError."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "drill.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CouldNotRunError(
                f"another drill is running on the stack in {home}; wait for it, or set FEEDSTORM_HOME"
            ) from None
        yield
