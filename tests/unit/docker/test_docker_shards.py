"""Shards are added to a router that may shard the app's database."""

import pytest

from compose.docker import shards


def test_shards_are_added_and_then_the_database_may_be_sharded() -> None:
    assert shards.plan("feed") == [
        {"addShard": "shard1/shard1:27017", "name": "shard1"},
        {"addShard": "shard2/shard2:27017", "name": "shard2"},
        {"enableSharding": "feed"},
    ]


def test_anything_else_than_its_two_steps_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert shards.main([]) == 2
    assert "config|shards" in capsys.readouterr().err
