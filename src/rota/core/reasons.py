"""Why a job waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.restraints import LIMIT_REASONS, held_back
from rota.model import YEAR, PartitionState, Reason
from rota.model.association import QosFlag

if TYPE_CHECKING:
    from rota.core.state import ClusterState
    from rota.model import Job

#: Reasons of held jobs; all of them have priority 0.
HELD = frozenset(
    {
        Reason.JOB_HELD_USER,
        Reason.JOB_HELD_ADMIN,
        Reason.JOB_LAUNCH_FAILURE,
        Reason.JOB_HOLD_MAX_REQUEUE,
        Reason.RESERVATION_DELETED,
    }
)
_PARTITION_CLOSED = {
    PartitionState.DOWN: Reason.PARTITION_DOWN,
    PartitionState.INACTIVE: Reason.PARTITION_INACTIVE,
}


def park_reason(state: ClusterState, job: Job) -> Reason | None:
    """Say why a pending job, or one of its queue records, must not be considered now; ``None`` when it may be."""
    if job.priority == 0:
        return job.reason if job.reason in HELD else Reason.JOB_HELD_ADMIN
    if job.dependencies is not None and (reason := state.dependencies.reason(job)) is not None:
        return reason
    if not job.units:
        return Reason.PARTITION_CONFIG
    if job.partition.state in _PARTITION_CLOSED:
        return _PARTITION_CLOSED[job.partition.state]
    if state.policy.is_on and (reason := state.policy.access(job)) is not None:
        return reason
    part = job.partition
    if (part.max_time is not None or part.max_nodes is not None) and (
        reason := beyond_partition(state, job)
    ) is not None:
        return reason
    if job.spec.begin_time > state.now:
        return Reason.BEGIN_TIME
    if job.spec.reservation and (reason := state.reservations.reason(job)) is not None:
        return reason
    if job.limits is not None and (excess := job.limits.never(job)) is not None:
        return excess.reason  # type: ignore[no-any-return] # an `Excess`
    return None


def beyond_partition(state: ClusterState, job: Job) -> Reason | None:
    """Say which limit of its partition a job is beyond, if its QOS does not let it; ``None``: none."""
    part, policy = job.partition, state.policy
    too_long = part.max_time is not None and job.time_limit > part.max_time
    if too_long and not policy.goes_beyond_partition(job, QosFlag.PARTITION_TIME_LIMIT):
        return Reason.PARTITION_TIME_LIMIT
    too_large = part.max_nodes is not None and state.pool.least_nodes(job) > part.max_nodes
    if too_large and not policy.goes_beyond_partition(job, QosFlag.PARTITION_MAX_NODES):
        return Reason.PARTITION_NODE_LIMIT
    return None


def latest_start(job: Job) -> int:
    """Give the last moment at which a job with a deadline can start, Unix seconds."""
    without_limit = job.spec.time_limit is None and job.time_limit == YEAR
    return job.spec.deadline - (job.spec.time_min or (0 if without_limit else job.time_limit))


def goes_by_itself(reason: Reason) -> int:
    """Rank reasons by how they go away: at a time, when somebody does something, never."""
    return {Reason.BEGIN_TIME: 0, Reason.PARTITION_CONFIG: 2}.get(reason, 1)


def reason_of(state: ClusterState, job: Job) -> Reason:
    """Say why a job is where it is.

    In the queue it follows from the order, so it costs nothing until somebody asks: a job that is held back waits for
    what holds it back, of the others the first of a partition for Resources, and all else for Priority.
    """
    if not job.sort_key or job.alloc:
        if job.job_id in state.parked and job.limits is not None and job.reason in LIMIT_REASONS:
            return job.limits.reason(job) or job.reason
        return job.reason
    state.settle()
    records = [one for one in job.whole.records or (job,) if one.sort_key]
    excesses = [held_back(one) for one in records]
    for record, excess in zip(records, excesses, strict=True):
        if excess is None and is_reserved(state, record):
            return Reason.REQ_NODE_NOT_AVAIL
        if excess is None and record is _first(state, record):
            return Reason.RESOURCES
    if None in excesses:
        return Reason.PRIORITY
    return next(excess.reason for excess in excesses if excess is not None)


def is_reserved(state: ClusterState, job: Job) -> bool:
    """Whether a job could not start now even if no other ran, since nodes that it needs are reserved."""
    book, pool = state.reservations, state.pool
    if not book.all:
        return False
    closed = book.closed(job, state.now, job.time_limit)
    return bool(closed) and not pool.select(job, pool.without(pool.up, closed))


def _first(state: ClusterState, job: Job) -> Job | None:
    """Give the first job of a partition's queue, or a reservation's, that nothing holds back.

    None if a limit holds back the others too.
    """
    partition, reservation = job.partition, job.spec.reservation
    for one in state.queue:
        excess = held_back(one) if one.restraints else None
        if excess is not None and excess.reason in state.held_in_queue:
            return None  # the main pass goes no further
        if one.partition is partition and one.spec.reservation == reservation:
            if excess is None and not is_reserved(state, one):
                return one
            if excess is not None and state.settings.assoc_limit_stop and excess.reason in LIMIT_REASONS:
                return None
    return None
