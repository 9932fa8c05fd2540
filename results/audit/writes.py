"""Invariants about writes: no acknowledged one is lost, none is there twice, no refused one is there."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from results.audit.evidence import Evidence
from results.audit.finding import Breaches, Finding
from results.audit.ledger import Made, Pair, Switch, made, switches
from results.audit.state import CommentRow, PostRow
from results.words import plural


def no_acknowledged_write_lost(evidence: Evidence) -> Finding:
    """Every acknowledged post and comment exists, and every follow and like is as its last write left it."""
    breaches = Breaches("no_acknowledged_write_lost")
    checked = _missing(breaches, "post", evidence, ((row.id, row.author) for row in evidence.state.posts))
    comments = ((row.id, row.author) for row in evidence.state.comments)
    checked += _missing(breaches, "comment", evidence, comments)
    follows = (((row.follower, row.followee), row.active) for row in evidence.state.follows)
    checked += _undone(breaches, "follow", evidence, follows)
    likes = (((row.user, row.post), row.active) for row in evidence.state.likes)
    checked += _undone(breaches, "like", evidence, likes)
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'acknowledged write')} found again",
        bad=f"{breaches.count} of {plural(checked, 'acknowledged write')} lost",
        nothing="nothing was acknowledged, so nothing could be lost",
    )


def _missing(breaches: Breaches, kind: str, evidence: Evidence, stored: Iterable[tuple[str, str]]) -> int:
    """Breaches for the acknowledged ids that are not stored under their author; how many were checked."""
    expected = made(evidence.ledger, "post" if kind == "post" else "comment").authors
    checked = len(expected)
    for id, author in stored:
        if expected.get(id) == author:
            del expected[id]
    lost_at = _instants(evidence, expected)
    for id, author in expected.items():
        breaches.add(f"{kind} {id} by {author}", at=lost_at.get(id, 0.0), id=id)
    return checked


def _undone(breaches: Breaches, name: str, evidence: Evidence, stored: Iterable[tuple[Pair, bool]]) -> int:
    """Breaches for the switches that are in a state which no order of their writes can explain."""
    expected = switches(evidence.ledger, name)
    checked = sum(switch.was_acknowledged for switch in expected.values())
    for pair, is_on in stored:
        switch = expected.pop(pair, None)
        if switch is not None and not switch.may_be(on=is_on):
            _add_undone(breaches, name, pair, switch, is_on=is_on)
    for pair, switch in expected.items():
        if not switch.may_be(on=False):
            _add_undone(breaches, name, pair, switch, is_on=False)
    return checked


def _add_undone(breaches: Breaches, name: str, pair: Pair, switch: Switch, *, is_on: bool) -> None:
    asked = f"un{name}" if is_on else name
    breaches.add(f"{asked} of {pair[1]} by {pair[0]}", at=switch.last_start, id=":".join(pair))


def _instants(evidence: Evidence, ids: Iterable[str]) -> dict[str, float]:
    """When the writes of these ids were acknowledged: read again, so that only the lost ones are kept."""
    wanted = set(ids)
    if not wanted:
        return {}
    return {entry.id: entry.done for entry in evidence.ledger if entry.id in wanted}


# -- too many ---------------------------------------------------------------------------------------


def no_write_applied_twice(evidence: Evidence) -> Finding:
    """No author has more posts or comments from the run than were asked for; no pair has two rows."""
    breaches = Breaches("no_write_applied_twice")
    checked = 0
    for kind, account, extra in _accounts(evidence):
        checked += len(account.authors)
        for author, count in extra.items():
            allowed = account.unknown[author] + account.refused[author]
            if count > allowed and not account.unknown[author]:
                what = f"{author} has {plural(count - allowed, kind)} more than were asked for"
                breaches.add(what, size=count - allowed, id=author)
    follows, likes = evidence.state.follows, evidence.state.likes
    checked += _doubled(breaches, "follow", lambda: ((row.follower, row.followee) for row in follows))
    checked += _doubled(breaches, "like", lambda: ((row.user, row.post) for row in likes))
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'stored thing')} looked at, each there once",
        bad=f"{plural(breaches.count, 'author or pair')} with a write applied twice",
        nothing="nothing was written, so nothing could be there twice",
    )


def _doubled(breaches: Breaches, name: str, pairs: Callable[[], Iterator[Pair]]) -> int:
    """Breaches for pairs with more than one row. Hashes first, because they are small; then the few
    suspects exactly."""
    seen: set[int] = set()
    suspects: set[int] = set()
    for pair in pairs():
        (suspects if hash(pair) in seen else seen).add(hash(pair))
    counts = Counter(pair for pair in pairs() if hash(pair) in suspects) if suspects else Counter()
    for (actor, target), count in counts.items():
        if count > 1:
            breaches.add(
                f"{name} of {target} by {actor} has {count} rows", size=count, id=f"{actor}:{target}"
            )
    return len(seen)


def unknown_at_most_once(evidence: Evidence) -> Finding:
    """A write that timed out was done once or not at all, never twice."""
    breaches = Breaches("unknown_at_most_once")
    checked = 0
    for kind, account, extra in _accounts(evidence):
        checked += account.unknown.total()
        for author, unknown in account.unknown.items():
            excess = extra[author] - unknown - account.refused[author]
            if excess > 0:
                what = f"{author} has {plural(extra[author], kind)} for {unknown} of unknown outcome"
                breaches.add(what, size=excess, id=author)
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'post or comment')} of unknown outcome, each there once or not at all"
        if checked
        else "no post or comment ended with an unknown outcome",
        bad=f"{plural(breaches.count, 'author')} with more than unknown writes can explain",
    )


def no_refused_write_applied(evidence: Evidence) -> Finding:
    """A write that was answered with a definite no left nothing behind."""
    breaches = Breaches("no_refused_write_applied")
    checked = 0
    for kind, account, extra in _accounts(evidence):
        checked += account.refused.total()
        for author, refused in account.refused.items():
            excess = extra[author] - account.unknown[author]
            if 0 < excess <= refused:  # more than that is for the other invariants to explain
                what = f"{author} has {plural(excess, kind)} that had been refused"
                breaches.add(what, size=excess, id=author)
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'post or comment')} refused, none of them stored",
        bad=f"{plural(breaches.count, 'author')} with a refused write in the store",
        nothing="no post or comment was refused",
    )


def _accounts(evidence: Evidence) -> Iterator[tuple[str, Made, Counter[str]]]:
    """For posts and for comments: what was asked for, and per author how many things of the run are
    stored that no acknowledgement explains."""
    for kind in ("post", "comment"):
        account = made(evidence.ledger, "post" if kind == "post" else "comment")
        rows: Iterable[PostRow] | Iterable[CommentRow]
        rows = evidence.state.posts if kind == "post" else evidence.state.comments
        authors = {*account.authors.values(), *account.unknown, *account.refused}
        extra = Counter(
            row.author
            for row in rows
            if row.created_ms >= evidence.began_ms and row.author in authors and row.id not in account.authors
        )
        yield kind, account, extra
