"""Partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

#: Largest number of jobs that can have a core at a time.
MAX_SHARE = 64


class PartitionState(Enum):
    """Slurm's partition states."""

    #: Accepts and starts jobs.
    UP = "UP"
    #: Accepts jobs and does not start them.
    DOWN = "DOWN"
    #: Accepts no jobs and starts those that it has.
    DRAIN = "DRAIN"
    #: Neither.
    INACTIVE = "INACTIVE"


@dataclass(slots=True, kw_only=True)
class Partition:
    """A queue with its nodes and limits. Partitions may share nodes."""

    name: str
    #: Bitmap over the configuration's nodes.
    nodes: int
    state: PartitionState = PartitionState.UP
    default: bool = False
    #: Seconds; ``None`` is UNLIMITED.
    max_time: int | None = None
    #: Seconds, for jobs that ask for no time; ``None``: ``max_time``.
    default_time: int | None = None
    min_nodes: int = 0
    #: ``None`` is UNLIMITED.
    max_nodes: int | None = None
    #: All jobs of a higher tier come before those of a lower.
    priority_tier: int = 1
    priority_job_factor: int = 1
    #: The partition's own QOS; empty: none.
    qos: str = ""
    #: ``TRESBillingWeights`` by TRES name, memory for one MiB; empty: CPUs are billed.
    billing_weights: Mapping[str, float] = field(default_factory=dict)
    #: MiB that a job gets which asks for no memory; 0: not set.
    def_mem_per_cpu: int = 0
    def_mem_per_node: int = 0
    #: Jobs get whole nodes (``OverSubscribe=EXCLUSIVE``).
    exclusive: bool = False
    #: How many jobs may have a core at a time, of those that share (``OverSubscribe=YES:n``, ``FORCE:n``), and whether
    #: all do, or only those that ask for it.
    max_share: int = 1
    force_share: bool = False
    #: Jobs get the nodes that are least loaded (``LLN``).
    least_loaded: bool = False
    #: Seconds between the notice and the end of a preempted job.
    grace_time: int = 0
    #: Seconds that a job whose time limit is over may go on; ``None`` is UNLIMITED.
    over_time_limit: int | None = 0
    #: Names of the users who are in its ``AllowGroups``; root may always use it. ``None``: all may.
    allow_users: frozenset[str] | None = None
    #: Names of the accounts and QOS whose jobs may run here, in small letters; empty: all. Those denied are looked at
    #: where none are allowed by name.
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    #: Options of slurm.conf that nothing reads yet, by lower-case key.
    options: dict[str, str] = field(default_factory=dict)

    def lets_in(self, user: str) -> bool:
        """Whether a user is in one of its groups."""
        return self.allow_users is None or user in self.allow_users or user == "root"
