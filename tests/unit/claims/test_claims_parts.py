"""What the experiments are put together from."""

import asyncio
import contextlib
from pathlib import Path

import bson
import pytest

from chaos import rundir
from chaos.claims import catalogue
from chaos.claims.array_wall import WALL_BYTES, array_bytes, followers_that_fit
from chaos.claims.evidence import (
    CannotShowError,
    Chart,
    Claim,
    Evidence,
    Finding,
    Interval,
    Measured,
    Opinion,
    Samples,
)
from chaos.claims.ground import Ground
from chaos.claims.page import curves, page
from chaos.claims.record import Trial, read
from chaos.claims.relay import relay_to
from chaos.claims.timing import take_turns
from chaos.claims.trial import put_to_the_test
from chaos.errors import CouldNotRunError, UsageError
from compose.stack import Endpoints

NOWHERE = Endpoints(
    api=(),
    mongo_uri="mongodb://127.0.0.1:1",
    redis_url="redis://127.0.0.1:1/0",
    kafka_bootstrap="127.0.0.1:1",
)


@pytest.mark.parametrize("followers", [0, 1, 9, 10, 11, 99, 101, 12_345])
def test_the_size_of_an_array_is_what_bson_says(followers: int) -> None:
    document = bson.encode({"": ["x" * 36] * followers})
    around_it = 5 + 1 + 1  # the document's length and end, the type and the empty name of its one field
    assert array_bytes(followers) == len(document) - around_it


def test_an_array_that_fits_fits_exactly() -> None:
    fits = followers_that_fit()
    assert array_bytes(fits) <= WALL_BYTES < array_bytes(fits + 1)


async def test_ways_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []

    async def a() -> None:
        order.append("a")

    async def b() -> None:
        order.append("b")

    samples = await take_turns({"a": a, "b": b}, rounds=3, per=2)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert len(samples["a"].values) == len(samples["b"].values) == 3


async def test_a_relay_carries_until_it_is_cut_and_again_when_mended() -> None:
    done = asyncio.Semaphore(0)

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                writer.write(line.upper())
        writer.close()
        done.release()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    async with server, relay_to("127.0.0.1", server.sockets[0].getsockname()[1]) as relay:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"hello\n")
        assert await asyncio.wait_for(reader.readline(), 5) == b"HELLO\n"
        relay.cut()
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(_read_or_raise(reader), 5)
        writer.close()
        relay.mend()
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"again\n")
        assert await asyncio.wait_for(reader.readline(), 5) == b"AGAIN\n"
        writer.close()
        for _ in range(2):
            await asyncio.wait_for(done.acquire(), 5)


async def _read_or_raise(reader: asyncio.StreamReader) -> None:
    if await reader.read(1) == b"":
        raise ConnectionError("closed")


async def test_an_experiment_that_takes_too_long_has_shown_nothing() -> None:
    async def forever(ground: Ground) -> Evidence:
        await asyncio.sleep(60)
        return Evidence()

    finding = await put_to_the_test(Claim("slow", "Slow", forever, within_s=0.05), NOWHERE, 1)
    assert finding.opinion is Opinion.CANNOT_BE_SHOWN
    assert finding.reasons == ["the experiment did not end within 0.05 s: this stack is too slow for it"]


async def test_all_claims_together_have_a_bound_too() -> None:
    async def forever(ground: Ground) -> Evidence:
        await asyncio.sleep(60)
        return Evidence()

    claim = Claim("slow", "Slow", forever)
    cut = await put_to_the_test(claim, NOWHERE, 1, left_s=0.05)
    assert cut.reasons == ["the experiment did not end within 0.05 s: this stack is too slow for it"]
    never = await put_to_the_test(claim, NOWHERE, 1, left_s=0)
    assert never.reasons == ["there was no time left for it: --within gives more"]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (CannotShowError("there is no second server"), "there is no second server"),
        (
            ConnectionRefusedError("refused"),
            "the experiment could not be run (ConnectionRefusedError: refused)",
        ),
    ],
)
async def test_an_experiment_that_fails_has_shown_nothing(error: Exception, why: str) -> None:
    async def fails(ground: Ground) -> Evidence:
        raise error

    finding = await put_to_the_test(Claim("fails", "Fails", fails), NOWHERE, 1)
    assert (finding.opinion, finding.reasons) == (Opinion.CANNOT_BE_SHOWN, [why])


async def test_a_mistake_in_an_experiment_is_not_hidden() -> None:
    async def wrong(ground: Ground) -> Evidence:
        raise AssertionError("a mistake of ours")

    with pytest.raises(AssertionError):
        await put_to_the_test(Claim("wrong", "Wrong", wrong), NOWHERE, 1)


def test_claims_have_names_of_their_own_and_a_mistyped_one_is_hinted_at() -> None:
    names = [claim.name for claim in catalogue.CLAIMS]
    assert len(set(names)) == len(names)
    assert [claim.name for claim in catalogue.find(["cursor", "counters"])] == ["counters", "cursor"]
    with pytest.raises(UsageError, match=r"no claim 'cursr' \(did you mean 'cursor'\?\)"):
        catalogue.find(["cursr"])


def test_the_page_holds_every_finding_and_asks_nobody(tmp_path: Path) -> None:
    samples = Samples("A <b>", "s", [1.0, 1.1])
    interval = Interval(1.0, 1.05, 1.1)
    measured = Measured(
        "what", samples, samples, 1.25, interval, interval, interval, Opinion.HOLDS, "because of <reasons>"
    )
    finding = Finding("one", "Says <this>", Opinion.HOLDS, ["because of <reasons>"], measured=[measured])
    trial = Trial("run", "embedded", 1, "now", stack_limits=["one copy"], findings=[finding])
    text = page(trial)
    body = text.split("</script></head>")[1]
    assert "Says &lt;this&gt;" in body
    assert "because of &lt;reasons&gt;" in body
    assert "one copy" in body
    assert 'src="http' not in text
    trial.write(tmp_path)
    assert read(tmp_path) == trial


def test_directories_beside_the_runs_never_collide(tmp_path: Path) -> None:
    made = [rundir.create_beside(tmp_path, "claims") for _ in range(5)]
    assert len(set(made)) == 5
    assert not (tmp_path / "latest").exists()
    (tmp_path / "file").touch()
    with pytest.raises(CouldNotRunError, match="choose another with --runs"):
        rundir.create_beside(tmp_path / "file", "claims")


def test_short_times_are_told_in_milliseconds_on_the_axis() -> None:
    axis = curves(Chart("t", "followers", "seconds (median)", [])).layout.yaxis
    assert (axis.ticksuffix, axis.tickformat, axis.title.text) == ("s", "~s", "median")
    other = curves(Chart("t", "seconds", "events", [])).layout.yaxis
    assert (other.ticksuffix, other.title.text) == (None, "events")
