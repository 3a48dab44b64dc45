"""Why a job waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core.limits.start_limits import LIMIT_REASONS, held_back
from rota.model import YEAR, PartitionState, Reason
from rota.model.association import QosFlag
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
_TOO_FEW = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
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
    part = job.partition
    if not job.units or is_shut_out(job):
        return Reason.PARTITION_CONFIG
    if part.state in _PARTITION_CLOSED:
        return _PARTITION_CLOSED[part.state]
    if state.policy.is_on and (reason := state.policy.access(job)) is not None:
        return reason
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


def is_shut_out(job: Job) -> bool:
    """Whether a job's user is in no group that its partition is for."""
    part = job.partition
    return part.allow_users is not None and not part.lets_in(job.user_name)


def beyond_partition(state: ClusterState, job: Job) -> Reason | None:
    """Say which limit of its partition a job is beyond, if its QOS does not let it; ``None``: none."""
    part, policy = job.partition, state.policy
    too_long = part.max_time is not None and job.time_limit > part.max_time
    if too_long and not policy.goes_beyond_partition(job, QosFlag.PARTITION_TIME_LIMIT):
        return Reason.PARTITION_TIME_LIMIT
    too_large = part.max_nodes is not None and max(state.pool.least_nodes(job), job.spec.max_nodes) > part.max_nodes
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
    what holds it back; of the others those that the main pass comes to wait for Resources or for nodes that are not
    available, and all else for Priority.
    """
    return _why(state, job).reason


def sentence_of(state: ClusterState, job: Job, fold: Callable[[Iterable[str]], str]) -> str:
    """Say the same as ``squeue`` does, with a sentence where Slurm has one.

    Args:
        state: The machine and its jobs.
        job: One of them.
        fold: Makes a hostlist of the names of nodes.
    """
    reason, sentence, nodes = _why(state, job)
    return sentence + fold(state.nodes[place].name for place in indices(nodes)) if sentence else str(reason)


class _Why(NamedTuple):
    reason: Reason
    #: What Slurm says in the place of the reason's name; empty: nothing.
    sentence: str = ""
    #: Bitmap of the nodes that are named behind it.
    nodes: int = 0


def _why(state: ClusterState, job: Job) -> _Why:
    if not job.sort_key or job.alloc:
        if job.job_id in state.parked and job.limits is not None and job.reason in LIMIT_REASONS:
            return _Why(job.limits.reason(job) or job.reason)
        return _Why(job.reason, "" if job.records else _not_permitted(state, job))
    state.settle()
    records = [one for one in job.whole.records or (job,) if one.sort_key]
    excesses = [held_back(one) for one in records]
    for record, excess in zip(records, excesses, strict=True):
        if excess is None and (why := _why_queued(state, record)).reason is not Reason.PRIORITY:
            return why
    return _Why(Reason.PRIORITY if None in excesses else next(filter(None, excesses)).reason)


def _not_permitted(state: ClusterState, job: Job) -> str:
    """Say which of a partition's lists closes it to a job; empty: that is not why it waits."""
    part, accounts = job.partition, state.accounts
    if job.reason is Reason.QOS_NOT_ALLOWED:
        what, allowed, denied, qos = "QOS", part.allow_qos, part.deny_qos, accounts.qos_of(job)
        own = qos.name if qos else ""
    elif job.reason is Reason.ACCOUNT_NOT_ALLOWED:
        what, allowed, denied = "account", part.allow_accounts, part.deny_accounts
        own = accounts.association_of(job).account
    else:
        return ""
    how = f"allows {','.join(allowed)} not {own}" if allowed else f"denies {','.join(denied)} including {own}"
    return f"Job's {what} not permitted to use this partition ({part.name} {how})"


def _why_queued(state: ClusterState, job: Job) -> _Why:
    """Say why a job of the queue that nothing holds back has not started."""
    if state.reservations.takes_all(job):
        return _Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, Reserved for maintenance")
    is_behind, taken = _ahead(state, job)
    if not is_behind and is_short(state, job, taken):
        return _Why(Reason.RESOURCES, _TOO_FEW)
    if lacks_nodes(state, job, taken):
        if away := (state.down | taken) & (state.required_nodes(job) or job.partition.nodes):
            return _Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, UnavailableNodes:", away)
        return _Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, May be reserved for other job")
    return _Why(Reason.PRIORITY if is_behind else Reason.RESOURCES)


def _ahead(state: ClusterState, job: Job) -> tuple[bool, int]:
    """Say whether jobs before it keep the main pass from coming to a job of the queue.

    Returns:
        That; and, if they do not, the bitmap of the nodes that they take out of the available set.
    """
    stops = LIMIT_REASONS if state.settings.assoc_limit_stop else frozenset()
    mine = job.spec.reservation or job.partition.name
    blocked: set[str] = set()
    taken = 0
    for one in state.queue:
        if one is job:
            break
        excess = held_back(one) if one.restraints else None
        if excess is not None and excess.reason in state.held_in_queue:
            return True, 0
        partition, reservation = one.partition, one.spec.reservation
        if job.spec.reservation not in {"", reservation}:
            continue
        if (reservation or partition.name) in blocked or not partition.nodes & job.partition.nodes:
            continue
        if excess is not None and excess.reason not in stops:
            continue
        if reservation:
            blocked.add(reservation)
        elif excess is not None or holds_up(state, one, taken):
            blocked.add(partition.name)
            taken |= partition.nodes
        else:
            taken |= state.required_nodes(one)
        if mine in blocked:
            return True, 0
    return False, taken


def holds_up(state: ClusterState, job: Job, taken: int) -> bool:
    """Whether a job that has found no place holds up its partition.

    It does not if it asks for all its nodes by name, nor if its priority is too low for that, nor if it could not start
    even if no other job ran, unless it wants more nodes than there are.

    Args:
        state: The machine and its jobs.
        job: One that is in the queue, and in no reservation.
        taken: Bitmap of the nodes that jobs before it have taken out of the available set.
    """
    yields = job.priority < job.min_priority or state.required_nodes(job).bit_count() >= max(job.spec.min_nodes, 1)
    return is_short(state, job, taken) or not (yields or lacks_nodes(state, job, taken))


def is_short(state: ClusterState, job: Job, taken: int) -> bool:
    """Whether a job wants more nodes than are left of its partition, up and not taken out, unless it names them all."""
    left = (job.partition.nodes & ~(state.down | taken)).bit_count()
    return left < max(job.spec.min_nodes, 1) > state.required_nodes(job).bit_count()


def lacks_nodes(state: ClusterState, job: Job, taken: int) -> bool:
    """Whether a job could not start now even if no other ran: nodes are down, reserved or taken out.

    Nodes that it asks for by name are not taken out for it.
    """
    pool, closed = state.pool, state.reservations.closed(job, state.now, job.time_limit)
    closed |= taken & ~state.required_nodes(job)
    return bool(closed or state.down) and not pool.select(job, pool.without(pool.up, closed))
