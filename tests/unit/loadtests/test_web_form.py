"""What the form of Locust's web page may say about our options."""

import argparse

import pytest

from loadtests.settings import add_options
from loadtests.web_form import mistake_in


def checked(**form: str) -> str:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args([])
    options.host = "http://127.0.0.1:1"
    return mistake_in(form, options, lambda asked: f"{asked.host} is wrong" if "ftp" in asked.host else "")


def test_a_form_without_mistakes_and_what_is_locusts_own_pass() -> None:
    assert (
        checked(arrivals="60", mix="feed_reader:1", shape="spike:at=20,for=10,times=5", spacing="even") == ""
    )
    assert checked(user_count="a lot", tags="x") == ""


@pytest.mark.parametrize(
    ("option", "text", "says"),
    [
        ("arrivals", "many", "--arrivals: must be ops per second, such as 60, not 'many'"),
        ("arrivals", "60/s", "--arrivals: '60/s' is not a number"),
        ("shape", "zigzag", "zigzag"),
        ("spacing", "odd", "--spacing: 'odd' is not one of poisson, even"),
        ("seed", "x", "--seed: 'x' is not a number"),
        ("drain", "-1", "--drain: must be a number of seconds above 0, not '-1'"),
        ("population", "people=3", "'people' is not one of users, celebrities,"),
        ("mix", "feed_reader", "feed_reader"),
        ("host", "ftp://127.0.0.1", "ftp://127.0.0.1 is wrong"),
    ],
)
def test_a_mistake_is_one_sentence(option: str, text: str, says: str) -> None:
    assert says in checked(**{option: text})
