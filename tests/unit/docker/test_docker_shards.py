"""Which queries a router sends to one shard, and that the set-up may be repeated."""

import pytest

from compose.docker import shards

FOLLOWER, POST = "6c0b...", "91aa..."


def test_every_unbounded_collection_is_sharded_by_the_hash_of_its_key() -> None:
    sharded = {
        str(step["shardCollection"]): step["key"] for step in shards.plan("feed") if "shardCollection" in step
    }
    assert sharded == {
        "feed.follows": {"followerId": "hashed"},
        "feed.likes": {"postId": "hashed"},
        "feed.comments": {"postId": "hashed"},
    }


def test_shards_are_added_before_anything_is_sharded() -> None:
    verbs = [next(iter(step)) for step in shards.plan("feed")]
    assert verbs == ["addShard", "addShard", "enableSharding"] + ["shardCollection"] * 3


@pytest.mark.parametrize(
    ("collection", "query"),
    [
        ("follows", {"followerId": FOLLOWER, "followeeId": "x"}),
        ("follows", {"followerId": {"$eq": FOLLOWER}, "status": "active"}),
        ("likes", {"postId": POST, "userId": {"$in": ["a", "b"]}}),
        ("comments", {"postId": {"$in": [POST]}}),
        ("posts", {"authorId": "x"}),
    ],
)
def test_a_query_with_the_shard_key_goes_to_one_shard(collection: str, query: dict[str, object]) -> None:
    assert shards.is_targeted(collection, query)


@pytest.mark.parametrize(
    ("collection", "query"),
    [
        ("follows", {"followeeId": "x", "status": "active"}),
        ("follows", {"_id": f"{FOLLOWER}:x"}),
        ("likes", {"userId": "a"}),
        ("likes", {"postId": {"$in": [POST, "other"]}}),
        ("comments", {"postId": {"$gt": POST}}),
    ],
)
def test_a_query_without_it_goes_to_all(collection: str, query: dict[str, object]) -> None:
    assert not shards.is_targeted(collection, query)


def test_anything_else_than_its_two_steps_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert shards.main([]) == 2
    assert "config|shards" in capsys.readouterr().err
