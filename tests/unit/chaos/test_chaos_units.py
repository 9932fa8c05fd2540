import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.units import PerSecond, Seconds, Share, suggest


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20.0), ("250ms", 0.25), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3600.0), ("0s", 0.0)],
)
def test_a_duration_is_spelled_with_its_unit(text: str, seconds: float) -> None:
    assert Seconds.parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "250ms"), (60, "60s"), (90, "90s"), (120, "2m"), (360, "6m"), (3600, "60m"), (7200, "2h")],
)
def test_long_durations_are_told_in_minutes_and_hours(seconds: float, text: str) -> None:
    assert str(Seconds(seconds)) == text


@pytest.mark.parametrize("text", ["20", "20 seconds", "s", "-1s", "1e3s", "", "20S", None, 20])
def test_anything_else_is_not_a_duration_and_the_message_shows_how(text: object) -> None:
    with pytest.raises(ValueError, match="write it like 20s"):
        Seconds.parse(text)


@given(st.integers(min_value=0, max_value=10**7))
def test_what_a_duration_prints_reads_back_as_itself(milliseconds: int) -> None:
    duration = Seconds(milliseconds / 1000)
    assert Seconds.parse(str(duration)) == pytest.approx(duration, rel=1e-5)


@given(st.integers(min_value=0, max_value=100))
def test_what_a_share_prints_reads_back_as_itself(percent: int) -> None:
    assert Share.parse(str(Share(percent / 100))) == pytest.approx(percent / 100)


def test_a_share_is_at_most_all() -> None:
    with pytest.raises(ValueError, match="at most 100%"):
        Share.parse("101%")


def test_a_rate_is_per_second() -> None:
    assert float(PerSecond.parse("60/s")) == 60
    with pytest.raises(ValueError, match="60/s"):
        PerSecond.parse("60")


def test_a_misspelt_word_gets_a_suggestion_and_a_strange_one_the_list() -> None:
    assert suggest("kil", ["kill", "pause"]) == " (did you mean 'kill'?)"
    assert suggest("xyz", ["kill", "pause"]) == " (known: kill, pause)"
