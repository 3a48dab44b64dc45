"""What must always be true of the engine's state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.core.sorted_jobs import queue_key
from rota.model import InvariantError, JobState

if TYPE_CHECKING:
    from rota.core.cluster import Cluster
    from rota.core.state import ClusterState


def check_invariants(cluster: Cluster) -> None:
    """Check everything. O(live jobs); for tests, and for `rota replay --check`.

    Raises:
        InvariantError: something does not hold.
    """
    _check_places(cluster)
    _check_resources(cluster.state)
    _check_order(cluster)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvariantError(message)


def _check_places(cluster: Cluster) -> None:
    """Every job in exactly one place, and in the state that belongs there."""
    state, queue, reasons = cluster.state, cluster.queue, cluster.reasons
    places = Counter(
        job.job_id
        for place in (queue.waiting(), queue.parked.values(), state.running, state.completing.values())
        for job in place
    )
    _require(
        places == Counter(list(state.jobs)), f"jobs are not in exactly one place: {places - Counter(list(state.jobs))}"
    )
    for job in queue.jobs:
        _require(job.state is JobState.PENDING and not job.alloc, f"{job} is in the queue")
        _require(job.dependencies is None, f"{job} is in the queue and waits for {job.dependencies}")
        _require(reasons.parks(job) is None, f"{job} is in the queue and must not start: {reasons.parks(job)}")
        _require(job.spec.begin_time <= state.now, f"{job} is in the queue before its begin time")
    for job in queue.parked.values():
        _require(job.state is JobState.PENDING and not job.alloc and not job.sort_key, f"{job} is parked")
    for job in state.running:
        _require(job.state is JobState.RUNNING and job.alloc != 0, f"{job} is among the running jobs")
        _require(
            job.start_time is not None and job.start_time >= job.submit_time, f"{job} started before it was submitted"
        )
        _require((job.start_time or 0) >= job.spec.begin_time, f"{job} started before its begin time")
    for job in state.completing.values():
        _require(job.completing and not job.sort_key, f"{job} is among the completing jobs")


def _check_resources(state: ClusterState) -> None:
    """Nothing is given twice, and free + allocated = whole."""
    problem = state.pool.problem([job.alloc for job in (*state.running, *state.completing.values())])
    _require(not problem, problem)


def _check_order(cluster: Cluster) -> None:
    """The queue and the running jobs are sorted by what they claim to be sorted by."""
    queue, running = cluster.queue.jobs, cluster.state.running
    _require(queue.check() and running.check(), "a sorted list is out of order")
    _require(all(job.sort_key == queue_key(job) for job in queue), "the queue is in an old order")
    _require(all(job.sort_key == (job.end_time, job.job_id) for job in running), "running jobs are in an old order")
