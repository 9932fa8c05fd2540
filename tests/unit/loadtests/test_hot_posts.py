import random
from collections import Counter

from loadtests.hot_posts import KEPT, HotPosts


def test_nothing_is_hot_before_anything_is_known() -> None:
    assert HotPosts().pick(random.Random(0)) is None


def test_heat_is_zipfs_and_celebrities_come_first() -> None:
    posts, rng = HotPosts(), random.Random(1)
    for number in range(50):
        posts.add(f"daily {number}")
    posts.add("viral", viral=True)
    picked = Counter(posts.pick(rng) for _ in range(5000))
    assert picked.most_common(1)[0][0] == "viral"
    assert picked["viral"] > 1.5 * picked["daily 49"] > 10 * picked["daily 0"] / 2


def test_memory_is_bounded() -> None:
    posts = HotPosts()
    for number in range(10 * KEPT):
        posts.add(str(number), viral=number % 2 == 0)
    assert len(posts) == KEPT
