import io
import itertools

import pytest
from rich.console import Console

from chaos.live import PlainView, TerminalView, one_line, sparkline, view_for
from chaos.scene import Scene

SCENE = Scene(
    phase="fault",
    elapsed_s=21,
    total_s=51,
    ops_per_s=60,
    error_share=0.031,
    p95_s=0.041,
    staleness_s=1.25,
    primary=None,
    faults=["kill mongo2"],
    not_running=["mongo2 down"],
    errors=[("503 shed", 3)],
    rates=[60, 58, 60],
    error_rates=[0, 4, 2],
)


def written(*, terminal: bool) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=100, color_system=None), out


def test_a_line_says_what_the_picture_says() -> None:
    line = one_line(SCENE)
    for words in ("21 s", "fault", "60 ops/s", "3.1 %", "41 ms", "1.2 s", "primary none", "kill mongo2"):
        assert words in line
    assert "primary" not in one_line(Scene()), "nobody has looked"


def test_outside_a_terminal_lines_come_now_and_then_and_no_control_codes() -> None:
    console, out = written(terminal=False)
    view = view_for(console)
    assert type(view) is PlainView
    with view.step("starting"), view.picture("a drill"):
        for _ in range(50):
            view.show(SCENE)
    assert out.getvalue().count("60 ops/s") == 1
    assert "\x1b" not in out.getvalue()
    assert "starting ... 0.0 s" in out.getvalue()


def test_the_cursor_is_shown_again_whatever_happens() -> None:
    console, out = written(terminal=True)
    view = view_for(console)
    assert type(view) is TerminalView

    def fails() -> None:
        with view.picture("a drill"):
            view.show(SCENE)
            view.say("something happened")
            raise RuntimeError("whatever")

    with pytest.raises(RuntimeError, match="whatever"):
        fails()
    hidden, shown = out.getvalue().rfind("\x1b[?25l"), out.getvalue().rfind("\x1b[?25h")
    assert 0 <= hidden < shown
    assert "\x1b[?1049h" not in out.getvalue(), "no alternate screen that could stay on"


def test_nothing_to_measure_is_a_dash_not_a_zero() -> None:
    line = one_line(Scene())
    assert "errors -" in line
    assert "p95 -" in line


def test_a_sparkline_is_as_high_as_its_values() -> None:
    assert sparkline([0, 4, 8]) == " ▄█"
    assert sparkline([1], top=8) == "▁"
    assert len(sparkline(list(itertools.repeat(1, 500)), width=60)) == 60
