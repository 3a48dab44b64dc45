"""``/metrics``: Prometheus's own parser reads it, names are as its conventions want them, numbers are true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from .conftest import Served


def _families(served: Served) -> dict[str, Metric]:
    answer = served.client.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def test_open_metrics_where_they_are_accepted(served: Served) -> None:
    accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
    answer = served.client.ask("GET", "/metrics", headers=accept)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.count("# EOF") == 1
    names = {family.name for family in open_metrics(answer.text)}  # type: ignore[no-untyped-call]
    # An info is called so by its type there, and by its name here.
    assert {"rota", "rota_http_requests"} < names
    assert names - {"rota"} >= _families(served).keys() - {"rota_info"}


def _value(families: dict[str, Metric], family: str, **labels: str) -> float:
    (found,) = (one.value for one in families[family].samples if one.labels == labels)
    return float(found)


def test_names_and_units(served: Served) -> None:
    # https://prometheus.io/docs/practices/naming: the rules that `promtool check metrics` checks.
    for family in _families(served).values():
        assert family.documentation
        assert re.fullmatch("[a-z][a-z0-9_]*", family.name)
        assert family.name.startswith("rota")
        assert not re.search("_(ms|milliseconds|minutes|kb|mb|mib|percent|count|sum|bucket)$", family.name)
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter"), sample.name
            assert not {"le", "quantile"} & sample.labels.keys() or family.type == "histogram"


def test_numbers_are_those_of_the_cluster(served: Served) -> None:
    before = _families(served)
    assert _value(before, "rota_cpus") == 8
    assert _value(before, "rota_memory_bytes") == 16_000 * 2**20
    held = [served.cluster.submit("-H", "--wrap", "true") for _ in range(3)]
    running = served.cluster.submit("-n3", "-o", "/dev/null", "--wrap", "sleep 300")
    served.cluster.wait(lambda: served.client.get(f"/v1/jobs/{running}")["state"] == "RUNNING")
    families = _families(served)
    assert _value(families, "rota_jobs", state="pending") == 3
    assert _value(families, "rota_jobs", state="running") == 1
    assert _value(families, "rota_jobs", state="suspended") == 0
    assert _value(families, "rota_cpus_allocated") == 3
    assert _value(families, "rota_memory_allocated_bytes") == 300 * 2**20  # DefMemPerCPU=100
    assert _value(families, "rota_nodes", state="mixed") == 1
    assert _value(families, "rota_events") > _value(before, "rota_events")
    served.cluster.run("scancel", *map(str, (*held, running)))
    served.cluster.idle()


def test_requests_are_counted_by_route(served: Served) -> None:
    labels = {"method": "GET", "path": "/v1/jobs/{job}", "status": "404"}
    served.client.ask("GET", "/v1/jobs/999999")
    first = _value(_families(served), "rota_http_requests", **labels)
    for job_id in (999_998, 999_997):
        served.client.ask("GET", f"/v1/jobs/{job_id}")
    served.client.ask("PROPFIND", "/nosuch/path")
    families = _families(served)
    assert _value(families, "rota_http_requests", **labels) == first + 2
    assert _value(families, "rota_http_requests", method="other", path="other", status="404") >= 1
    told = {value for family in families.values() for sample in family.samples for value in sample.labels.values()}
    assert not any("99999" in value for value in told)
