from loadtests.roll import LOST_AFTER_S, Roll


def states(roll: Roll, now: float) -> list[tuple[str, str]]:
    return [(change.worker, change.state) for change in roll.silent(now)]


def test_a_worker_joins_once() -> None:
    roll = Roll()
    assert [change.state for change in roll.heard("w0", 1.0, 0, 0)] == ["joined"]
    assert roll.heard("w0", 2.0, 10, 0) == []
    assert roll.sent == 10


def test_a_silent_worker_is_lost_once_and_the_others_are_not() -> None:
    roll = Roll()
    roll.heard("w0", 1.0, 5, 0)
    roll.heard("w1", 1.0, 5, 0)
    roll.heard("w1", 4.0, 9, 0)
    assert states(roll, 1.0 + LOST_AFTER_S + 0.1) == [("w0", "lost")]
    assert states(roll, 1.0 + LOST_AFTER_S + 0.2) == []
    assert roll.expected == ["w1"]
    assert roll.lost == ["w0: no report since 1.0 s"]


def test_a_worker_that_returns_is_counted_once_and_its_silence_is_named() -> None:
    roll = Roll()
    roll.heard("w0", 1.0, 5, 0)
    roll.silent(10.0)
    (returned,) = roll.heard("w0", 11.0, 8, 2)
    assert (returned.state, returned.detail) == ("returned", "no report from 1.0 s to 11.0 s")
    assert (roll.sent, roll.abandoned, roll.lost) == (8, 2, [])
    assert roll.intervals == ["w0: no report from 1.0 s to 11.0 s"]


def test_a_worker_that_is_done_is_neither_awaited_nor_lost() -> None:
    roll = Roll()
    roll.heard("w0", 1.0, 5, 0)
    (done,) = roll.done("w0", 2.0, 7, 1, "exception: X")
    assert (done.state, done.sent, done.abandoned, done.detail) == ("done", 7, 1, "exception: X")
    assert roll.expected == []
    assert states(roll, 99.0) == []
