"""A mergeable latency histogram: exact to 1 %, small, and the same in every process.

Values are microseconds. Below 128 us a bucket holds one value; above, each power of two is cut
into 64 equal buckets, so that a bucket is never wider than 1/64 of the value it stands for and its
middle is off by at most 0.8 %. Counts of the same bucket from different seconds, ops or workers add up.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Buckets: TypeAlias = dict[int, int]
"""Bucket index -> count. What is written to disk and merged."""

_EXACT_BELOW_US = 128
_SUB_BUCKET_BITS = 6


def bucket_of(us: int) -> int:
    """The bucket that a value of `us` microseconds falls into."""
    if us < _EXACT_BELOW_US:
        return max(us, 0)
    shift = us.bit_length() - _SUB_BUCKET_BITS - 1
    return (shift << _SUB_BUCKET_BITS) + (us >> shift)


def value_of(bucket: int) -> float:
    """The middle of a bucket, in microseconds."""
    if bucket < _EXACT_BELOW_US:
        return float(bucket)
    shift = (bucket >> _SUB_BUCKET_BITS) - 1
    low = (bucket - (shift << _SUB_BUCKET_BITS)) << shift
    return low + (1 << shift) / 2


def record(buckets: Buckets, seconds: float) -> None:
    """Count one latency of `seconds`."""
    bucket = bucket_of(int(seconds * 1_000_000))
    buckets[bucket] = buckets.get(bucket, 0) + 1


def merge(parts: Iterable[Mapping[int, int]]) -> Buckets:
    """The histogram of everything in `parts`."""
    whole: Buckets = {}
    for part in parts:
        for bucket, count in part.items():
            whole[bucket] = whole.get(bucket, 0) + count
    return whole


def count(buckets: Mapping[int, int]) -> int:
    return sum(buckets.values())


def quantile(buckets: Mapping[int, int], q: float) -> float | None:
    """The latency in seconds that a share `q` (0..1) of the samples did not exceed; None without samples.

    The nearest-rank definition: `quantile(h, 1)` is the greatest sample, and a greater `q` never
    gives a smaller value.
    """
    total = count(buckets)
    if total == 0:
        return None
    rank = max(1, -int(-q * total // 1))
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= rank:
            return value_of(bucket) / 1_000_000
    raise AssertionError("a rank is never beyond the last bucket")
