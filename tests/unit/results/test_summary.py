from pathlib import Path

from rich.console import Console

from results import summary
from results.audit.finding import AuditReport, Finding
from results.urls import shown
from results.verdict import judge
from results.words import listed, number, percent, plural, seconds, unknown_word

from .histories import SyntheticRun


def printed(run: SyntheticRun, audit: AuditReport | None = None) -> str:
    console = Console(width=100, no_color=True, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as capture:
        console.print(summary.render(judge(run.history(), audit), Path("results/runs/x/report.html")))
    return capture.get()


def test_the_summary_has_verdict_reasons_targets_and_where_the_report_is(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 65).ops("POST /posts", 0, 65)
    run.ops("POST /posts", 20, 30, failed=1).drill(targets=["all.error_rate < 5% in fault"])
    lost = Finding("counters_exact", False, 9, 2, "2 of 9 counters differ", ids=["u1", "u2"])
    text = printed(run, AuditReport(acknowledged=40, lost=0, duplicated=0, unknown=3, findings=[lost]))
    assert text.startswith("FAIL  synthetic on the embedded stack\n")
    assert "target missed: all.error_rate < 5% in fault, was 25 %" in text
    assert "acked lost: 0, duplicated: 0, unclear: 3" in text
    assert "counters_exact: 2 of 9 counters differ (u1, u2)" in text
    assert "kill mongo:primary, feed: no outage" in text
    assert "kill mongo:primary, writes: out for 10 s, back 0 s after the heal" in text
    assert "1300 of 1300 planned ops sent, 0 late, abandoned: 0" in text
    assert "Report: results/runs/x/report.html" in text


def test_a_target_without_data_shows_no_number(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().drill(targets=["feed.rate > 10/s in fault"])
    assert "no data" in printed(run)


def test_numbers_are_short_and_plain() -> None:
    assert [number(value) for value in (0, 0.0123, 4.5, 4.4444, 120, 13400.4)] == [
        "0",
        "0.0123",
        "4.5",
        "4.44",
        "120",
        "13400",
    ]
    assert number(0.00001234) == "0.000012"
    assert (seconds(None), seconds(0), seconds(0.34), seconds(2.5)) == ("-", "0 s", "340 ms", "2.5 s")
    assert (percent(None), percent(0.0425)) == ("-", "4.25 %")
    assert (plural(1, "write"), plural(0, "write")) == ("1 write", "0 writes")
    assert listed(range(7)) == "0, 1, 2, 3, 4 and 2 more"


def test_the_nearest_known_word_is_offered() -> None:
    assert "did you mean 'feed'?" in unknown_word("feeed", "group", ["feed", "all"])
    assert "did you mean" not in unknown_word("zzz", "group", ["feed", "all"])


def test_credentials_of_urls_are_never_shown() -> None:
    assert shown("redis://:s3cret@127.0.0.1:6379/0") == "redis://127.0.0.1:6379/0"
    assert shown("tried mongodb://bob:p%40ss@a:1,b:2/?x=1 twice") == "tried mongodb://a:1,b:2/?x=1 twice"
    assert shown("http://127.0.0.1:8000/a@b") == "http://127.0.0.1:8000/a@b"
