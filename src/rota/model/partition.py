"""Partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from rota.model.read_only import ReadOnlyDict, read_only, write

#: Largest number of jobs that may share a core.
MAX_SHARE = 64


class PartitionState(Enum):
    """Slurm's partition states."""

    #: Jobs are accepted and started.
    UP = "UP"
    #: Jobs are accepted, and not started.
    DOWN = "DOWN"
    #: No jobs are accepted; pending ones are started.
    DRAIN = "DRAIN"
    #: Jobs are neither accepted nor started.
    INACTIVE = "INACTIVE"

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__


@read_only("partitions are changed by `scontrol update`")
@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition: a job queue with nodes and limits. A node may be in several partitions."""

    name: str
    #: Nodes, a bitmap over the configuration's nodes.
    nodes: int
    state: PartitionState = PartitionState.UP
    default: bool = False
    #: Largest time limit in seconds; ``None``: UNLIMITED.
    max_time: int | None = None
    #: Time limit in seconds of jobs that ask for none; ``None``: ``max_time``.
    default_time: int | None = None
    min_nodes: int = 0
    #: Largest number of nodes of a job; ``None``: UNLIMITED.
    max_nodes: int | None = None
    #: Jobs in partitions of a higher tier are all considered first.
    priority_tier: int = 1
    priority_job_factor: int = 1
    #: Name of the partition's QOS; empty: none.
    qos: str = ""
    #: ``TRESBillingWeights`` by TRES name, memory per MiB; empty: CPUs are billed.
    billing_weights: Mapping[str, float] = field(default_factory=dict)
    #: Default memory per processor and per node in MiB, for jobs that ask for none; 0: not set.
    def_mem_per_cpu: int = 0
    def_mem_per_node: int = 0
    #: Default processors and memory in MiB for each GPU, for jobs that ask for none; 0: not set.
    def_cpu_per_gpu: int = 0
    def_mem_per_gpu: int = 0
    #: Largest memory for each processor and on each node in MiB, and processors of a node that its jobs may have in
    #: all; 0: no bound.
    max_mem_per_cpu: int = 0
    max_mem_per_node: int = 0
    max_cpus_per_node: int = 0
    #: ``SelectTypeParameters`` in place of the cluster's, in capitals; empty: those of the cluster.
    select_parameters: str = ""
    #: Whether only root may submit jobs to it, and whether its jobs must be in a reservation.
    root_only: bool = False
    req_resv: bool = False
    #: Whether jobs get whole nodes (``OverSubscribe=EXCLUSIVE``).
    exclusive: bool = False
    #: Largest number of jobs that share a core (``OverSubscribe=YES:n``, ``FORCE:n``), and whether all jobs share or
    #: only those that ask for it.
    max_share: int = 1
    force_share: bool = False
    #: Whether the least loaded nodes are allocated first (``LLN``).
    least_loaded: bool = False
    #: Seconds between the preemption of a job and the kill.
    grace_time: int = 0
    #: Seconds that a job may run beyond its time limit; ``None``: UNLIMITED.
    over_time_limit: int | None = 0
    #: Names of the users in ``AllowGroups``; ``None``: all users may use the partition. Root always may.
    allow_users: frozenset[str] | None = None
    #: These groups, as written.
    allow_groups: tuple[str, ...] = ()
    #: Lower-case names of the accounts and QOS that may use the partition; empty: all. The lists of those denied count
    #: only where the list of those allowed is empty.
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    #: Options of slurm.conf that rota does not use, by lower-case key.
    options: Mapping[str, str] = field(default_factory=dict)
    #: Names of the attributes that an administrator has set in place of slurm.conf's, until this is read again; and
    #: whether the partition was created so, and is not in slurm.conf. The state is kept anyway.
    set_fields: frozenset[str] = frozenset()
    created: bool = False

    @property
    def node_sets(self) -> tuple[str, ...]:
        """The node sets among its nodes, in the order of the configuration."""
        return tuple(filter(None, self.options.get("nodesets", "").split(",")))

    def __post_init__(self) -> None:
        """Keep the dictionaries from being written to."""
        write(self, billing_weights=ReadOnlyDict(self.billing_weights), options=ReadOnlyDict(self.options))

    def default_memory(self, otherwise: tuple[int, int]) -> tuple[int, int]:
        """Give the default memory per node and per processor in MiB: one of them is 0, both where there is none.

        Args:
            otherwise: That of the cluster, for a partition without one of its own.
        """
        return _one_of(self.def_mem_per_node, self.def_mem_per_cpu, otherwise)

    def most_memory(self, otherwise: tuple[int, int]) -> tuple[int, int]:
        """Give the largest memory per node and per processor in MiB: one of them is 0, both where there is no bound.

        Args:
            otherwise: That of the cluster, for a partition without one of its own.
        """
        return _one_of(self.max_mem_per_node, self.max_mem_per_cpu, otherwise)

    def allows(self, user: str) -> bool:
        """Whether a user may use the partition, as ``AllowGroups`` says."""
        return self.allow_users is None or user in self.allow_users or user == "root"


def _one_of(per_node: int, per_cpu: int, otherwise: tuple[int, int]) -> tuple[int, int]:
    """Give memory per node or, if it is set, per processor; the other is 0. If neither is set, the cluster's count."""
    if not per_node and not per_cpu:
        per_node, per_cpu = otherwise
    return (0, per_cpu) if per_cpu else (per_node, 0)
