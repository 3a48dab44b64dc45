"""Why a job waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.restraints import LIMIT_REASONS, held_back
from rota.model import PartitionState, Reason
from rota.model.association import QosFlag

if TYPE_CHECKING:
    from rota.core.state import ClusterState
    from rota.model import Job, Partition

#: Reasons of held jobs; all of them have priority 0.
HELD = frozenset({Reason.JOB_HELD_USER, Reason.JOB_HELD_ADMIN, Reason.JOB_LAUNCH_FAILURE, Reason.JOB_HOLD_MAX_REQUEUE})
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
    if (reason := state.policy.access(job) or beyond_partition(state, job)) is not None:
        return reason
    if job.spec.begin_time > state.now:
        return Reason.BEGIN_TIME
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
        if excess is None and record is _first(state, record.partition):
            return Reason.RESOURCES
    if None in excesses:
        return Reason.PRIORITY
    return next(excess.reason for excess in excesses if excess is not None)


def _first(state: ClusterState, partition: Partition) -> Job | None:
    """Give the first job of a partition's queue that nothing holds back; none if a limit holds back the others too."""
    for one in state.queue:
        if one.partition is partition:
            excess = held_back(one)
            if excess is None:
                return one
            if state.settings.assoc_limit_stop and excess.reason in LIMIT_REASONS:
                return None
    return None
