"""The report in headless Chromium, where one is installed: charts are drawn, and the console stays silent."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from results import report
from results.history import MemberChange
from tests.unit.results.histories import SyntheticRun

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--virtual-time-budget=8000", "--enable-logging=stderr", "--dump-dom"),
    "--allow-file-access-from-files",
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = SyntheticRun(tmp_path_factory.mktemp("run")).usual_course()
    run.ops("GET /feed", 0, 65).ops("POST /posts", 0, 65).ops("POST /posts", 20, 30, failed=1)
    run.events.append(MemberChange(20.1, "mongo1", "down"))
    for second in range(0, 65, 2):
        run.stale(second, 0.2)
    run.drill(targets=["feed.error_rate < 5% in fault"]).history()
    return report.write(run.directory).html


def opened(page: Path, profile: Path, theme: str, width: int) -> tuple[str, list[str]]:
    """The document after its scripts ran, and what they wrote to the console."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},2000"]
    done = subprocess.run(
        [*command, f"file://{page}#theme={theme}"], capture_output=True, text=True, timeout=150, check=True
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.mark.parametrize(("theme", "width"), [("light", 1600), ("dark", 500)])
def test_charts_are_drawn_and_the_console_is_silent(
    page: Path, tmp_path: Path, theme: str, width: int
) -> None:
    document, console = opened(page, tmp_path, theme, width)
    assert console == []
    assert f'data-theme="{theme}"' in document
    body = document.partition("<body")[2]
    for chart in ("rate", "latency", "staleness", "lanes", "generator"):
        element = re.search(rf'<div class="chart[^"]*" id="{chart}"[^>]*>(.{{0,400}})', body, re.S)
        assert element is not None, chart
        assert 'data-drawn="yes"' in element[0]
        assert "svg-container" in element[0]
    assert body.count('class="main-svg"') >= 5


PHONE = """<!doctype html><body><iframe src="{page}" width="400" height="900"></iframe><script>
setTimeout(() => {{
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  const drawn = [...page.querySelectorAll(".main-svg")].map((chart) => chart.getBoundingClientRect().right);
  document.title = `${{root.clientWidth}} ${{root.scrollWidth}} ${{Math.round(Math.max(...drawn))}}`;
}}, 4000);
</script>"""


def test_on_a_phone_nothing_reaches_beyond_the_screen(page: Path, tmp_path: Path) -> None:
    """In a frame: a window of headless Chromium is never narrower than 500 pixels."""
    wrapper = tmp_path / "phone.html"
    wrapper.write_text(PHONE.format(page=page.as_uri()))
    document, console = opened(wrapper, tmp_path / "profile", "light", 600)
    title = re.search("<title>(\\d+) (\\d+) (\\d+)</title>", document)
    assert title is not None, document
    width, content, chart = map(int, title.groups())
    assert (console, width) == ([], 400)
    assert content <= width
    assert 0 < chart <= width


def test_a_script_error_would_be_noticed(page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(
        page.read_text().replace("function drawAll() {", "function drawAll() { nothing.here();")
    )
    _, console = opened(broken, tmp_path / "profile", "light", 800)
    assert any("nothing is not defined" in line for line in console)
