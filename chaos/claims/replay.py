"""An outage of the feed store: events that wait in Kafka arrive later, others never do."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from chaos.claims.evidence import Chart, Check, Claim, Evidence, Line, Rate
from chaos.claims.ground import Ground
from chaos.claims.relay import Relay, relay_to
from chaos.claims.topics import Topic

EVENTS, EVERY_S = 300, 0.01
_OUTAGE = (1.0, 2.0)
_TIMEOUT_S = 0.3
_AGAIN_AFTER_S = 0.05
_USUAL_S = 0.3
_CATCHES_UP_WITHIN_S = 10.0


@dataclass
class _Course:
    """What happened: when each event was in the feed, in seconds from the first."""

    began: float = field(default_factory=time.monotonic)
    direct: list[float] = field(default_factory=list)
    queued: list[float] = field(default_factory=list)
    caught_up_s: float | None = None

    def now(self) -> float:
        return time.monotonic() - self.began


async def experiment(ground: Ground) -> Evidence:
    server = urlsplit(ground.endpoints.redis_url)
    topic = await ground.topic("posts")
    await topic.append(b"warm")
    async with relay_to(server.hostname or "127.0.0.1", server.port or 6379) as relay:
        feeds = Redis(
            host="127.0.0.1",
            port=relay.port,
            username=server.username,
            password=server.password,
            db=int(server.path.strip("/") or 0),
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            course = await _run(ground, topic, feeds, relay)
        finally:
            await feeds.aclose()
    return await _evidence(ground, course)


async def _run(ground: Ground, topic: Topic, feeds: Redis, relay: Relay) -> _Course:
    """Every event takes both ways at the same moment; the outage is the same for both."""
    course = _Course()
    everything = asyncio.Event()
    background = [
        asyncio.create_task(_worker(ground, topic, feeds, course, everything)),
        asyncio.create_task(_outage(relay)),
    ]
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(EVENTS):
                await asyncio.sleep(max(0.0, number * EVERY_S - course.now()))
                group.create_task(_push(ground, feeds, number, course))
                group.create_task(topic.append(str(number).encode()))
        with suppress(TimeoutError):
            await asyncio.wait_for(everything.wait(), _CATCHES_UP_WITHIN_S)
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
    held_up = [at for at in course.queued if at > _OUTAGE[1]]
    if everything.is_set() and held_up:
        course.caught_up_s = _when_caught_up(course.queued) - _OUTAGE[1]
    return course


def _when_caught_up(times: list[float]) -> float:
    """When events arrive again no later than they usually do: at most 0.3 s after they were made."""
    late = [at for number, at in enumerate(sorted(times)) if at - number * EVERY_S > _USUAL_S]
    return max(late, default=_OUTAGE[1])


async def _outage(relay: Relay) -> None:
    await asyncio.sleep(_OUTAGE[0])
    relay.cut()
    await asyncio.sleep(_OUTAGE[1] - _OUTAGE[0])
    relay.mend()


async def _push(ground: Ground, feeds: Redis, number: int, course: _Course) -> None:
    """Without a queue: one try, and whoever made the event has gone."""
    try:
        await feeds.zadd(ground.key("direct"), {str(number): number})
    except (RedisError, OSError):
        return
    course.direct.append(course.now())


async def _worker(
    ground: Ground, topic: Topic, feeds: Redis, course: _Course, everything: asyncio.Event
) -> None:
    """With a queue: an event is done when it is in the feed, and is tried until then."""
    async with topic.reader() as more:
        while len(course.queued) < EVENTS:
            for event in await more():
                if event != b"warm":
                    await _until_it_is_in(feeds, ground.key("queued"), event)
                    course.queued.append(course.now())
    everything.set()


async def _until_it_is_in(feeds: Redis, feed: str, event: bytes) -> None:
    while True:
        try:
            await feeds.zadd(feed, {event: int(event)})
            return
        except (RedisError, OSError):
            await asyncio.sleep(_AGAIN_AFTER_S)


async def _evidence(ground: Ground, course: _Course) -> Evidence:
    direct = int(await ground.redis.zcard(ground.key("direct")))
    queued = int(await ground.redis.zcard(ground.key("queued")))
    lost = EVENTS - direct
    checks = [
        Check(f"without a queue {lost} of {EVENTS} events never arrive", lost > 0 or None),
        Check(f"with the queue {EVENTS - queued} of {EVENTS} never arrive", queued == EVENTS),
    ]
    rates = {}
    if course.caught_up_s is not None:
        checks.append(Check(f"it has caught up {course.caught_up_s:.2f} s after the outage", True))
        rates["catch_up_s"] = Rate(course.caught_up_s, "s")
    chart = Chart(
        f"Events in the feed, with an outage from {_OUTAGE[0]:g} s to {_OUTAGE[1]:g} s",
        "seconds",
        "events",
        [_line("no queue", course.direct), _line("Kafka", course.queued)],
    )
    return Evidence(checks=checks, charts=[chart], rates=rates)


def _line(label: str, times: list[float]) -> Line:
    return Line(label, sorted(times), [float(number) for number in range(1, len(times) + 1)])


CLAIM = Claim("replay", "After an outage a queue brings everything; without one it is lost", experiment)
