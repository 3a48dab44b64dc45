"""A real Prometheus, Debian's, that asks the service; and the dashboard for Grafana, whose questions it answers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from .client import Client
from .conftest import free_port
from .lustre import Dumps, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXAMPLES = Path(__file__).parents[2] / "examples" / "lustre"
_DASHBOARD = json.loads((_EXAMPLES / "grafana-dashboard.json").read_text())
_EXPRESSIONS = [target["expr"] for panel in _DASHBOARD["panels"] for target in panel["targets"]]


def test_the_dashboard_is_one() -> None:
    """What Grafana's documentation of its JSON model asks for."""
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time", "annotations"} <= _DASHBOARD.keys()
    panels = _DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    variables = {variable["name"] for variable in _DASHBOARD["templating"]["list"]}
    for panel in panels:
        assert {"id", "type", "title", "gridPos", "datasource", "targets", "fieldConfig", "options"} <= panel.keys()
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        place = panel["gridPos"]
        assert 0 <= place["x"] < place["x"] + place["w"] <= 24
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(_DASHBOARD)))
    assert used - {"__rate_interval", "__range"} <= variables


def _wait_for(is_so: Callable[..., object]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


class Prometheus:
    """Asks a Prometheus.

    Args:
        port: Its port.
    """

    def __init__(self, port: int) -> None:
        self._client = Client(port)

    def is_ready(self) -> bool:
        try:
            return self._client.ask("GET", "/-/ready").status == 200
        except OSError:
            return False

    def ask(self, expression: str) -> dict[tuple[str, ...], float]:
        """Give the values by their labels, in the order of these labels' names."""
        answer = self._client.ask("GET", f"/api/v1/query?{urlencode({'query': expression})}")
        assert answer.status == 200, answer.text
        return {
            tuple(one["metric"][name] for name in sorted(one["metric"]) if name != "__name__"): float(one["value"][1])
            for one in answer.data["data"]["result"]
        }


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Prometheus, Dumps, Any]]:
    """A Prometheus that asks a service that reads dumps."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Debian's package prometheus is not installed")
    dumps, port, own = Dumps(tmp_path / "dumps"), free_port(), free_port()
    configuration = yaml.safe_load((_EXAMPLES / "prometheus.yml").read_text())
    (scrape,) = configuration["scrape_configs"]
    scrape["scrape_interval"] = scrape["scrape_timeout"] = "1s"
    scrape["authorization"]["credentials_file"] = str(tmp_path / "store" / "token")
    scrape["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    words = [program, f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"]
    words += [f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"]
    dumps.add("fs-OST0000", "cp.0", 1, 1)
    dumps.add("fs-OST0001", "cp.0", 1, 1)
    with serving(tmp_path / "store", tmp_path / "log", port, "--source", f"dir:{dumps.folder}") as lustre:
        _wait_for(lambda: lustre.client.get("/lustre/v1/status")["sources"][0]["readings"])
        with subprocess.Popen(words) as process:
            try:
                prometheus = Prometheus(own)
                _wait_for(prometheus.is_ready)
                yield prometheus, dumps, lustre
            finally:
                process.terminate()


@pytest.mark.slow
def test_prometheus_has_the_same_totals(asked: tuple[Prometheus, Dumps, Any]) -> None:
    prometheus, dumps, lustre = asked
    for _ in range(20):
        dumps.add("fs-OST0000", "cp.0", 2, 3_000_000)
        dumps.add("fs-OST0001", "dd.1", 1, 500_000)
        time.sleep(0.2)  # so that there are rates
    users = {("root",): 60_000_000.0, ("daemon",): 10_000_000.0}
    _wait_for(lambda: prometheus.ask("sum by (user) (rota_lustre_user_write_bytes_total)") == users)
    of_jobs = "max by (job_id, user, name) (rota_lustre_job_write_bytes_total)"
    _wait_for(
        lambda: prometheus.ask(of_jobs) == {("cp.0", "cp", "root"): 60_000_000, ("dd.1", "dd", "daemon"): 10_000_000}
    )
    targets = prometheus.ask("sum by (target) (rota_lustre_target_write_requests_total)")
    assert targets == {("fs-OST0000",): 40, ("fs-OST0001",): 20}
    top = lustre.client.get("/lustre/v1/top?by=target&last=86400&metrics=write_iops")
    assert {(row["label"],): row["totals"]["write_iops"] for row in top["rows"]} == targets
    assert prometheus.ask("sum(rota_lustre_source_up)") == {(): 1}
    for expression in _EXPRESSIONS:
        whole = expression.replace("$__rate_interval", "1m").replace("$__range", "1m").replace("$filesystem", "fs")
        _wait_for(lambda asked=whole: prometheus.ask(asked))  # a rate needs two of its answers
    # All of it is what Prometheus's own parser takes, and named as its conventions say.
    names = [one.name for one in text_string_to_metric_families(lustre.client.ask("GET", "/metrics?jobs=9").text)]
    assert len(names) == len(set(names)) > 30
    assert all(name.startswith("rota_lustre") for name in names)
