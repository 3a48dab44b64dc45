"""What a waiting job waits for, when it could start, and what would let it start sooner: found by asking the engine.

The queue is planned as backfill plans it: each job before this one has its nodes reserved for its time limit. In what
is left the job is placed and, one change at a time, what it could have asked for instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.core.job import Job
from rota.core.scheduling.availability import node_space_of
from rota.core.sorted_jobs import queue_key
from rota.model import YEAR, JobState, PartitionState, RequestError
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.core import Engine
    from rota.core.cluster import Cluster
    from rota.core.scheduling.availability import Space
    from rota.model import JobSpec, Partition

_MINUTE = 60
#: Jobs before this one that are planned at most, as Slurm's backfill has it.
_DEPTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitsFor:
    """A running job that holds what the job is to get."""

    job_id: int
    user: str
    #: When it ends at the latest, Unix seconds.
    end_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """A running job that was started ahead of the job, although it stands behind it."""

    job_id: int
    user: str
    #: Unix seconds.
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Another request, and when it would start."""

    #: ``time limit``, ``processors`` or ``partition``.
    what: str
    #: Seconds, a number, or a name.
    value: int | str
    #: Unix seconds.
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """When and where a job could start."""

    #: Unix seconds; ``None``: it is not foreseeable.
    start: int | None = None
    #: Hostlist; empty: left open.
    nodes: str = ""
    #: The running jobs that hold its nodes until then, the last to end first.
    waits_for: tuple[WaitsFor, ...] = ()
    #: The running jobs that were started ahead of it, and when it could start if they had not been; Unix seconds.
    backfilled: tuple[Backfilled, ...] = ()
    start_without: int | None = None
    #: What would start sooner, the soonest first.
    sooner: tuple[Change, ...] = ()


def estimate_start(engine: Engine, job: Job) -> StartEstimate:
    """Plan the queue as it is, up to a job that waits in it (a record of it, if it has several partitions).

    Raises:
        InputError: an option of SchedulerParameters cannot be used.
    """
    cluster, state = engine.cluster, engine.state
    space = _planned_space(engine, job)
    found = space.earliest(job, job.time_limit, state.now)
    if found is None:
        return StartEstimate(sooner=_sooner(cluster, space, job, None))
    start, nodes = found
    ahead = _started_ahead(cluster, job)
    holders = [
        other
        for other in state.running
        if other.alloc_nodes & nodes and (not state.pool.interchangeable or (other.end_time or 0) <= start)
    ]
    return StartEstimate(
        start=start,
        nodes="" if state.pool.interchangeable else fold(state.nodes[place].name for place in indices(nodes)),
        waits_for=tuple(
            WaitsFor(job_id=other.job_id, user=other.user_name, end_time=other.end_time or 0)
            for other in sorted(holders, key=lambda other: (-(other.end_time or 0), other.job_id))
        )
        if start > state.now
        else (),
        backfilled=tuple(
            Backfilled(
                job_id=one.job_id, user=one.user_name, start_time=one.start_time or 0, end_time=one.end_time or 0
            )
            for one in ahead
        ),
        start_without=_start_without(engine, job, ahead) if ahead else start,
        sooner=_sooner(cluster, space, job, start) if start > state.now else (),
    )


def _planned_space(engine: Engine, job: Job, gone: Sequence[Job] = ()) -> Space:
    """Make the space that all jobs before one leave to it, as far ahead as that may be: not only within bf_window.

    Args:
        engine: Where it waits.
        job: The job, or one of its queue records.
        gone: Running jobs that are taken not to run.
    """
    resolution = engine.state.config.scheduler_int("bf_resolution", 60, 1, 3600)
    space = node_space_of(engine.cluster, engine.preemption, resolution, YEAR, gone=gone)
    _plan_before(engine.cluster, space, job)
    return space


def _started_ahead(cluster: Cluster, job: Job) -> list[Job]:
    """Find the running jobs that stand behind a waiting one and were started while it waited."""
    since = job.submit_time if job.eligible_time is None else job.eligible_time
    return [one for one in cluster.state.running if (one.start_time or 0) > since and queue_key(one) > queue_key(job)]


