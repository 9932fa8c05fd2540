import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.outcomes import of_answer, of_break, wrong_content

methods = st.sampled_from(["GET", "POST", "PUT", "DELETE"])


def outcome(method: str, status: int, **facts: bool) -> str:
    return of_answer(
        method,
        status,
        retry_after=facts.get("retry_after", False),
        expected=(409,) if facts.get("expected") else (),
    ).outcome


@pytest.mark.parametrize(
    ("method", "status", "facts", "is_"),
    [
        ("PUT", 202, {}, "ok"),
        ("DELETE", 404, {}, "failed"),
        ("DELETE", 409, {"expected": True}, "ok"),
        ("POST", 400, {}, "failed"),
        ("POST", 501, {}, "failed"),
        ("POST", 503, {}, "failed"),
        ("POST", 500, {}, "unknown"),
        ("POST", 502, {}, "unknown"),
        ("POST", 504, {}, "unknown"),
        ("GET", 504, {}, "failed"),
    ],
)
def test_an_answer_says_what_became_of_an_op(
    method: str, status: int, facts: dict[str, bool], is_: str
) -> None:
    assert outcome(method, status, **facts) == is_


def test_a_deliberate_refusal_is_counted_on_its_own() -> None:
    verdict = of_answer("GET", 503, retry_after=True)
    assert (verdict.outcome, verdict.shed, verdict.why) == ("failed", True, "503 shed")


@given(st.sampled_from(["POST", "PUT", "DELETE", "PATCH"]))
def test_a_write_that_broke_is_unknown_only_if_it_was_sent(method: str) -> None:
    assert of_break(method, "timeout", sent=True).outcome == "unknown"
    assert of_break(method, "connection refused", sent=False).outcome == "failed"


@given(st.integers(200, 599), st.booleans())
def test_a_read_is_never_unknown(status: int, retry_after: bool) -> None:
    assert of_answer("GET", status, retry_after=retry_after).outcome != "unknown"
    assert of_break("GET", "timeout", sent=True).outcome == "failed"


def test_wrong_content_fails_with_a_reason_of_its_own() -> None:
    assert wrong_content("an item twice").why == "wrong content: an item twice"
