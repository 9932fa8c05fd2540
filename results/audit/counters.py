"""The invariant about counters: users, posts, Redis and the API agree with the rows, to the last one."""

from collections import Counter
from collections.abc import Mapping

from results.audit.evidence import Evidence
from results.audit.finding import Breaches, Finding
from results.audit.state import FinalState
from results.words import plural


def counters_exact(evidence: Evidence) -> Finding:
    """Every stored or shown count equals the number of rows that it counts."""
    state, breaches = evidence.state, Breaches("counters_exact")
    checked = _user_counts(breaches, state) + _post_counts(breaches, state)
    return breaches.finding(
        checked,
        good=f"{plural(checked, 'counter')} compared with the rows, all equal",
        bad=f"{breaches.count} of {plural(checked, 'counter')} differ from the rows that they count",
        nothing="the stores hold nothing that is counted",
    )


def _user_counts(breaches: Breaches, state: FinalState) -> int:
    followers: Counter[str] = Counter()
    following: Counter[str] = Counter()
    for row in state.follows:
        if row.active:
            followers[row.followee] += 1
            following[row.follower] += 1
    checked = 0
    for user in state.users:
        checked += 2
        _compare(breaches, f"followerCount of user {user.id}", user.followers, followers[user.id])
        _compare(breaches, f"followingCount of user {user.id}", user.following, following[user.id])
    rows = {"followers": followers, "following": following}
    listed = {f"listed {side}": counts for side, counts in rows.items()}
    return checked + _api_counts(breaches, state, rows | listed)


def _post_counts(breaches: Breaches, state: FinalState) -> int:
    likes = Counter(row.post for row in state.likes if row.active)
    comments = Counter(row.post for row in state.comments)
    checked = 0
    for post in state.posts:
        checked += 2
        _compare(breaches, f"likeCount of post {post.id}", post.likes, likes[post.id])
        _compare(breaches, f"commentCount of post {post.id}", post.comments, comments[post.id])
    for shards in state.shards:
        checked += 1
        _compare(breaches, f"Redis like shards of post {shards.post}", shards.total, likes[shards.post])
    return checked + _api_counts(breaches, state, {"likes": likes})


def _api_counts(breaches: Breaches, state: FinalState, rows: Mapping[str, Counter[str]]) -> int:
    checked = 0
    for shown in state.api_counts:
        if shown.what in rows:
            checked += 1
            what = f"{shown.what} of {shown.id} as the API shows them"
            _compare(breaches, what, shown.count, rows[shown.what][shown.id])
    return checked


def _compare(breaches: Breaches, what: str, counter: int, rows: int) -> None:
    if counter != rows:
        off = f"{counter - rows:+d}"
        breaches.add(
            f"{what} is {counter}, rows: {rows} ({off})", size=abs(counter - rows), id=what.split()[-1]
        )
