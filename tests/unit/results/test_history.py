from pathlib import Path

import msgspec
import pytest

from results.history import (
    EVENTS,
    LEDGER,
    End,
    Event,
    Fault,
    History,
    LedgerEntry,
    Log,
    Note,
    Phase,
    Tail,
    Topology,
    phases_of,
    read_rows,
    write_atomically,
)

from .histories import SyntheticRun

ENTRY = LedgerEntry(1.0, 1.1, "post", "ok", "alice", "alice", id="p1")


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    events: list[Event] = [
        Phase(0, "warmup"),
        Fault(1.5, "lease", "kill", "redis", ["redis"], "inject", "pid 12"),
        Topology(2, None),
        End(3),
    ]
    log: Log[Event] = Log(tmp_path / EVENTS)
    log.append(*events[:1])
    log.append(*events[1:])
    log.close()
    assert list(read_rows(tmp_path / EVENTS, Event)) == events


def test_an_unfinished_last_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    path.write_bytes(msgspec.json.encode(ENTRY) + b"\n" + b'{"t": 2, "done"')
    assert list(read_rows(path, LedgerEntry)) == [ENTRY]


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    path.write_bytes(b'{"t": 2}\n' + msgspec.json.encode(ENTRY) + b"\n")
    with pytest.raises(msgspec.ValidationError):
        list(read_rows(path, LedgerEntry))


def test_a_file_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert list(read_rows(tmp_path / LEDGER, LedgerEntry)) == []


def test_a_tail_returns_only_what_is_new_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    tail: Tail[LedgerEntry] = Tail(path, LedgerEntry)
    assert tail.read() == []
    line = msgspec.json.encode(ENTRY) + b"\n"
    path.write_bytes(line + line[:20])
    assert tail.read() == [ENTRY]
    with path.open("ab") as file:
        file.write(line[20:])
    assert tail.read() == [ENTRY]
    assert tail.read() == []


def test_a_phase_lasts_until_the_next_or_the_end() -> None:
    events: list[Event] = [Phase(0, "warmup"), Phase(5, "baseline"), Phase(20, "fault"), End(31)]
    assert phases_of(events) == {"warmup": (0, 5), "baseline": (5, 20), "fault": (20, 31)}


def test_without_an_end_the_last_phase_lasts_until_the_last_event() -> None:
    assert phases_of([Phase(0, "warmup"), Note(7, "killed")]) == {"warmup": (0, 7)}


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    write_atomically(path, "old")
    write_atomically(path, b"new")
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["verdict.json"]


def test_a_history_loads_events_in_order_of_time(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().wrote("post", "alice", "alice", id="p1")
    history = run.history()
    assert [event.t for event in history.events] == sorted(event.t for event in run.events)
    assert next(history.ledger()).id == "p1"


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        History.load(tmp_path)
