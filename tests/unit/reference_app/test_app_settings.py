"""Settings report every problem at once, and never show a password."""

import pytest

from reference_app.errors import SettingsError
from reference_app.settings import Settings, without_password


def test_nothing_set_gives_the_defaults() -> None:
    assert Settings.from_env({}) == Settings()


def test_values_have_the_type_of_their_defaults() -> None:
    settings = Settings.from_env(
        {"FEED_CELEBRITY_THRESHOLD": "500", "FEED_FALLBACK_RPS": "10", "FEED_STRATEGY": "push", "OTHER": "x"}
    )
    assert (settings.celebrity_threshold, settings.fallback_rps, settings.strategy) == (500, 10.0, "push")


def test_all_values_that_are_not_numbers_are_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"FEED_CELEBRITY_THRESHOLD": "many", "FEED_FALLBACK_RPS": "fast"})
    message = str(caught.value)
    assert "FEED_CELEBRITY_THRESHOLD must be a whole number, not 'many'" in message
    assert "FEED_FALLBACK_RPS must be a number, not 'fast'" in message


def test_all_values_that_make_no_sense_are_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env(
            {
                "FEED_STRATEGY": "guess",
                "FEED_MONGO_URI": "http://x",
                "FEED_REDIS_URL": "http://x",
                "FEED_KAFKA_BOOTSTRAP": "nowhere",
                "FEED_LIKE_SHARDS": "0",
                "FEED_REBUILD_RPS": "-1",
            }
        )
    for name in ("STRATEGY", "MONGO_URI", "REDIS_URL", "KAFKA_BOOTSTRAP", "LIKE_SHARDS", "REBUILD_RPS"):
        assert f"FEED_{name}" in str(caught.value)


def test_one_wrong_number_does_not_hide_the_other_problems() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"FEED_LIKE_SHARDS": "x", "FEED_STRATEGY": "guess"})
    assert "FEED_LIKE_SHARDS" in str(caught.value)
    assert "FEED_STRATEGY" in str(caught.value)


def test_passwords_are_starred_out() -> None:
    assert without_password("mongodb://me:secret@a:1,b:2/?replicaSet=x") == (
        "mongodb://me:***@a:1,b:2/?replicaSet=x"
    )
    assert without_password("redis://a:1/0") == "redis://a:1/0"
