from hypothesis import given
from hypothesis import strategies as st

from results.latency import Buckets, bucket_of, count, merge, quantile, record, value_of

ANY_US = st.integers(min_value=0, max_value=4_000_000_000)
SOME_US = st.lists(ANY_US, min_size=1, max_size=60)


def histogram(values_us: list[int]) -> Buckets:
    buckets: Buckets = {}
    for value in values_us:
        record(buckets, (value + 0.5) / 1_000_000)
    return buckets


@given(ANY_US)
def test_a_value_comes_back_within_one_percent(us: int) -> None:
    assert abs(value_of(bucket_of(us)) - us) <= us * 0.01


@given(ANY_US, ANY_US)
def test_buckets_keep_the_order_of_values(a: int, b: int) -> None:
    assert (bucket_of(a) <= bucket_of(b)) == (a <= b) or bucket_of(a) == bucket_of(b)


@given(SOME_US, st.floats(min_value=0, max_value=1))
def test_a_quantile_is_within_one_percent_of_the_exact_one(values: list[int], q: float) -> None:
    rank = max(1, -int(-q * len(values) // 1))
    exact = sorted(values)[rank - 1] / 1_000_000
    found = quantile(histogram(values), q)
    assert found is not None
    assert abs(found - exact) <= exact * 0.01 + 1e-9


@given(SOME_US)
def test_quantiles_never_decrease(values: list[int]) -> None:
    buckets = histogram(values)
    found = [quantile(buckets, q) or 0.0 for q in (0, 0.5, 0.95, 0.99, 1)]
    assert found == sorted(found)


@given(st.lists(SOME_US, max_size=5))
def test_merged_parts_say_what_the_whole_would(parts: list[list[int]]) -> None:
    whole = histogram([value for part in parts for value in part])
    merged = merge(histogram(part) for part in parts)
    assert merged == whole
    assert count(merged) == sum(len(part) for part in parts)


def test_no_samples_have_no_quantile() -> None:
    assert quantile({}, 0.5) is None
