"""Obstacles: why a pending job cannot be considered, and is parked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import PartitionState, Reason
from rota.model.association import QosFlag
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from rota.core.accounts.policy import AccountingPolicy
    from rota.core.job import Job
    from rota.core.queue.dependencies import JobDependencies
    from rota.core.queue.reservations import Reservations
    from rota.core.state import ClusterState
    from rota.model import Node, Partition

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


class Obstacles:
    """Tests whether pending jobs can be considered."""

    def __init__(
        self,
        *,
        state: ClusterState,
        policy: AccountingPolicy,
        dependencies: JobDependencies,
        reservations: Reservations,
    ) -> None:
        self._state = state
        #: The policy in force, to be set when limits are read again.
        self.policy = policy
        self._dependencies = dependencies
        self._reservations = reservations

    def test(self, job: Job) -> Reason | None:
        """Say why a pending job or queue record cannot be considered now; ``None``: it can.

        Its dependencies are tested again.
        """
        if job.priority == 0:
            return _why_held(job)
        if job.dependencies is not None and (reason := self._dependencies.test(job)) is not None:
            return reason
        return Reason.BEGIN_TIME if job.spec.begin_time > self._state.now else self.obstacle(job)

    def parking_reason(self, job: Job) -> Reason | None:
        """Give the same reason without testing dependencies."""
        if job.priority == 0:
            return _why_held(job)
        return Reason.BEGIN_TIME if job.spec.begin_time > self._state.now else self.obstacle(job)

    def obstacle(self, job: Job) -> Reason | None:
        """Give the same reason for a job that is not held, has no dependencies, and whose begin time has passed."""
        part, policy = job.partition, self.policy
        if part.allow_users is not None and is_user_excluded(job):
            return Reason.PARTITION_CONFIG
        if part.state in _PARTITION_CLOSED:
            return _PARTITION_CLOSED[part.state]
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
        if (part.allow_accounts or part.deny_accounts or part.allow_qos or part.deny_qos) and (
            reason := policy.access(job)
        ) is not None:
            return reason
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
        most = spec.max_nodes or (spec.num_tasks if spec.spread else 0)
        too_large = part.max_nodes is not None and max(least, most) > part.max_nodes
        is_wrong = too_large or (not job.units and _is_of_wrong_size(job))
        if is_wrong and not policy.exempts_from_partition(job, QosFlag.PARTITION_MAX_NODES):
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
        spec, part = job.spec, job.partition
        most, _ = part.most_memory(self._state.settings.most_memory)
        if not most:
            return False
        if spec.mem_per_cpu:
            return spec.mem_per_cpu * self._cpus_on_a_node(job) > most
        return (self._first_node(part).real_memory if spec.mem_per_node < 0 else spec.mem_per_node) > most

    def _first_node(self, part: Partition) -> Node:
        """Give the node by which Slurm knows how large the nodes of a partition are."""
        return self._state.nodes[next(iter(indices(part.nodes)))]

    def _cpus_on_a_node(self, job: Job) -> int:
        """Count the processors of a node with which memory per processor is compared with that of a node."""
        spec, part = job.spec, job.partition
        if spec.exclusive or part.exclusive:
            return self._first_node(part).cpus
        tasks = max(spec.ntasks_per_node, -(-spec.num_tasks // spec.max_nodes) if spec.max_nodes else 0, 1)
        return max(tasks * spec.cpus_per_task, spec.min_cpus_per_node)


def _is_of_wrong_size(job: Job) -> bool:
    """Whether a job asks for more nodes than its partition has, or for fewer than ``MinNodes``.

    If it asks for one partition only, ``MinNodes`` is the least that it asks for.
    """
    part, spec = job.partition, job.spec
    least = max(spec.min_nodes, 1) if job.whole.records else max(spec.min_nodes, part.min_nodes)
    return 0 < spec.max_nodes < part.min_nodes or not part.min_nodes <= least <= part.nodes.bit_count()


def _why_held(job: Job) -> Reason:
    """Give the reason of a held job."""
    return job.reason if job.reason in HELD else Reason.JOB_HELD_ADMIN


def is_user_excluded(job: Job) -> bool:
    """Whether a job's user is not in ``AllowGroups`` of its partition."""
    part = job.partition
    return part.allow_users is not None and not part.allows(job.user_name)
