import pytest

from loadtests.mix import MixError, mix_name, parse_mix


def test_a_mix_is_names_and_weights() -> None:
    assert parse_mix("feed_reader:80, author:20%") == {"feed_reader": 80, "author": 20}


def test_a_weight_of_nothing_leaves_a_class_out() -> None:
    assert parse_mix("feed_reader:1,author:0") == {"feed_reader": 1}


@pytest.mark.parametrize("text", ["feed_reader", "feed_reader:x", "feed_reader:-1", "", "author:0"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(MixError):
        parse_mix(text)


def test_classes_are_called_as_in_python_but_in_lower_case() -> None:
    assert mix_name("CelebrityFollower") == "celebrity_follower"
