"""When a pending job could start, what it waits for, and what would make it start sooner.

The job, and variants of its request, are placed into what the jobs before it in the queue leave free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.core import ClusterView
    from rota.core.view.future import Future
    from rota.model import JobSpec
    from rota.model.lines import JobLine

_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingJob:
    """A running job that holds resources which the job is to get."""

    job_id: int
    user: str
    #: Its expected end, Unix seconds.
    end_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfilledJob:
    """A running job that was started although it is behind the job in the queue."""

    job_id: int
    user: str
    #: Unix seconds.
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another request, and when it would start."""

    #: ``time limit``, ``processors`` or ``partition``.
    what: str
    #: Time limit in seconds, number of processors, or name of the partition.
    value: int | str
    #: Start with this request, Unix seconds.
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """When and where a job could start."""

    #: Unix seconds; ``None``: not foreseeable.
    start: int | None = None
    #: Hostlist of the nodes; empty: left open.
    nodes: str = ""
    #: Running jobs that hold these nodes until then, the last to end first.
    waits_for: tuple[BlockingJob, ...] = ()
    #: Running jobs that were backfilled ahead of the job, and when the job could start without them, Unix seconds.
    backfilled: tuple[BackfilledJob, ...] = ()
    start_without: int | None = None
    #: Requests with which the job would start sooner, the soonest first.
    sooner: tuple[Alternative, ...] = ()


def estimate_start(cluster: ClusterView, job_id: int) -> StartEstimate:
    """Estimate the start of a job by planning the queue up to it; with several partitions, up to its first record.

    A job has no estimate if it is not in the queue, or if a limit holds it back.

    Raises:
        InputError: SchedulerParameters has an option that cannot be used.
    """
    future, now = cluster.future(job_id), cluster.now
    if future is None:
        return StartEstimate()
    found = future.earliest()
    if found is None:
        return StartEstimate(sooner=_sooner(cluster, future, None))
    start, nodes = found
    ahead = future.started_ahead()
    without = future.without(ahead).earliest() if ahead else found
    return StartEstimate(
        start=start,
        nodes="" if cluster.interchangeable else fold_sorted(cluster.names(nodes)),
        waits_for=tuple(
            BlockingJob(job_id=one.job_id, user=one.assoc_user, end_time=one.end_time or 0)
            for one in _lines(cluster, future.holders(start, nodes))
        )
        if start > now
        else (),
        backfilled=tuple(
            BackfilledJob(
                job_id=one.job_id, user=one.assoc_user, start_time=one.start_time or 0, end_time=one.end_time or 0
            )
            for one in _lines(cluster, ahead)
        ),
        start_without=None if without is None else without[0],
        sooner=_sooner(cluster, future, start) if start > now else (),
    )


def _lines(cluster: ClusterView, job_ids: Iterable[int]) -> Iterator[JobLine]:
    return (one for one in map(cluster.job, job_ids) if one is not None)


def _sooner(cluster: ClusterView, future: Future, start: int | None) -> tuple[Alternative, ...]:
    """Try other requests; give the best of each kind that starts before ``start``."""
    best: dict[str, Alternative] = {}
    for what, value, spec, partition in _requests(cluster, future):
        if what in best and best[what].start <= cluster.now:
            continue
        found = future.earliest_of(spec, partition)
        if found is None or (start is not None and found >= start):
            continue
        if what not in best or found < best[what].start:
            best[what] = Alternative(what=what, value=value, start=found)
    if limit := best.get("time limit"):
        best["time limit"] = _longest(future, limit)
    return tuple(sorted(best.values(), key=lambda one: one.start))


def _longest(future: Future, known: Alternative) -> Alternative:
    """Give the longest time limit, in minutes, with which the job starts as soon as with the one of a known change."""
    low, high = int(known.value) // _MINUTE, future.time_limit // _MINUTE - 1
    while low < high:
        middle = (low + high + 1) // 2
        found = future.earliest_of(future.spec._replace(time_limit=middle * _MINUTE), future.partition)
        if found is not None and found <= known.start:
            low = middle
        else:
            high = middle - 1
    return Alternative(what=known.what, value=low * _MINUTE, start=known.start)


def _requests(cluster: ClusterView, future: Future) -> Iterator[tuple[str, int | str, JobSpec, str]]:
    """Generate other requests, the smallest changes first: what changes, its value, the request and its partition."""
    spec, time_limit = future.spec, future.time_limit
    limit = time_limit // 2 // _MINUTE * _MINUTE
    while limit >= _MINUTE:
        yield "time limit", limit, spec._replace(time_limit=limit), future.partition
        limit = limit // 2 // _MINUTE * _MINUTE
    cpus, nodes = spec.num_cpus // 2, spec.min_nodes
    while cpus >= spec.cpus_per_task:
        nodes = min(nodes, max(nodes // 2, 1))
        tasks = cpus // spec.cpus_per_task if spec.num_tasks else 0
        fewer = spec._replace(num_cpus=cpus, num_tasks=tasks, min_nodes=nodes, max_nodes=nodes if spec.max_nodes else 0)
        yield "processors", cpus, fewer, future.partition
        cpus //= 2
    for part in cluster.partitions():
        fits = part.max_time is None or time_limit <= part.max_time
        if part.name != future.partition and fits and part.state == "UP":
            yield "partition", part.name, spec._replace(partition=part.name), part.name
