"""Why a job waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core.limits.start_limits import LIMIT_REASONS
from rota.model import PartitionState, Reason
from rota.model.association import QosFlag

if TYPE_CHECKING:
    from rota.core.accounts.charging import Accounts
    from rota.core.accounts.policy import AccountingPolicy
    from rota.core.job import Job
    from rota.core.queue.dependencies import DependencyBook
    from rota.core.queue.job_queue import JobQueue
    from rota.core.queue.reservations import ReservationBook
    from rota.core.state import ClusterState

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


class Why(NamedTuple):
    """Why a job is where it is, as people are told."""

    reason: Reason
    #: What Slurm says in the place of the reason's name; empty: nothing.
    sentence: str = ""
    #: Bitmap of the nodes that are named behind it.
    nodes: int = 0


class Reasons:
    """Tells why jobs wait; it needs to know all that they may wait for."""

    def __init__(
        self,
        *,
        state: ClusterState,
        queue: JobQueue,
        accounts: Accounts,
        policy: AccountingPolicy,
        dependencies: DependencyBook,
        reservations: ReservationBook,
    ) -> None:
        self._state = state
        self._queue = queue
        self._accounts = accounts
        #: What is in force; whoever reads limits anew sets it.
        self.policy = policy
        self._dependencies = dependencies
        self._reservations = reservations

    # ---- of jobs that must not be considered ------------------------------------------------------------------

    def look(self, job: Job) -> Reason | None:
        """Say why a waiting job, or one of its queue records, must not be considered now; ``None``: it may be.

        What it depends on is looked at anew.
        """
        if job.priority and job.dependencies is not None and (reason := self._dependencies.look(job)) is not None:
            return reason
        return self.parks(job)

    def parks(self, job: Job) -> Reason | None:
        """Say the same of a job that waits for no others."""
        if job.priority == 0:
            return job.reason if job.reason in HELD else Reason.JOB_HELD_ADMIN
        part, policy = job.partition, self.policy
        if not job.units or (part.allow_users is not None and is_shut_out(job)):
            return Reason.PARTITION_CONFIG
        if part.state is not PartitionState.UP and part.state in _PARTITION_CLOSED:
            return _PARTITION_CLOSED[part.state]
        if policy.restricts and (reason := policy.access(job)) is not None:
            return reason
        if (part.max_time is not None or part.max_nodes is not None) and (
            reason := self.beyond_partition(job)
        ) is not None:
            return reason
        if job.spec.begin_time > self._state.now:
            return Reason.BEGIN_TIME
        if job.spec.reservation and (reason := self._reservations.reason(job)) is not None:
            return reason
        if job.limits is not None and (excess := job.limits.never(job)) is not None:
            return excess.reason
        return None

    def beyond_partition(self, job: Job) -> Reason | None:
        """Say which limit of its partition a job is beyond, if its QOS does not let it; ``None``: none."""
        part, policy = job.partition, self.policy
        too_long = part.max_time is not None and job.time_limit > part.max_time
        if too_long and not policy.goes_beyond_partition(job, QosFlag.PARTITION_TIME_LIMIT):
            return Reason.PARTITION_TIME_LIMIT
        least = self._state.pool.least_nodes(job) if part.max_nodes is not None else 0
        too_large = part.max_nodes is not None and max(least, job.spec.max_nodes) > part.max_nodes
        if too_large and not policy.goes_beyond_partition(job, QosFlag.PARTITION_MAX_NODES):
            return Reason.PARTITION_NODE_LIMIT
        return None

    # ---- of all jobs ------------------------------------------------------------------------------------------

    def of(self, job: Job) -> Reason:
        """Say why a job is where it is.

        In the queue it follows from the order, so it costs nothing until somebody asks: a job that is held back waits
        for what holds it back; of the others those that the main pass comes to wait for Resources or for nodes that are
        not available, and all else for Priority.
        """
        return self.why(job).reason

    def why(self, job: Job) -> Why:
        """Say the same with what ``squeue`` tells besides."""
        if not job.is_queued:
            if job.job_id in self._queue.parked and job.limits is not None and job.reason in LIMIT_REASONS:
                return Why(job.limits.reason(job) or job.reason)
            return Why(job.reason, "" if job.records else self._not_permitted(job))
        records = [one for one in job.whole.records or (job,) if one.sort_key]
        excesses = [one.held_back() for one in records]
        for record, excess in zip(records, excesses, strict=True):
            if excess is None and (why := self._why_queued(record)).reason is not Reason.PRIORITY:
                return why
        return Why(Reason.PRIORITY if None in excesses else next(filter(None, excesses)).reason)

    def _not_permitted(self, job: Job) -> str:
        """Say which of a partition's lists closes it to a job; empty: that is not why it waits."""
        part, accounts = job.partition, self._accounts
        if job.reason is Reason.QOS_NOT_ALLOWED:
            what, allowed, denied, qos = "QOS", part.allow_qos, part.deny_qos, accounts.qos_of(job)
            own = qos.name if qos else ""
        elif job.reason is Reason.ACCOUNT_NOT_ALLOWED:
            what, allowed, denied = "account", part.allow_accounts, part.deny_accounts
            own = accounts.account_of(job)
        else:
            return ""
        how = f"allows {','.join(allowed)} not {own}" if allowed else f"denies {','.join(denied)} including {own}"
        return f"Job's {what} not permitted to use this partition ({part.name} {how})"

    def _why_queued(self, job: Job) -> Why:
        """Say why a queued job that nothing holds back has not started."""
        state = self._state
        if self._reservations.takes_all(job):
            return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, Reserved for maintenance")
        is_behind, taken = self._ahead(job)
        if not is_behind and self.is_short(job, taken):
            return Why(Reason.RESOURCES, _TOO_FEW)
        if self.lacks_nodes(job, taken):
            if away := (state.down | taken) & (state.required_nodes(job) or job.partition.nodes):
                return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, UnavailableNodes:", away)
            return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, May be reserved for other job")
        return Why(Reason.PRIORITY if is_behind else Reason.RESOURCES)

    def _ahead(self, job: Job) -> tuple[bool, int]:
        """Say whether jobs before it keep the main pass from coming to a queued job.

        Returns:
            That; and, if they do not, the bitmap of the nodes that they take out of the available set.
        """
        stops = LIMIT_REASONS if self._state.settings.assoc_limit_stop else frozenset()
        mine = job.spec.reservation or job.partition.name
        blocked: set[str] = set()
        taken = 0
        for one in self._queue.queued:
            if one is job:
                break
            excess = one.held_back() if one.start_limits else None
            if excess is not None and excess.reason in self._queue.planned_reasons:
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
            elif excess is not None or self.holds_up(one, taken):
                blocked.add(partition.name)
                taken |= partition.nodes
            else:
                taken |= self._state.required_nodes(one)
            if mine in blocked:
                return True, 0
        return False, taken

    # ---- what the main pass goes by ---------------------------------------------------------------------------

    def holds_up(self, job: Job, taken: int) -> bool:
        """Whether a job that has found no place holds up its partition.

        It does not if it asks for all its nodes by name, nor if its priority is too low for that, nor if it could not
        start even if no other job ran, unless it wants more nodes than there are.

        Args:
            job: A queued job, in no reservation.
            taken: Bitmap of the nodes that jobs before it have taken out of the available set.
        """
        if self.is_short(job, taken):
            return True
        if job.limits is not None and job.priority < job.min_priority:
            return False
        if job.spec.required_nodes and self._state.required_nodes(job).bit_count() >= max(job.spec.min_nodes, 1):
            return False
        return not self.lacks_nodes(job, taken)

    def is_short(self, job: Job, taken: int) -> bool:
        """Whether a job wants more nodes than are left of its partition, up and not taken out, unless it names all."""
        left = (job.partition.nodes & ~(self._state.down | taken)).bit_count()
        least = max(job.spec.min_nodes, 1)
        return left < least and self._state.required_nodes(job).bit_count() < least

    def lacks_nodes(self, job: Job, taken: int) -> bool:
        """Whether a job could not start now even if no other ran: nodes are down, reserved or taken out.

        Nodes that it asks for by name are not taken out for it.
        """
        state, book = self._state, self._reservations
        closed = taken and taken & ~state.required_nodes(job)
        if book.all:
            closed |= book.closed(job, state.now, job.time_limit)
        return bool(closed or state.down) and not state.pool.select(job, state.pool.without(state.pool.up, closed))


def is_shut_out(job: Job) -> bool:
    """Whether a job's user is in no group that its partition is for."""
    part = job.partition
    return part.allow_users is not None and not part.lets_in(job.user_name)
