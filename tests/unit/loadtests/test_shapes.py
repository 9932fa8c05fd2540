import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.shapes import NAMES, CelebrityMoment, Ramp, Shape, ShapeError, Spike, Wave, area, parse_shape

shapes = st.sampled_from(list(NAMES)).map(parse_shape)


@given(shapes, st.floats(0, 1e6))
def test_a_shape_stays_between_nothing_and_its_peak(shape: Shape, t: float) -> None:
    assert 0 <= shape(t) <= shape.peak + 1e-9


def test_a_ramp_reaches_the_full_rate_and_stays_there() -> None:
    ramp = Ramp(over=10)
    assert [ramp(0), ramp(5), ramp(10), ramp(99)] == [0, 0.5, 1, 1]


def test_a_spike_lasts_as_long_as_it_should() -> None:
    spike = parse_shape("spike:at=20,for=10,times=5")
    assert [spike(19.9), spike(20), spike(29.9), spike(30)] == [1, 5, 5, 1]
    assert spike == Spike(at=20, length=10, times=5)


def test_a_wave_goes_down_to_its_low_and_up_again() -> None:
    wave = Wave(period=60, low=0.2)
    assert wave(0) == wave(60) == pytest.approx(1)
    assert wave(30) == pytest.approx(0.2)


def test_in_a_celebrity_moment_the_crowd_comes_at_once_and_fades() -> None:
    moment = CelebrityMoment(at=20, times=8, rise=1, fade=15)
    assert moment(19.9) == 1
    assert moment(21) == pytest.approx(8)
    assert moment(36) == pytest.approx(1 + 7 / math.e)


def test_the_area_of_a_shape_is_its_share_of_the_full_rate() -> None:
    assert area(Ramp(over=10), 10) == pytest.approx(5)
    assert area(Spike(at=2, length=3, times=5), 10) == pytest.approx(10 + 3 * 4)


def test_a_soak_starts_slowly() -> None:
    soak = parse_shape("soak:over=60,period=600")
    assert soak(0) == 0
    assert soak(30) < soak(60)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("zigzag", "choose one of"),
        ("ramp:speed=3", "no option 'speed'"),
        ("ramp:over=soon", "must be a positive number"),
        ("spike:at=-1", "must be a positive number"),
        ("wave:period=0", "must be a positive number"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        parse_shape(text)
