import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from results import report, verdict
from results.audit.finding import AuditReport, Finding
from results.facts import Facts
from results.history import End, Gauge, History, MemberChange, Note
from results.report.charts import MOST_BINS, charts_of

from .histories import SyntheticRun

LOST = Finding(
    "no_acknowledged_write_lost",
    False,
    10,
    1,
    "1 of 10 <acknowledged> writes lost",
    "post p1",
    "post p1",
    "post p1",
    ["p1"],
)


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    """A run that has something for every part of the report."""
    run = SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 65).ops("POST /posts", 0, 65, failed=0.1)
    run.events.append(MemberChange(20.1, "mongo1", "down"))
    for second in range(36, 56):
        run.stale(second, 0.2).stale(second, 1.0, "celebrity")
    return run.stale(57, None).drill(
        question="Does it <hold>?",
        targets=[
            "feed.error_rate < 5% in fault",
            "feed.staleness.p99 < 5s in recovery",
            "writes.outage < 1s",
        ],
        proof=["a write failed while mongo:primary was down"],
    )


def written(run: SyntheticRun, audit: AuditReport | None = None) -> report.Paths:
    verdict.judge(run.history(), audit)
    return report.write(run.directory)


class Page(HTMLParser):
    """What a browser would load, the text outside of scripts, and the chart data."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.resources: list[str] = []
        self.ids: list[str] = []
        self.text = self.data = self.policy = ""
        self._inside: list[str] = []
        self._is_data = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.resources += [
            value for name, value in attrs if name in ("src", "href", "data", "action") and value
        ]
        self.ids += [value for name, value in attrs if name == "id" and value]
        self._is_data = given.get("type") == "application/json"
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given.get("content") or ""
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        inside = self._inside[-1] if self._inside else ""
        if inside == "script":
            self.data += data if self._is_data else ""
        elif inside == "style":
            assert "url(" not in data
            assert "@import" not in data
        else:
            self.text += data


def test_the_page_says_verdict_and_reasons_first(run: SyntheticRun) -> None:
    page = Page(written(run, AuditReport(acknowledged=10, lost=1, findings=[LOST])).html.read_text())
    text = " ".join(page.text.split())
    assert text.index("FAIL") < text.index("1 of 10 <acknowledged> writes lost") < text.index("Targets")
    assert "Does it <hold>?" in text
    assert "feedstorm drill synthetic --seed 7" in text
    assert "Nothing here is real." in text


def test_the_page_loads_nothing_and_is_forbidden_to(run: SyntheticRun) -> None:
    page = Page(written(run).html.read_text())
    assert page.resources == []
    assert page.policy.startswith("default-src 'none'")
    assert "http" not in page.policy


def test_the_page_has_a_place_for_every_chart(run: SyntheticRun) -> None:
    page = Page(written(run).html.read_text())
    assert {"rate", "latency", "staleness", "lanes", "generator"} <= set(page.ids)
    data = json.loads(page.data)
    assert [band["label"] for band in data["bands"] if band["kind"] == "fault"] == ["kill mongo:primary"]
    assert {lines["group"] for lines in data["groups"]} == {"feed", "posts", "reads", "writes", "all"}
    assert sum(next(lines for lines in data["groups"] if lines["group"] == "feed")["ok"]) == 65 * 20


def test_text_of_a_run_cannot_become_markup(run: SyntheticRun) -> None:
    run.ops("GET /feed", 30, 31, failed=1, why="</script><script>alert(1)</script>")
    html = written(run.drill(question="<img src=http://example.org/x>")).html.read_text()
    assert "<script>alert(1)" not in html
    assert Page(html).resources == []


def test_no_password_is_in_any_report(run: SyntheticRun) -> None:
    secret = "redis://bob:hunter2@127.0.0.1:6379"
    run.events.append(Note(30, f"lost {secret}"))
    run.info.command = f"feedstorm drill synthetic --redis {secret}"
    run.events = [event for event in run.events if not isinstance(event, End)]
    run.end(65, "aborted")
    paths = written(run, AuditReport(error=f"could not read {secret}"))
    for path in (paths.html, paths.markdown, paths.junit, run.directory / "verdict.json"):
        assert "hunter2" not in path.read_text(), path


def test_a_run_that_was_killed_half_way_has_a_report(tmp_path: Path) -> None:
    run = (
        SyntheticRun(tmp_path)
        .phase(0, "warmup")
        .ops("GET /feed", 0, 3)
        .drill(targets=["feed.rate > 1/s in fault"])
    )
    paths = written(run)
    assert "INVALID" in Page(paths.html.read_text()).text
    assert "its runner was killed" in paths.markdown.read_text()


def test_a_run_without_any_op_has_a_report(tmp_path: Path) -> None:
    assert "Not one op" in Page(written(SyntheticRun(tmp_path)).html.read_text()).text


def test_a_run_that_was_not_judged_is_judged_by_its_report(run: SyntheticRun) -> None:
    run.history()
    report.write(run.directory)
    assert verdict.read(run.directory).drill == "synthetic"


def test_a_directory_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        report.write(tmp_path)


def test_long_runs_are_drawn_in_wider_bins(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).phase(0, "baseline").end(7200)
    for second in range(0, 7200, 60):
        run.ops("GET /feed", second, second + 1)
    history = run.history()
    charts = charts_of(history, Facts.of(history))
    assert charts.bin_s == 12
    assert len(charts.groups[0].t) <= MOST_BINS
    assert sum(charts.groups[0].ok) * charts.bin_s == pytest.approx(120 * 20, rel=0.01)


def test_gauges_get_a_chart_each(run: SyntheticRun) -> None:
    history = run.history()
    history = History(history.directory, history.run, history.events, history.series, history.staleness)
    history.gauges = [
        Gauge(1, "api1", "rss_mib", 60),
        Gauge(2, "api1", "rss_mib", 61),
        Gauge(1, "api2", "rss_mib", 5),
    ]
    (chart,) = charts_of(history, Facts.of(history)).gauges
    assert (chart.name, chart.title, chart.unit) == ("rss_mib", "Memory", "MiB")
    assert [(line.member, line.value) for line in chart.lines] == [("api1", [60, 61]), ("api2", [5])]


def test_no_line_is_drawn_over_the_time_when_a_gauge_could_not_be_read(run: SyntheticRun) -> None:
    history = run.history()
    history.gauges = [Gauge(t, "fanout", "kafka_lag", 0) for t in (1, 2, 3, 10, 11)]
    (chart,) = charts_of(history, Facts.of(history)).gauges
    assert chart.lines[0].t == [1, 2, 3, 6.5, 10, 11]
    assert chart.lines[0].value == [0, 0, 0, None, 0, 0]


def test_markdown_tables_have_as_many_cells_as_columns(run: SyntheticRun) -> None:
    text = written(run, AuditReport(acknowledged=10, lost=1, findings=[LOST])).markdown.read_text()
    assert text.startswith("# ❌ synthetic: fail\n")
    widths = {}
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        widths[table] = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
    assert widths
    assert all(len(width) == 1 for width in widths.values())


def test_junit_has_a_case_for_each_thing_that_was_judged(run: SyntheticRun) -> None:
    suite = ElementTree.parse(written(run, AuditReport(findings=[LOST])).junit).getroot()[0]
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {
        "verdict": ["failure"],
        "feed.error_rate < 5% in fault": [],
        "feed.staleness.p99 < 5s in recovery": ["failure"],
        "writes.outage < 1s": ["failure"],
        "no_acknowledged_write_lost": ["failure"],
        "a write failed while mongo:primary was down": [],
    }
    assert suite.get("tests") == str(len(cases))


def test_what_could_not_be_decided_is_an_error_in_junit(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().drill(targets=["feed.error_rate < 5% in fault"])
    suite = ElementTree.parse(written(run).junit).getroot()[0]
    assert suite.get("errors") == "2"
    target = next(case for case in suite if case.get("classname") == "synthetic.target")
    assert "not one op of group feed in fault" in (target[0].text or "")


def test_control_characters_do_not_break_the_xml(run: SyntheticRun) -> None:
    odd = Finding("counters_exact", False, 1, 1, "bad \x00\x1b[31m text", "x", "x", "x", ["x"])
    ElementTree.parse(written(run, AuditReport(findings=[odd])).junit)
