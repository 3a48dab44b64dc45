"""``/metrics``: what Prometheus asks for.

Sums by target, user and account are always there; those of jobs, which are many and come and go, if they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

from rota.api.exposition import FORMS, exposed
from rota.api.lustre.access import Seen
from rota.lustre.grouping import place_of
from rota.lustre.measures import METRICS
from rota.lustre.metrics import metrics
from rota.lustre.query import Question, ask, lives_of
from rota.lustre.rollups import OWNERS
from rota.lustre.store import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prometheus_client.metrics_core import Metric

    from rota.lustre.service import Service

#: The five metrics by the conventions of Prometheus.
_NAMES = ("read_bytes", "write_bytes", "read_requests", "write_requests", "metadata_operations")
_TEXTS = ("Bytes read.", "Bytes written.", "Requests to read.", "Requests to write.", "All other operations.")
#: Labels of jobs beside the id, and the seconds in which the largest are looked for.
_LABELS, _RECENT = ("user", "account", "name"), 600
_MOST_JOBS = 1000

_Rows = list[tuple[tuple[str, ...], "Sequence[int]"]]


def exporter(service: Service) -> APIRouter:
    """Give the path."""
    router = APIRouter()

    @router.get("/metrics", tags=["metrics"], responses=FORMS)
    def tell(
        _: Seen,
        accept: Annotated[str, Header()] = "",
        jobs: Annotated[int, Query(ge=0, le=_MOST_JOBS, description="So many jobs, those that did most.")] = 0,
        sort: Annotated[str, Query(max_length=64, description="By which metric they did most lately.")] = METRICS[1],
    ) -> Response:
        """Tell all sums, in OpenMetrics if that is accepted, and else in Prometheus's text format."""
        return exposed([_Collected([*families(service), *_jobs(service, jobs, sort)])], accept)

    return router


def families(service: Service) -> Iterator[Metric]:
    """Give all but what is told of single jobs."""
    yield from _health(service.status())
    yield from _sums(service)


class _Collected:
    """Metrics that are there already."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = list(found)

    def collect(self) -> Iterable[Metric]:
        """Give them."""
        return self._found


def _sums(service: Service) -> Iterator[Metric]:
    targets: _Rows = [
        ((name, place_of(name, "kind"), place_of(name, "filesystem")), numbers)
        for name, numbers in service.rollups.targets().items()
    ]
    yield from _five("target", ("target", "kind", "filesystem"), targets)
    for field in OWNERS:
        yield from _five(field, (field, "filesystem"), list(service.rollups.owners(field).items()))


def _jobs(service: Service, count: int, sort: str) -> Iterator[Metric]:
    if not count:
        return
    with service.reader.look() as look:
        begin = max(look.until - _RECENT, 0)
        answer = ask(look, Question(begin, begin + _RECENT, (sort,), "job", top=count))
        jobs = [job for job in map(look.job, answer.labels) if job is not None]
        fields = look.fields([job.code for job in jobs])
        lives = lives_of(look, jobs)
    rows: _Rows = [
        ((label, *(shown(of.get(name)) for name in _LABELS)), metrics(life.operations))
        for label, of, life in zip(answer.labels, fields, lives, strict=True)
    ]
    yield from _five("job", ("job_id", *_LABELS), rows)


def _five(what: str, labels: Sequence[str], rows: _Rows) -> Iterator[Metric]:
    for place, (name, text) in enumerate(zip(_NAMES, _TEXTS, strict=True)):
        family = CounterMetricFamily(f"rota_lustre_{what}_{name}", text, labels=labels)
        for values, numbers in rows:
            family.add_metric(values, numbers[place])
        yield family


def _health(status: Mapping[str, Any]) -> Iterator[Metric]:
    writing, sources = status["writing"], status["sources"]
    yield InfoMetricFamily("rota_lustre", "The collector.", {"version": status["version"]})
    yield _gauge("until_timestamp_seconds", "Until when all is there that was read in time.", status["until"])
    yield _gauge("store_bytes", "Size of the store.", status["store"]["bytes"])
    yield _counter("rows", "Rows written: operations of jobs on targets.", writing["rows"])
    yield _counter("write_failures", "Times that the store could not be written.", writing["failures"])
    yield _counter("dropped", "Increases that no machine can have.", writing["dropped"])
    yield _counter("lost", "Activities for which there was no room to wait.", writing["lost"])
    yield _gauge("waiting", "Activities that wait to be written.", writing["waiting"])
    yield _gauge("write_seconds", "How long writing took last.", writing["seconds"])
    for key, kind, name, text in (
        ("readings", CounterMetricFamily, "readings", "Readings of a source."),
        ("failures", CounterMetricFamily, "failures", "Readings that failed, or parts of them."),
        ("missed", CounterMetricFamily, "missed", "Moments at which a source was still being read."),
        ("bad_lines", CounterMetricFamily, "bad_lines", "Lines that could not be understood."),
        ("unread", CounterMetricFamily, "unread", "Entries of which something was not read, and is not known."),
        ("seconds", GaugeMetricFamily, "reading_seconds", "How long reading took last."),
        ("jobs", GaugeMetricFamily, "entries", "Entries of jobs in the last reading."),
        ("untracked", GaugeMetricFamily, "untracked", "Entries in it that were too many to remember."),
    ):
        family = kind(f"rota_lustre_source_{name}", text, labels=["source"])
        for source in sources:
            family.add_metric([source["name"]], source[key])
        yield family
    for key, text in (("asked", "Jobs that a plugin was asked about."), ("failed", "Lookups of a plugin that failed.")):
        family = CounterMetricFamily(f"rota_lustre_lookups_{key}", text, labels=["plugin"])
        for plugin, figures in status["lookups"].get("plugins", {}).items():
            family.add_metric([plugin], figures[key])
        yield family
    up = GaugeMetricFamily("rota_lustre_source_up", "Whether the last reading was whole.", labels=["source"])
    for source in sources:
        up.add_metric([source["name"]], int(bool(source["readings"]) and not source["error"]))
    yield up


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"rota_lustre_{name}", text, value)


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"rota_lustre_{name}", text, value)
