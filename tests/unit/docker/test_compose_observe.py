"""The dashboard shows what somebody measures, and Prometheus asks services that there are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from compose.docker.exporter import disturbed

ROOT = Path(__file__).parents[3]
OBSERVE = ROOT / "compose/observe"
DASHBOARD: dict[str, Any] = json.loads((OBSERVE / "grafana/dashboards/feedstorm.json").read_text())
METRIC = re.compile(r"\b(?:feed|feedstorm)_\w+")


def expressions() -> list[str]:
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return asked + [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]


def declared() -> set[str]:
    """Every metric name that the app or the exporter declares, as Prometheus will know it."""
    files = [*(ROOT / "reference_app").rglob("*.py"), ROOT / "compose/docker/exporter.py"]
    names = {
        name for file in files for name in re.findall(r'"((?:feed|feedstorm)_[a-z_]+)"', file.read_text())
    }
    return names | {f"{name}{suffix}" for name in names for suffix in ("_total", "_count", "_sum", "_bucket")}


def test_every_metric_on_the_dashboard_is_measured_by_somebody() -> None:
    asked = {name for expression in expressions() for name in METRIC.findall(expression)}
    assert asked
    assert asked <= declared()


@pytest.mark.parametrize(
    "about", ["request_seconds_count", "5..", "quantile", "oldest_pending", "lag", "backlog", "primary"]
)
def test_the_dashboard_shows_rate_errors_latency_staleness_lag_backlog_and_primary(about: str) -> None:
    assert any(about in expression for expression in expressions())


def test_faults_are_annotations_on_every_panel() -> None:
    assert {"feedstorm_link_fault == 1", "feedstorm_mongo_up == 0"} <= {
        annotation["expr"] for annotation in DASHBOARD["annotations"]["list"] if annotation["enable"]
    }


def test_panels_do_not_lie_on_each_other() -> None:
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_prometheus_asks_every_process_of_ours_at_the_port_that_it_listens_on() -> None:
    jobs = yaml.safe_load((OBSERVE / "prometheus.yml").read_text())["scrape_configs"]
    targets = {target for job in jobs for group in job["static_configs"] for target in group["targets"]}
    services = yaml.safe_load((ROOT / "compose/docker-compose.yml").read_text())["services"]
    ours = {name for name in services if name.startswith(("api", "worker-", "exporter"))}
    assert targets == {f"{name}:8000" for name in ours}


def test_a_link_is_disturbed_when_it_is_cut_or_carries_a_toxic() -> None:
    proxies = {
        "a": {"enabled": True, "toxics": []},
        "b": {"enabled": False, "toxics": []},
        "c": {"enabled": True, "toxics": [{"name": "latency"}]},
    }
    assert disturbed(proxies) == {"a": False, "b": True, "c": True}
