"""``/metrics``: what Prometheus asks for, named by its conventions: base units, ``_total`` where it only grows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

from rota.api.caller import Who
from rota.api.exposition import FORMS, exposed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from rota.api.controller import Controller

_METHODS = frozenset({"GET", "POST", "PATCH", "DELETE"})
#: Base states, so that a state in which nothing is has a 0.
_JOB_STATES = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")
_NODE_STATES = ("IDLE", "MIXED", "ALLOCATED", "DOWN")
_MIB = 1 << 20


class Metrics:
    """Counts requests, and tells the numbers of the controller beside them."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # these would double the number of series
        self._own = CollectorRegistry()
        labels = ("method", "path")
        self._requests = Counter(
            "rota_http_requests", "HTTP requests answered.", (*labels, "status"), registry=self._own
        )
        self._seconds = Histogram(
            "rota_http_request_duration_seconds", "Time until answered.", labels, registry=self._own
        )

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            method: Its method.
            path: The path as the routes have it, without the names in it.
            status: The status of the answer; 0: the client has gone.
            seconds: How long it has taken.
        """
        known = method if method in _METHODS else "other"
        self._requests.labels(known, path, str(status)).inc()
        self._seconds.labels(known, path).observe(seconds)

    def paths(self, controller: Controller) -> APIRouter:
        """Give the path."""
        router = APIRouter()

        @router.get("/metrics", tags=["metrics"], responses=FORMS)
        async def metrics(who: Who, accept: Annotated[str, Header()] = "") -> Response:
            """Give all numbers, in OpenMetrics if that is accepted, and else in Prometheus's text format."""
            told = json.loads(await controller.ask(who, "metrics"))
            return exposed([_Cluster(told), self._own], accept)

        return router


class _Cluster:
    """The numbers of a cluster, as a collector of Prometheus."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    def collect(self) -> Iterator[Metric]:
        """Give the numbers."""
        told = self._told
        yield InfoMetricFamily("rota", "The cluster.", {"version": told["version"], "cluster": told["cluster"]})
        yield _gauge("rota_start_time_seconds", "When the cluster was started first.", told["start_time"])
        yield _gauge("rota_trouble", "Whether the controller cannot write its state.", int(told["trouble"]))
        yield _by_state("rota_jobs", "Jobs that have not ended.", _JOB_STATES, told["jobs"])
        yield _by_state("rota_nodes", "Nodes.", _NODE_STATES, told["nodes"])
        yield _gauge("rota_cpus", "Processors.", told["cpus"])
        yield _gauge("rota_cpus_allocated", "Processors that jobs have.", told["cpus_allocated"])
        yield _gauge("rota_memory_bytes", "Memory of the nodes.", told["memory"] * _MIB)
        yield _gauge("rota_memory_allocated_bytes", "Memory that jobs have.", told["memory_allocated"] * _MIB)
        yield _gauge("rota_queue_length", "Jobs in the queue at the last pass.", told["queue_length"])
        yield _counter("rota_events", "Events handled.", told["events"])
        yield _counter("rota_scheduling_passes", "Passes of the main scheduler.", told["passes"])
        yield _counter("rota_backfill_cycles", "Cycles of the backfill scheduler.", told["backfill_cycles"])
        started = CounterMetricFamily("rota_jobs_started", "Jobs started, by the scheduler.", labels=["by"])
        for by, count in told["started"].items():
            started.add_metric([by], count)
        yield started
        faults = CounterMetricFamily("rota_plugin_faults", "Faults of plugins.", labels=["function"])
        for function, count in told["faults"].items():
            faults.add_metric([function], count)
        yield faults
        for place, (name, text) in enumerate((("rota_licenses", "Licences."), ("rota_licenses_used", "In use."))):
            family = GaugeMetricFamily(name, text, labels=["license"])
            for license_name, counts in told["licenses"].items():
                family.add_metric([license_name], counts[place])
            yield family


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value)


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, value)


def _by_state(name: str, text: str, states: tuple[str, ...], counts: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state, count in {**dict.fromkeys(states, 0), **counts}.items():
        family.add_metric([state.lower()], count)
    return family
