import argparse

import pytest

from loadtests.settings import Settings, add_options, settings_of


def parse(*arguments: str) -> Settings:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return settings_of(parser.parse_args(arguments))


def test_without_arrivals_the_loop_is_closed_and_labelled() -> None:
    assert parse().arrival == "closed"
    assert parse("--arrivals", "60").arrival == "open"
    assert parse("--arrivals", "60/s").arrivals == 60


def test_so_much_may_be_in_flight_that_a_dead_server_is_still_sent_everything() -> None:
    settings = parse("--arrivals", "100", "--shape", "spike:times=2", "--read-timeout", "4")
    assert settings.max_in_flight >= 200 * 4
    assert parse("--arrivals", "100000").max_in_flight == 4000
    assert parse("--arrivals", "100", "--max-in-flight", "7").max_in_flight == 7


def test_probes_are_paths_or_none() -> None:
    assert parse("--probes", "celebrity,push").probes == ("push", "celebrity")
    assert parse("--probes", "none").probes == ()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--arrivals", "many"],
        ["--arrivals", "-3"],
        ["--shape", "zigzag"],
        ["--mix", "feed_reader"],
        ["--population", "users=1"],
        ["--probes", "gossip"],
        ["--drain", "0"],
    ],
)
def test_a_bad_option_is_bad_usage_in_one_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        parse(*arguments)
    assert exit_.value.code == 2
    assert arguments[0] in capsys.readouterr().err
