"""Reasons: why a job is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core.limits.start_limits import LIMIT_REASONS
from rota.model import PartitionState, Reason
from rota.model.association import QosFlag
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core.accounts.charging import Accounts
    from rota.core.accounts.policy import AccountingPolicy
    from rota.core.job import Job
    from rota.core.queue.dependencies import JobDependencies
    from rota.core.queue.job_queue import JobQueue
    from rota.core.queue.reservations import Reservations
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
    """A reason with its details."""

    reason: Reason
    #: Sentence that Slurm shows in place of the reason; empty: none.
    sentence: str = ""
    #: Bitmap of the nodes listed after it.
    nodes: int = 0


class Reasons:
    """Gives the reasons of pending jobs."""

    def __init__(
        self,
        *,
        state: ClusterState,
        queue: JobQueue,
        accounts: Accounts,
        policy: AccountingPolicy,
        dependencies: JobDependencies,
        reservations: Reservations,
    ) -> None:
        self._state = state
        self._queue = queue
        self._accounts = accounts
        #: The policy in force, to be set when limits are read again.
        self.policy = policy
        self._dependencies = dependencies
        self._reservations = reservations

    # ---- jobs that cannot be considered -----------------------------------------------------------------------

    def test(self, job: Job) -> Reason | None:
        """Say why a pending job or queue record cannot be considered now; ``None``: it can.

        Its dependencies are tested again.
        """
        if job.priority == 0:
            return _why_held(job)
        if job.dependencies is not None and (reason := self._dependencies.test(job)) is not None:
            return reason
        return self.obstacle(job)

    def parking_reason(self, job: Job) -> Reason | None:
        """Give the same reason without testing dependencies."""
        return self.obstacle(job) if job.priority else _why_held(job)

    def obstacle(self, job: Job) -> Reason | None:
        """Give the same reason for a job that is not held and has no dependencies."""
        part, policy = job.partition, self.policy
        if part.allow_users is not None and is_user_excluded(job):
            return Reason.PARTITION_CONFIG
        if part.state in _PARTITION_CLOSED:
            return _PARTITION_CLOSED[part.state]
        if policy.restricts and (reason := policy.access(job)) is not None:
            return reason
        if job.spec.reservation and (reason := self._reservations.reason(job)) is not None:
            return reason
        if not job.units and self._asks_too_many_cpus(job):
            return Reason.PARTITION_CONFIG
        if (
            not job.units
            or part.max_time is not None
            or part.max_nodes is not None
            or part.max_mem_per_node
            or self._state.settings.most_memory[0]
        ) and (reason := self.exceeded_partition_limit(job)) is not None:
            return reason
        if job.spec.begin_time > self._state.now:
            return Reason.BEGIN_TIME
        if job.limits is not None and (excess := job.limits.exceeded_alone(job)) is not None:
            return excess.reason
        return None if job.units else Reason.BAD_CONSTRAINTS

    def _asks_too_many_cpus(self, job: Job) -> bool:
        """Whether the tasks of a job need more processors than all nodes of its partition have."""
        spec, nodes = job.spec, self._state.nodes
        asked = (spec.num_tasks or 1) * spec.cpus_per_task if spec.cpus_per_gpu else spec.num_cpus
        return asked > sum(nodes[index].cpus for index in indices(job.partition.nodes))

    def exceeded_partition_limit(self, job: Job) -> Reason | None:
        """Say which limit of its partition a job exceeds, unless its QOS exempts it; ``None``: none."""
        part, policy, spec = job.partition, self.policy, job.spec
        least = self._state.pool.least_nodes(job) if part.max_nodes is not None and job.units else spec.min_nodes
        too_large = part.max_nodes is not None and max(least, spec.max_nodes) > part.max_nodes
        impossible = not job.units and (0 < spec.max_nodes < part.min_nodes or spec.min_nodes > part.nodes.bit_count())
        if (too_large or impossible) and not policy.exempts_from_partition(job, QosFlag.PARTITION_MAX_NODES):
            return Reason.PARTITION_NODE_LIMIT
        too_long = part.max_time is not None and self.is_too_long(job)
        if too_long and (spec.time_min is None or spec.time_min > (part.max_time or 0)):
            return Reason.PARTITION_TIME_LIMIT
        return Reason.MAX_MEM_PER_LIMIT if self._has_too_much_memory(job) else None

    def is_too_long(self, job: Job) -> bool:
        """Whether a job's time limit is above that of its partition, unless its QOS exempts it."""
        most = job.partition.max_time
        too_long = most is not None and job.time_limit > most
        return too_long and not self.policy.exempts_from_partition(job, QosFlag.PARTITION_TIME_LIMIT)

    def _has_too_much_memory(self, job: Job) -> bool:
        """Whether a job asks for more memory on a node than its partition allows."""
        spec = job.spec
        most, _ = job.partition.most_memory(self._state.settings.most_memory)
        cpus = max(spec.min_cpus_per_node, spec.cpus_per_task)
        return bool(most) and max(spec.mem_per_node, spec.mem_per_cpu * cpus) > most

    # ---- all jobs ---------------------------------------------------------------------------------------------

    def of(self, job: Job) -> Reason:
        """Give the reason of a job.

        For jobs in the queue it is derived from the order when it is asked for. A job that a limit holds back has that
        limit's reason. Of the others, those that the main pass would test have the reason Resources, or that of
        unavailable nodes; the rest have Priority.
        """
        return self.why(job).reason

    def of_all(self) -> Iterator[tuple[Job, Reason]]:
        """Give the reasons of all pending jobs, in less time than one by one.

        Jobs come in queue order. If one is behind a job that blocks its partition, so are all later ones of that
        partition, which need not be looked for again.
        """
        behind: set[str] = set()
        for job in self._queue.waiting():
            yield job, self.why(job, behind).reason
        for job in self._queue.parked.values():
            yield job, self.of(job)

    def why(self, job: Job, behind: set[str] | None = None) -> Why:
        """Give the reason of a job, with the details that ``squeue`` shows.

        Args:
            job: The job.
            behind: Partitions in which this job and later ones are known to be behind one that blocks them; those that
                are found out are added.
        """
        if not job.is_queued:
            if job.job_id in self._queue.parked and job.limits is not None and job.reason in LIMIT_REASONS:
                return Why(job.limits.reason(job) or job.reason)
            return Why(job.reason, "" if job.records else self._not_permitted(job))
        if any(self._is_shut_out(one) for one in job.whole.records):
            return Why(Reason.PARTITION_CONFIG)
        records = [one for one in job.whole.records or (job,) if one.sort_key]
        excesses = [one.held_back() for one in records]
        for record, excess in zip(records, excesses, strict=True):
            if excess is None and (why := self._why_queued(record, behind)).reason is not Reason.PRIORITY:
                return why
        return Why(Reason.PRIORITY if None in excesses else next(filter(None, excesses)).reason)

    def _is_shut_out(self, job: Job) -> bool:
        """Whether a record can never run in its partition, or its account or QOS may not use it."""
        return not job.units or self.policy.access(job) is not None

    def _not_permitted(self, job: Job) -> str:
        """Give the sentence about the list of a partition that excludes a job; empty: none does."""
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

    def _why_queued(self, job: Job, behind: set[str] | None) -> Why:
        """Say why a job in the queue that no limit holds back has not started."""
        state, partition = self._state, "" if job.spec.reservation else job.partition.name
        if self._reservations.reserves_all(job):
            return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, Reserved for maintenance")
        is_behind, taken = (True, 0) if behind and partition in behind else self._ahead(job)
        # A record may come before other jobs of its partition that are asked about later.
        if is_behind and behind is not None and partition and job is job.whole and not job.records:
            behind.add(partition)
        if not is_behind and self.lacks_partition_nodes(job, taken):
            return Why(Reason.RESOURCES, _TOO_FEW)
        if self.lacks_available_nodes(job, taken):
            if away := (state.down | taken) & (state.required_nodes(job) or job.partition.nodes):
                return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, UnavailableNodes:", away)
            return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, May be reserved for other job")
        return Why(Reason.PRIORITY if is_behind else Reason.RESOURCES)

    def _ahead(self, job: Job) -> tuple[bool, int]:
        """Determine whether jobs before a queued one block it in the main pass.

        Returns:
            Whether they do; if not, the bitmap of the nodes that the main pass has set aside for them.
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
            elif excess is not None or self.blocks_partition(one, taken):
                blocked.add(partition.name)
                taken |= partition.nodes
            else:
                taken |= self._state.required_nodes(one)
            if mine in blocked:
                return True, 0
        return False, taken

    # ---- rules of the main pass -------------------------------------------------------------------------------

    def blocks_partition(self, job: Job, taken: int) -> bool:
        """Whether a job that does not fit blocks its partition.

        It does not if it asks for all its nodes by name, if its priority is too low, or if it could not start even if
        no other job ran, unless it asks for more nodes than exist.

        Args:
            job: A queued job without reservation.
            taken: Bitmap of the nodes set aside for jobs before it.
        """
        if self.lacks_partition_nodes(job, taken):
            return True
        if job.limits is not None and job.priority < job.min_priority:
            return False
        if job.spec.required_nodes and self._state.required_nodes(job).bit_count() >= max(job.spec.min_nodes, 1):
            return False
        return not self.lacks_available_nodes(job, taken)

    def lacks_partition_nodes(self, job: Job, taken: int) -> bool:
        """Whether a job needs more nodes of its partition than are up and not set aside, unless it names them all."""
        left = (job.partition.nodes & ~(self._state.down | taken)).bit_count()
        least = max(job.spec.min_nodes, 1)
        return left < least and self._state.required_nodes(job).bit_count() < least

    def lacks_available_nodes(self, job: Job, taken: int) -> bool:
        """Whether a job could not start now even if no other ran, as nodes are down, reserved or set aside.

        Nodes that it asks for by name are not set aside for it.
        """
        state, book = self._state, self._reservations
        closed = taken and taken & ~state.required_nodes(job)
        if book.all:
            closed |= book.closed(job, state.now, job.time_limit)
        return bool(closed or state.down) and not state.pool.select(job, state.pool.without(state.pool.up, closed))


def _why_held(job: Job) -> Reason:
    """Give the reason of a held job."""
    return job.reason if job.reason in HELD else Reason.JOB_HELD_ADMIN


def is_user_excluded(job: Job) -> bool:
    """Whether a job's user is not in ``AllowGroups`` of its partition."""
    part = job.partition
    return part.allow_users is not None and not part.allows(job.user_name)
