"""What must always be true of the engine's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.queue.reasons import park_reason
from rota.core.queue.sorted_jobs import queue_key
from rota.model import InvariantError, JobState

if TYPE_CHECKING:
    from rota.core.state import ClusterState
    from rota.model import Job


def check_invariants(state: ClusterState) -> None:
    """Check everything. O(live jobs); for tests, and for `rota replay --check`.

    It runs after every event, so a message is put together only when something does not hold.

    Raises:
        InvariantError: something does not hold.
    """
    _check_places(state)
    for job in state.queue:
        _check_queued(state, job)
    for job in state.parked.values():
        if job.state is not JobState.PENDING or job.alloc or job.sort_key:
            raise InvariantError(f"{job} is parked")
    for job in state.running:
        _check_running(job)
    for job in state.completing.values():
        if not job.completing or job.sort_key:
            raise InvariantError(f"{job} is among the completing jobs")
    _check_resources(state)
    _check_order(state)


def _check_places(state: ClusterState) -> None:
    """Every job is in exactly one place."""
    placed = [job.job_id for job in state.waiting()]
    placed += [job.job_id for job in state.parked.values()]
    placed += [job.job_id for job in state.running]
    placed += [job.job_id for job in state.completing.values()]
    live = state.jobs.keys()
    if len(placed) != len(live) or set(placed) != live:
        several = sorted({job_id for job_id in placed if placed.count(job_id) > 1})
        nowhere, unknown = sorted(live - set(placed)), sorted(set(placed) - live)
        raise InvariantError(
            f"jobs are not in exactly one place: in several {several}, in none {nowhere}, not live {unknown}"
        )


def _check_queued(state: ClusterState, job: Job) -> None:
    """What is in the queue, a job or a record of one, may start."""
    if job.state is not JobState.PENDING or job.alloc:
        raise InvariantError(f"{job} is in the queue")
    if (reason := park_reason(state, job)) is not None:
        raise InvariantError(f"{job} is in the queue and must not start: {reason}")
    if job.spec.begin_time > state.now:
        raise InvariantError(f"{job} is in the queue before its begin time")


def _check_running(job: Job) -> None:
    """What runs has resources, and has not started too early."""
    if job.state is not JobState.RUNNING or not job.alloc:
        raise InvariantError(f"{job} is among the running jobs")
    if job.start_time is None or job.start_time < job.submit_time:
        raise InvariantError(f"{job} started before it was submitted")
    if job.start_time < job.spec.begin_time:
        raise InvariantError(f"{job} started before its begin time")


def _check_resources(state: ClusterState) -> None:
    """Nothing is given twice, and free + allocated = whole."""
    if problem := state.pool.problem([job.alloc for job in (*state.running, *state.completing.values())]):
        raise InvariantError(problem)


def _check_order(state: ClusterState) -> None:
    """The queue and the running jobs are sorted by what they claim to be sorted by."""
    if not (state.queue.check() and state.running.check()):
        raise InvariantError("a sorted list is out of order")
    if any(job.sort_key != queue_key(job) for job in state.queue):
        raise InvariantError("the queue is in an old order")
    if any(job.sort_key != (job.end_time, job.job_id) for job in state.running):
        raise InvariantError("running jobs are in an old order")
