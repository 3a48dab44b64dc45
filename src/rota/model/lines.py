"""Snapshots of a cluster's records, as ``squeue``, ``sinfo``, ``scontrol``, ``sshare`` and ``sdiag`` show them.

A line is a copy of a record at one moment and never changes. Times are Unix seconds, durations seconds, memory MiB.
Nodes are given by name, in the order of slurm.conf; listings fold them into hostlists.

Over 400 lines: one record for each thing that is listed, and no behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rota.model.job_spec import JobSpec

if TYPE_CHECKING:
    from rota.model.association import Association

_V = TypeVar("_V", int, float)


def counts(items: Mapping[str, _V]) -> Mapping[str, _V]:
    """Give a read-only view of counts by name."""
    return MappingProxyType(dict(items))


NO_COUNTS: Mapping[str, int] = counts({})


def _nothing() -> Mapping[str, int]:
    return NO_COUNTS


class JobLine(NamedTuple):
    """A job, or all pending tasks of a job array together; for the request see `JobSpec`.

    A named tuple, since a listing makes tens of thousands.
    """

    job_id: int
    #: Job name; empty: none.
    name: str
    #: User name, or the user id where no name is known.
    user: str
    user_id: int
    account: str
    qos: str
    #: While the job is pending, all partitions in which it may run, joined by commas.
    partition: str
    #: State as ``squeue`` shows it, long and compact: PENDING and PD, RESV_DEL_HOLD and RD.
    state: str
    state_compact: str
    #: Slurm's base state.
    base_state: str
    #: Why the job is pending, or ended as it did: Slurm's reason.
    reason: str
    #: Priority; 0: the job is held.
    priority: int
    nice: int
    submit_time: int
    eligible_time: int | None
    #: ``None``: the job has not started.
    start_time: int | None
    #: While the job runs, its expected end.
    end_time: int | None
    #: ``None``: no time limit.
    time_limit: int | None
    #: What is allocated to the job or, while it is pending, the least that it needs.
    num_nodes: int
    num_cpus: int

    #: Job id of the job array, and the task id; for pending tasks together, all their ids in brackets.
    array_job_id: int | None = None
    array_task: str = ""
    #: The name under which associations have the user.
    assoc_user: str = ""
    group_id: int = 0
    #: Whether the job has been stopped and still holds its resources.
    completing: bool = False
    #: A sentence that is shown instead of the reason, or empty; and the nodes that are listed after it.
    reason_sentence: str = ""
    reason_nodes: tuple[str, ...] = ()
    #: Exit code of the script, and the signal that ended it; 0: none.
    exit_code: int = 0
    signal: int = 0
    #: Number of times that the job was requeued.
    restart_count: int = 0
    #: Unsatisfied dependencies, as ``squeue -o %E`` shows them; empty: none.
    dependency: str = ""
    #: Whether an administrator has set the priority.
    direct: bool = False
    #: Planned start and nodes; ``None`` and empty: not planned, or left open.
    planned_start: int | None = None
    planned_nodes: tuple[str, ...] = ()
    #: Seconds for which this run was suspended before; and since when it is suspended now, ``None``: it is not.
    suspended: int = 0
    suspended_since: int | None = None
    #: Counts by TRES, without zeros.
    tres_requested: Mapping[str, int] = NO_COUNTS
    tres_allocated: Mapping[str, int] = NO_COUNTS
    nodes: tuple[str, ...] = ()
    #: The request as it is now.
    request: JobSpec = JobSpec()

    @property
    def shown_id(self) -> str:
        """The job id as listings show it: ``17``, ``17_2``, ``17_[3-5%2]``."""
        return str(self.job_id) if self.array_job_id is None else f"{self.array_job_id}_{self.array_task}"

    @property
    def pending(self) -> bool:
        """Whether the job is pending."""
        return self.base_state == "PENDING"

    @property
    def expected_start(self) -> int | None:
        """The start or, for a pending job, the planned start if there is one."""
        return self.planned_start if self.start_time is None else self.start_time

    def time_used(self, now: int) -> int:
        """Give the seconds for which the job has run, without the time for which it was suspended."""
        if self.start_time is None or self.pending:
            return 0
        end = now if self.end_time is None or self.base_state in {"RUNNING", "SUSPENDED"} else self.end_time
        if self.suspended_since is not None:
            end = self.suspended_since
        return max(end - self.start_time - self.suspended, 0)

    def reason_text(self, fold: Callable[[tuple[str, ...]], str]) -> str:
        """Give the reason as ``squeue`` shows it.

        Args:
            fold: Makes a hostlist of node names.
        """
        return self.reason_sentence + fold(self.reason_nodes) if self.reason_sentence else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLine:
    """What a job has of one node."""

    node: str
    cpus: int
    #: 0 where memory is no consumable resource.
    memory: int = 0
    #: Number of GRES by kind: ``gpu``, ``gpu:tesla``.
    gres: Mapping[str, int] = field(default_factory=_nothing)
    #: Which processors, numbered core by core and socket by socket; empty: only their number is known.
    processors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """A record of the job queue: a job in one of its partitions."""

    job_id: int
    #: Name under which associations have the user.
    user: str
    account: str
    partition: str
    #: ``PriorityTier`` of the partition.
    tier: int
    priority: int
    #: Whether the job only waits for resources, or for licences that the scheduler plans.
    is_candidate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingLimit:
    """A limit that keeps a job from starting, whatever resources are free."""

    #: Owner of the limit: ``QOS long``, ``account phys``, ``user ann of account phys``, ``cluster`` for licences,
    #: ``array 7``.
    whose: str
    #: Name of the limit as users write it: ``GrpTRES=cpu``, ``Licenses=matlab``.
    name: str
    most: float
    #: How much of the limit is used, and how much the job would add.
    used: float
    asked: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """A job's position in the queue; with several partitions, in the one in which it comes first."""

    #: The job as listed in that partition.
    job: JobLine
    partition: str
    tier: int
    #: Number of processors that the job asks for.
    num_cpus: int
    #: Earliest planned start of the job in any of its partitions; ``None``: not planned.
    planned_start: int | None
    #: Position among the jobs of the queue, from 1; 0: the job is not in the queue.
    place: int
    #: Number of jobs in the queue.
    queue_length: int
    #: All records before the job's, in queue order.
    ahead: tuple[QueueLine, ...]
    #: The limit, licence or array throttle that keeps the job from starting, if there is one.
    held_by: BlockingLimit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLine:
    """A pending job with a planned start."""

    job_id: int
    #: Position in the queue, from 1.
    place: int
    start: int
    #: Number of processors planned on all nodes together.
    num_cpus: int
    #: Planned nodes, a bitmap over the configuration's nodes; 0: left open.
    nodes: int
    #: Slurm's reason.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node."""

    name: str
    #: State as ``sinfo`` shows it: IDLE, MIXED, ALLOCATED, COMPLETING, DRAINING, DRAINED, FAILING, FAIL, DOWN, MAINT,
    #: RESERVED or PLANNED; with ``$`` at the end during maintenance, and ``+`` if jobs are completing on a node that
    #: others have allocated.
    state: str
    #: Slurm's base state, and its flags: COMPLETING, DRAIN, FAIL, MAINTENANCE, PLANNED, RESERVED.
    base_state: str
    flags: tuple[str, ...] = ()
    #: Why the node is not up, who set this, and when (Unix seconds); empty: not given.
    reason: str = ""
    reason_uid: int = 0
    reason_time: int = 0
    #: Logical processors, and how many of them are allocated.
    cpus: int
    cpus_allocated: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    #: Memory; the allocated part is 0 where memory is no consumable resource.
    memory: int
    memory_allocated: int
    #: GRES as written: ``gpu:tesla:2``; and how many of each kind are allocated, by ``gpu`` and ``gpu:tesla``.
    gres: tuple[str, ...]
    gres_used: Mapping[str, int]
    features: tuple[str, ...]
    weight: int
    partitions: tuple[str, ...]
    #: What all of it is billed, by the ``TRESBillingWeights`` of its partitions.
    billing: int
    #: Ids of the jobs with an allocation on the node, ascending.
    jobs: tuple[int, ...]
    #: What the node's own system reports: load average, free memory, architecture and kernel; ``None`` and empty: it
    #: has not been heard of.
    load: float | None = None
    memory_free: int | None = None
    arch: str = ""
    system: str = ""
    #: Host name and address of the machine behind the node; empty: those of the node.
    host: str = ""
    address: str = ""
    port: int = 0
    #: Size of temporary disk space, MiB.
    tmp_disk: int = 0
    #: Texts of administrators.
    comment: str = ""
    extra: str = ""
    #: Release of its daemon, and when machine and daemon were started, Unix seconds; empty and 0: not known.
    version: str = ""
    boot_time: int = 0
    daemon_start_time: int = 0
    #: When the last job on it ended; 0: not known.
    last_busy: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """A partition. ``None`` means UNLIMITED unless a comment says otherwise."""

    name: str
    state: str
    default: bool
    nodes: tuple[str, ...]
    #: Counts by TRES, without zeros.
    tres: Mapping[str, int]
    max_time: int | None
    #: ``None``: the same as ``max_time``.
    default_time: int | None
    min_nodes: int
    max_nodes: int | None
    priority_tier: int
    priority_job_factor: int
    #: Name of the partition's QOS; empty: none.
    qos: str
    #: Whether jobs get whole nodes.
    exclusive: bool
    #: Largest number of jobs that share a core, and whether all jobs share or only those that ask for it.
    max_share: int
    force_share: bool
    least_loaded: bool
    grace_time: int
    over_time_limit: int | None
    #: Options of slurm.conf that only Slurm heeds, or that it has for this partition alone, by lower-case key.
    options: Mapping[str, str]
    #: Default memory of jobs that ask for none; 0: not set.
    def_mem_per_cpu: int
    def_mem_per_node: int
    #: Names of the users in ``AllowGroups``; ``None``: all users may use the partition.
    allow_users: tuple[str, ...] | None
    #: Names; empty: all are allowed, or none is denied.
    allow_accounts: tuple[str, ...]
    deny_accounts: tuple[str, ...]
    allow_qos: tuple[str, ...]
    deny_qos: tuple[str, ...]
    #: ``AllowGroups`` as written; empty: all.
    allow_groups: tuple[str, ...] = ()
    #: 0: not limited.
    max_mem_per_cpu: int = 0
    max_mem_per_node: int = 0
    max_cpus_per_node: int = 0
    #: Defaults for each GPU; 0: not set.
    def_cpu_per_gpu: int = 0
    def_mem_per_gpu: int = 0
    #: ``SelectTypeParameters``; empty: those of the cluster.
    select_parameters: str = ""
    root_only: bool = False
    req_resv: bool = False
    node_sets: tuple[str, ...] = ()
    billing_weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationLine:
    """An advance reservation, in its current or next occurrence."""

    name: str
    #: ACTIVE or INACTIVE.
    state: str
    start_time: int
    #: The first second that is not reserved any more.
    end_time: int
    nodes: tuple[str, ...]
    features: str
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    #: Names of flags.
    flags: tuple[str, ...]
    #: The partition of which it is; empty: none.
    partition: str = ""
    #: After how many seconds without jobs it ends, with the flag PURGE_COMP.
    purge_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenseLine:
    """One kind of licence and its counts."""

    name: str
    total: int
    used: int

    @property
    def free(self) -> int:
        """How many licences are free; negative if there are now fewer than jobs hold."""
        return self.total - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationLine:
    """An association, with usage and fair-share."""

    #: A copy of the engine's record.
    association: Association
    #: Depth in the tree; 0: the root.
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MainPassStatistics:
    """Main schedule statistics of ``sdiag``."""

    cycles: int
    #: Records in the queue at the last pass, and how many of them were tested.
    last_queue_length: int
    last_depth: int
    #: Records tested in all passes, and in a pass on average.
    depth: int
    mean_depth: float
    jobs_started: int
    #: Number of passes by the reason for which they ended.
    exits: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatistics:
    """Backfill statistics of ``sdiag``."""

    cycles: int
    #: Of the last cycle: records in the queue, jobs tested, and slots in the plan.
    last_queue_length: int
    last_depth: int
    last_table_size: int
    jobs_started: int
    #: Number of cycles by the reason for which they ended.
    exits: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillTimes:
    """How long cycles of backfill took, in microseconds, and what they did on average."""

    #: When the last one was made, Unix seconds.
    last_at: int
    last: int
    longest: int
    mean: int
    mean_depth: int
    mean_queue_length: int
    mean_table_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """How often something was asked, by a message of Slurm's or by a user, and how long the answers took in all."""

    name: str
    number: int
    count: int
    microseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a controller has done since it was started."""

    #: When that was, Unix seconds.
    since: int
    #: Number of jobs that were ``submitted``, ``started``, ``completed``, ``canceled`` and ``failed``.
    jobs: Mapping[str, int]
    #: Number of scheduling passes, and the times of the last and the longest one, and on average, microseconds.
    passes: int
    last_pass: int
    longest_pass: int
    mean_pass: int
    #: ``None``: no cycle of backfill was made.
    backfill: BackfillTimes | None = None
    calls: tuple[CallCount, ...] = ()
    calls_by_user: tuple[CallCount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The statistics of ``sdiag``."""

    now: int
    #: When the engine's clock began.
    boot_time: int
    #: Number of live jobs by base state; completing jobs count as COMPLETING.
    jobs: Mapping[str, int]
    #: Events handled and scheduling passes made since the engine started.
    events: int
    passes: int
    main: MainPassStatistics
    #: ``None``: the scheduler plugin has no backfill statistics.
    backfill: BackfillStatistics | None
    #: Number of plugin faults, by plugin and function: ``sched/easy: slurm_sched_p_schedule``.
    faults: Mapping[str, int]
    #: ``None``: there is no controller.
    activity: Activity | None = None