def _start_without(engine: Engine, job: Job, others: Sequence[Job]) -> int | None:
    """Give when a job could start if some that run did not, the jobs before it being planned in that room as well."""
    found = _planned_space(engine, job, others).earliest(job, job.time_limit, engine.state.now)
    return None if found is None else found[0]


def _plan_before(cluster: Cluster, space: Space, job: Job) -> None:
    """Reserve for the jobs that stand before one, as long as there is something to reserve."""
    seen: set[int] = set()
    now, planned = cluster.state.now, cluster.queue.planned_reasons
    for other in cluster.queue.jobs:
        if other is job or len(seen) == _DEPTH:
            return
        excess = other.held_back()
        is_held = excess is not None and excess.reason not in planned
        if other.job_id in seen or other.state is not JobState.PENDING or is_held:
            continue
        found = space.earliest(other, other.time_limit, now)
        if found is not None:
            seen.add(other.job_id)
            space.reserve(other, found[0], other.time_limit, found[1])


def _sooner(cluster: Cluster, space: Space, job: Job, start: int | None) -> tuple[Change, ...]:
    """Try other requests; give those that start before ``start``, the best of each kind."""
    best: dict[str, Change] = {}
    for what, value, spec, partition in _requests(cluster, job):
        if what in best and best[what].start <= cluster.state.now:
            continue
        found = _try(cluster, space, job, spec, partition)
        if found is None or (start is not None and found >= start):
            continue
        if what not in best or found < best[what].start:
            best[what] = Change(what=what, value=value, start=found)
    if limit := best.get("time limit"):
        best["time limit"] = _longest(cluster, space, job, limit)
    return tuple(sorted(best.values(), key=lambda one: one.start))


def _try(cluster: Cluster, space: Space, job: Job, spec: JobSpec, partition: Partition) -> int | None:
    """Give when another request would start, ``None``: not within the window."""
    try:
        units = cluster.state.pool.units(spec, partition)
    except RequestError:
        return None
    if not units:
        return None
    other = Job(job.job_id, spec, job.submit_time, partition, units)
    found = space.earliest(other, other.time_limit, cluster.state.now)
    return None if found is None else found[0]


def _longest(cluster: Cluster, space: Space, job: Job, known: Change) -> Change:
    """Give the longest time limit, in minutes, with which the job starts as soon as with a known one."""
    low, high = int(known.value) // _MINUTE, job.time_limit // _MINUTE - 1
    while low < high:
        middle = (low + high + 1) // 2
        found = _try(cluster, space, job, job.spec._replace(time_limit=middle * _MINUTE), job.partition)
        if found is not None and found <= known.start:
            low = middle
        else:
            high = middle - 1
    return Change(what=known.what, value=low * _MINUTE, start=known.start)


def _requests(cluster: Cluster, job: Job) -> Iterator[tuple[str, int | str, JobSpec, Partition]]:
    """Think of other requests: what changes, to what, the request and its partition; the smallest changes first."""
    spec = job.spec._replace(time_limit=job.time_limit)
    limit = job.time_limit // 2 // _MINUTE * _MINUTE
    while limit >= _MINUTE:
        yield "time limit", limit, spec._replace(time_limit=limit), job.partition
        limit = limit // 2 // _MINUTE * _MINUTE
    cpus, nodes = spec.num_cpus // 2, spec.min_nodes
    while cpus >= spec.cpus_per_task:
        nodes = min(nodes, max(nodes // 2, 1))
        tasks = cpus // spec.cpus_per_task if spec.num_tasks else 0
        fewer = spec._replace(num_cpus=cpus, num_tasks=tasks, min_nodes=nodes, max_nodes=nodes if spec.max_nodes else 0)
        yield "processors", cpus, fewer, job.partition
        cpus //= 2
    for part in cluster.state.partitions.values():
        fits = part.max_time is None or job.time_limit <= part.max_time
        if part is not job.partition and fits and part.state is PartitionState.UP:
            yield "partition", part.name, spec._replace(partition=part.name), part
