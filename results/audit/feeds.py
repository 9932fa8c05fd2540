"""Invariants about feeds, on a sample of users whose feeds were walked page by page through the API."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from results.audit.evidence import Evidence
from results.audit.finding import Breaches, Finding
from results.audit.ledger import made, switches
from results.audit.state import FeedWalk, PostRow
from results.words import plural

SHORTEST_BOUND: Final = 200
"""A feed of fewer items than this was certainly not cut at the end by the app's bound on feeds."""
NEWEST_PER_AUTHOR: Final = 200
"""A feed need not hold more than this many posts of one author: copies of a celebrity's posts are bounded."""
SETTLING_MS: Final = 1000
"""A post made this soon after a follow is left to the backfill, and not judged."""

NO_FEED: Final = "no feed could be looked at"


def no_duplicate_in_feed(evidence: Evidence) -> Finding:
    """No item is in a feed twice, on one page or on two."""
    breaches = Breaches("no_duplicate_in_feed")
    items = 0
    for walk in evidence.state.feeds:
        items += len(walk.items)
        seen: set[str] = set()
        for item in walk.items:
            if item.id in seen:
                breaches.add(
                    f"post {item.id} twice in the feed of {walk.user}", at=item.created_ms, id=item.id
                )
            seen.add(item.id)
    _noticed(breaches, evidence, "an item twice", "an item of an earlier page again")
    return breaches.finding(
        items,
        good=f"{plural(items, 'feed item')} looked at, each there once",
        bad=f"{plural(breaches.count, 'feed item')} shown more than once",
        nothing=NO_FEED,
    )


def feed_in_order(evidence: Evidence) -> Finding:
    """Feeds are newest first, across pages too."""
    breaches = Breaches("feed_in_order")
    items = 0
    for walk in evidence.state.feeds:
        items += len(walk.items)
        for newer, older in zip(walk.items, walk.items[1:], strict=False):
            if older.created_ms > newer.created_ms:
                late = older.created_ms - newer.created_ms
                what = f"post {older.id} comes {late} ms too late in the feed of {walk.user}"
                breaches.add(what, at=older.created_ms, size=late, id=older.id)
    _noticed(breaches, evidence, "wrong order")
    return breaches.finding(
        items,
        good=f"{plural(items, 'feed item')} looked at, newest first",
        bad=f"{plural(breaches.count, 'feed item')} out of order",
        nothing=NO_FEED,
    )


def nobody_saw_anothers_feed(evidence: Evidence) -> Finding:
    """Every page of a feed belongs to the user who asked for it."""
    breaches = Breaches("nobody_saw_anothers_feed")
    pages = 0
    for walk in evidence.state.feeds:
        pages += len(walk.owners)
        for owner in walk.owners:
            if owner != walk.user:
                breaches.add(f"{walk.user} was shown the feed of {owner}", id=walk.user)
    _noticed(breaches, evidence, "another user's feed")
    return breaches.finding(
        pages,
        good=f"{plural(pages, 'page')} looked at, each belongs to its reader",
        bad=f"{plural(breaches.count, 'case')} of somebody else's feed",
        nothing=NO_FEED,
    )


def every_post_in_every_feed(evidence: Evidence) -> Finding:
    """Every acknowledged post of the run is in the feed of every follower in the sample."""
    breaches = Breaches("every_post_in_every_feed")
    walks = list(evidence.state.feeds)
    since = _followed_since(evidence, {walk.user for walk in walks})
    authors = {author for followed in since.values() for author in followed}
    posts = _acknowledged_posts(evidence, authors)
    checked = 0
    for walk in walks:
        shown, horizon = {item.id for item in walk.items}, _horizon(walk)
        for author, changed_ms in since[walk.user].items():
            for post in posts.get(author, ()):
                if post.created_ms <= max(horizon, changed_ms + SETTLING_MS):
                    continue
                checked += 1
                if post.id not in shown:
                    breaches.add(
                        f"post {post.id} by {author} is not in the feed of {walk.user}",
                        at=post.created_ms,
                        id=post.id,
                    )
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'post')} expected in {plural(len(walks), 'feed')}, all there",
        bad=f"{breaches.count} of {plural(checked, 'expected feed item')} missing",
        nothing="no sampled user follows an author who posted in this run",
    )


def unfollow_hides(evidence: Evidence) -> Finding:
    """A feed shows nothing of an author whom its owner has certainly unfollowed."""
    breaches = Breaches("unfollow_hides")
    walks = list(evidence.state.feeds)
    users = {walk.user for walk in walks}
    left: dict[str, set[str]] = defaultdict(set)
    for (actor, target), switch in switches(evidence.ledger, "follow").items():
        if actor in users and switch.is_certain and switch.may_be(on=False):
            left[actor].add(target)
    for walk in walks:
        for item in walk.items:
            if item.author in left[walk.user]:
                what = f"post {item.id} by {item.author}, whom {walk.user} unfollowed"
                breaches.add(what, at=item.created_ms, id=item.id)
    checked = sum(len(authors) for authors in left.values())
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'unfollowed author')} looked for, none shown",
        bad=f"{plural(breaches.count, 'feed item')} by unfollowed authors",
        nothing="no sampled user unfollowed anybody",
    )


# -- what has to be there ---------------------------------------------------------------------------


def _noticed(breaches: Breaches, evidence: Evidence, *what: str) -> None:
    """Add what users noticed while the run went on: a feed that is right again was wrong all the same."""
    for problem in what:
        times = evidence.wrong_feeds[problem]
        if times:
            breaches.add(f"{problem}, noticed {plural(times, 'time')} during the run", size=times)


def _followed_since(evidence: Evidence, users: set[str]) -> dict[str, dict[str, int]]:
    """User -> author -> when the relationship began, for the relationships that certainly hold now."""
    uncertain = {
        pair for pair, switch in switches(evidence.ledger, "follow").items() if not switch.is_certain
    }
    since: dict[str, dict[str, int]] = {user: {} for user in users}
    for row in evidence.state.follows:
        if row.active and row.follower in users and (row.follower, row.followee) not in uncertain:
            since[row.follower][row.followee] = row.changed_ms
    return since


def _acknowledged_posts(evidence: Evidence, authors: set[str]) -> dict[str, list[PostRow]]:
    """Author -> the newest of their posts that the run knows to be acknowledged."""
    acknowledged = made(evidence.ledger, "post").authors
    posts: dict[str, list[PostRow]] = defaultdict(list)
    for row in evidence.state.posts:
        if row.author in authors and row.id in acknowledged:
            posts[row.author].append(row)
    return {author: _newest(rows) for author, rows in posts.items()}


def _newest(rows: Iterable[PostRow]) -> list[PostRow]:
    return sorted(rows, key=lambda row: row.created_ms, reverse=True)[:NEWEST_PER_AUTHOR]


def _horizon(walk: FeedWalk) -> int:
    """Up to when a feed may have been cut: posts as old as its last item need not be in it any more."""
    if walk.items and (not walk.complete or len(walk.items) >= SHORTEST_BOUND):
        return min(item.created_ms for item in walk.items)
    return -1
