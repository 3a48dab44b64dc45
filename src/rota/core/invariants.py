"""Invariants of the engine's state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.core.sorted_jobs import queue_key
from rota.core.timers import Timer, TimerKind
from rota.model import InvariantError, JobState, Reason
from rota.model.job_state import RUNS
from rota.model.licenses import parse_licenses

if TYPE_CHECKING:
    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.state import ClusterState

#: Largest rounding error of sums of floating-point numbers from which some were subtracted.
_ROUNDING = 1e-6


def check_invariants(cluster: Cluster) -> None:
    """Check all invariants. O(live jobs); for tests, and for `rota replay --check`.

    It may run after every event, so messages are formatted only when an invariant is violated.

    Raises:
        InvariantError: an invariant is violated.
    """
    state, queue = cluster.state, cluster.queue
    _check_places(cluster)
    for job in queue.queued:
        _check_queued(cluster, job)
    for job in queue.parked.values():
        _check_parked(state, job)
    for job in state.running:
        _check_running(job)
    for job in state.completing.values():
        if not job.completing or job.sort_key:
            raise InvariantError(f"{job} is among the completing jobs")
    _check_views(state)
    _check_resources(state)
    _check_order(cluster)
    _check_counts(cluster)
    _check_ledgers(cluster)
    _check_timers(cluster)


def _check_views(state: ClusterState) -> None:
    """What plugins are shown of a job is what it is."""
    if [job.view for job in state.jobs.values()] != list(state.job_views.values()):
        raise InvariantError("plugins get other jobs than there are")
    for job in state.jobs.values():
        for one in (job, *job.records):
            shown = (one.view.partition, one.view.units, one.view.time_limit, one.view.start_limits)
            if shown != (one.partition, one.units, one.time_limit, len(one.start_limits)):
                raise InvariantError(f"plugins are shown {shown} of {one}")


def _check_places(cluster: Cluster) -> None:
    """Every job is in exactly one of queue, parked jobs, running jobs and completing jobs."""
    state, queue = cluster.state, cluster.queue
    placed = [job.job_id for job in queue.waiting()]
    placed += [job.job_id for job in queue.parked.values()]
    placed += [job.job_id for job in state.running]
    placed += [job.job_id for job in state.completing.values()]
    live = state.jobs.keys()
    if len(placed) != len(live) or set(placed) != live:
        several = sorted({job_id for job_id in placed if placed.count(job_id) > 1})
        nowhere, unknown = sorted(live - set(placed)), sorted(set(placed) - live)
        raise InvariantError(
            f"jobs are not in exactly one place: in several {several}, in none {nowhere}, not live {unknown}"
        )


def _check_queued(cluster: Cluster, job: Job) -> None:
    """Jobs and records in the queue may start."""
    if job.state is not JobState.PENDING or job.alloc:
        raise InvariantError(f"{job} is in the queue")
    if job.dependencies is not None:
        raise InvariantError(f"{job} is in the queue and waits for {job.dependencies}")
    if (reason := cluster.obstacles.parking_reason(job)) is not None:
        raise InvariantError(f"{job} is in the queue and must not start: {reason}")
    if job.spec.begin_time > cluster.state.now:
        raise InvariantError(f"{job} is in the queue before its begin time")


def _check_parked(state: ClusterState, job: Job) -> None:
    """Parked jobs are pending, and have a timer if they wait for a time."""
    if job.state is not JobState.PENDING or job.alloc or job.sort_key:
        raise InvariantError(f"{job} is parked")
    if job.reason is Reason.BEGIN_TIME and Timer(TimerKind.BEGIN_TIME, job.job_id) not in state.timers:
        raise InvariantError(f"{job} waits for its begin time, and nobody would notice")


def _check_running(job: Job) -> None:
    """Running jobs have resources and have not started too early."""
    if job.state not in RUNS or not job.alloc:
        raise InvariantError(f"{job} is among the running jobs")
    if job.start_time is None or job.start_time < job.submit_time:
        raise InvariantError(f"{job} started before it was submitted")
    if (job.state is JobState.SUSPENDED) is (job.suspended_since is None):
        raise InvariantError(f"{job} is suspended and goes on, or neither")
    if job.start_time < job.spec.begin_time:
        raise InvariantError(f"{job} started before its begin time")


def _check_resources(state: ClusterState) -> None:
    """No resource is allocated twice, and free + allocated = all."""
    if problem := state.pool.problem([job.alloc for job in state.holding()]):
        raise InvariantError(problem)


def _check_order(cluster: Cluster) -> None:
    """The queue and the running jobs are sorted, and what is behind others in the queue says so."""
    queue, running = cluster.queue.queued, cluster.state.running
    if not (queue.check() and running.check()):
        raise InvariantError("a sorted list is out of order")
    if any(job.sort_key != queue_key(job) for job in queue):
        raise InvariantError("the queue is in an old order")
    if any(job.sort_key != (job.end_time, job.job_id) for job in running):
        raise InvariantError("running jobs are in an old order")
    behind, overwritten = cluster.queue.behind, {Reason.NONE, Reason.RESOURCES}
    for job in queue:
        if not behind or job in cluster.queue.entered:
            continue
        if job.sort_key > behind and job.reason in overwritten:
            raise InvariantError(f"{job} waits behind others, which nobody has written")
        if job.partition.name not in cluster.queue.behind_in and not cluster.queue.mixed:
            raise InvariantError(f"{job} is in the partition {job.partition.name}, of which nobody knows")


def _check_counts(cluster: Cluster) -> None:
    """Counts of licences, running tasks of arrays and jobs with start limits are right."""
    state = cluster.state
    licenses: Counter[str] = Counter()
    tasks: Counter[int] = Counter()
    limited = 0
    for job in state.jobs.values():
        if job.alloc and job.spec.licenses:
            licenses.update(parse_licenses(job.spec.licenses))
        if job.alloc and job.array is not None:
            tasks[job.array.job_id] += 1
        limited += job.may_be_held_back
    counted = {name: count for name, count in cluster.licenses.used.items() if count}
    if counted != +licenses:
        raise InvariantError(f"licences in use are {dict(licenses)}, and {counted} were counted")
    if state.array_ids != sorted(state.arrays):
        raise InvariantError(f"arrays {sorted(state.arrays)} are found as {state.array_ids}")
    for array in state.arrays.values():
        if array.running != tasks[array.job_id]:
            raise InvariantError(f"{tasks[array.job_id]} tasks of array {array.job_id} run, not {array.running}")
        if array.is_over or (array.pending and array.record is None):
            raise InvariantError(f"array {array.job_id} is live and has no job for its tasks")
    if cluster.queue.limited != limited:
        raise InvariantError(f"{limited} jobs may be held back, and {cluster.queue.limited} were counted")


def _check_ledgers(cluster: Cluster) -> None:
    """The sums to which limits are compared are those of the live jobs."""
    context, counted, jobs = cluster.policy.context, cluster.policy.submitted_in, cluster.state.jobs.values()
    if not counted.keys() <= cluster.state.jobs.keys():
        raise InvariantError(f"jobs {sorted(counted.keys() - cluster.state.jobs.keys())} are over and count for limits")
    running = {job.job_id for job in jobs if job.alloc and job.limits is not None and job.limits.can_hold_back}
    if context.running.keys() != running:
        raise InvariantError(f"jobs {sorted(context.running.keys() ^ running)} count as running, or do not, for limits")
    for ledger in context.ledgers.values():
        entries = [one for one in context.running.values() if ledger in one.ledgers]
        sums = [sum(one.counts[index] for one in entries) for index in range(len(ledger.tres))]
        if ledger.jobs != len(entries) or not _equal(sums, ledger.tres):
            raise InvariantError(f"{ledger.name}: {len(entries)} jobs take {sums}, not {ledger.jobs} {ledger.tres}")
        nodes = 0
        for one in entries:
            nodes |= one.nodes
        if ledger.nodes != nodes:
            raise InvariantError(f"{ledger.name}: its jobs run on nodes {nodes:#x}, not {ledger.nodes:#x}")
        submitted = sum(job.waiting_tasks for job in jobs if ledger in counted.get(job.job_id, ()))
        if ledger.submitted != submitted:
            raise InvariantError(f"{ledger.name}: {submitted} jobs are live, not {ledger.submitted}")


def _equal(some: list[float], others: list[float]) -> bool:
    return all(abs(a - b) <= _ROUNDING * max(abs(a), 1.0) for a, b in zip(some, others, strict=True))


def _check_timers(cluster: Cluster) -> None:
    """Timers refer to existing reservations and jobs, and to present runs."""
    state = cluster.state
    for timer in state.timers:
        if timer.kind is TimerKind.RESERVATION and timer.name not in cluster.reservations.all:
            raise InvariantError(f"{timer} is of no reservation")
        if not timer.job_id:
            continue
        job = state.jobs.get(timer.job_id)
        if job is None:
            raise InvariantError(f"{timer} is of no live job")
        if timer.kind in _OF_A_RUN and (not job.alloc or job.restart_count != timer.run):
            raise InvariantError(f"{timer} is of a run of {job} that is over")


_OF_A_RUN = frozenset({TimerKind.JOB_MINUTES, TimerKind.PREEMPT_EXEMPT, TimerKind.PREEMPT_GRACE})
