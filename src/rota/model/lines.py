"""What people see of a cluster, line by line: what ``squeue``, ``sinfo``, ``scontrol``, ``sshare`` and ``sdiag`` show.

Lines are copies of one moment and never change. Times are Unix seconds, periods seconds, memory is MiB. Nodes are given
by name, in the order of slurm.conf: whoever sets text folds them into hostlists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.model.association import Association

_V = TypeVar("_V", int, float)


def counts(items: Mapping[str, _V]) -> Mapping[str, _V]:
    """Give counts by name that nobody can change."""
    return MappingProxyType(dict(items))


def _nothing() -> Mapping[str, int]:
    return counts({})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    """One job, or all tasks of a job array that wait together; see `JobSpec` for what it can ask for."""

    job_id: int
    #: Of a job array: its job id, and the task's own id or, of those that wait together, all of theirs in brackets.
    array_job_id: int | None = None
    array_task: str = ""
    #: Empty: it has none.
    name: str
    #: The user's name, or the number where none is known; and the name by which associations know the user.
    user: str
    assoc_user: str = ""
    user_id: int
    group_id: int = 0
    account: str
    qos: str
    #: While it waits all that it may run in, joined by commas.
    partition: str

    #: As ``squeue`` shows it, long and compact: PENDING and PD, RESV_DEL_HOLD and RD.
    state: str
    state_compact: str
    #: Slurm's base state.
    base_state: str
    #: It has been stopped, and its resources are not free yet.
    completing: bool = False
    #: Why it waits, or why it ended as it did: Slurm's word; the sentence that Slurm shows in its place, empty: none;
    #: and the nodes that are named behind that.
    reason: str
    reason_sentence: str = ""
    reason_nodes: tuple[str, ...] = ()
    exit_code: int = 0
    #: How often it was put back in the queue.
    restart_count: int = 0
    #: The jobs that it still waits for, as ``squeue -o %E`` shows them; empty: none.
    dependency: str = ""

    #: 0: it is held.
    priority: int
    #: An administrator has set the priority.
    direct: bool = False
    nice: int

    submit_time: int
    eligible_time: int | None
    #: Earliest start and latest end that it asks for; 0: any.
    begin_time: int = 0
    deadline: int = 0
    #: ``None``: it has not started.
    start_time: int | None
    #: While it runs the expected end.
    end_time: int | None
    #: When and where the scheduler means to start it; ``None`` and empty: that is not planned, or left open.
    planned_start: int | None = None
    planned_nodes: tuple[str, ...] = ()
    #: ``None``: it has none.
    time_limit: int | None
    #: With a limit as short as this backfill may start it; ``None``: with no shorter one.
    time_min: int | None = None

    #: What it has or, while it waits, needs at least.
    num_nodes: int
    num_cpus: int
    #: 0: not told.
    num_tasks: int = 0
    cpus_per_task: int = 1
    #: Whole numbers by TRES, without those of which there are none.
    tres_requested: Mapping[str, int] = field(default_factory=_nothing)
    tres_allocated: Mapping[str, int] = field(default_factory=_nothing)
    nodes: tuple[str, ...] = ()
    #: As users have written them; empty: none.
    features: str = ""
    prefer: str = ""
    gres: str = ""
    licenses: str = ""
    required_nodes: str = ""
    excluded_nodes: str = ""
    reservation: str = ""
    exclusive: bool = False
    oversubscribe: bool = False
    contiguous: bool = False
    #: ``None``: as ``JobRequeue`` of slurm.conf says.
    requeue: bool | None = None

    @property
    def shown_id(self) -> str:
        """The job id as people see it: ``17``, ``17_2``, ``17_[3-5%2]``."""
        return str(self.job_id) if self.array_job_id is None else f"{self.array_job_id}_{self.array_task}"

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.base_state == "PENDING"

    @property
    def expected_start(self) -> int | None:
        """When it started or, if that is planned, will start."""
        return self.planned_start if self.start_time is None else self.start_time

    def reason_text(self, fold: Callable[[tuple[str, ...]], str]) -> str:
        """Say why it waits or has ended as ``squeue`` does; ``fold`` makes a hostlist of names."""
        return self.reason_sentence + fold(self.reason_nodes) if self.reason_sentence else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One place in the queue: a job in one of its partitions."""

    job_id: int
    #: By which associations know the user.
    user: str
    account: str
    partition: str
    #: ``PriorityTier`` of the partition.
    tier: int
    priority: int
    #: Nothing but room for it is missing, or what the scheduler plans with: licences.
    is_candidate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBy:
    """A bound that keeps a job from starting although there may be room for it."""

    #: Whose: ``QOS long``, ``account phys``, ``user ann of account phys``, ``cluster`` for licences, ``array 7``.
    whose: str
    #: As users have written it: ``GrpTRES=cpu``, ``Licenses=matlab``.
    name: str
    most: float
    #: What counts already, and what the job would add.
    used: float
    asked: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a job stands in the queue: of several partitions in the one in which it comes first."""

    #: As the job reads in that partition.
    job: JobLine
    partition: str
    tier: int
    #: Processors that it asks for.
    num_cpus: int
    #: When the scheduler means to start it in any of its partitions; ``None``: that is not planned.
    planned_start: int | None
    #: Among the jobs, from 1; 0: it is not in the queue.
    place: int
    #: Jobs in the queue.
    queue_length: int
    #: All places before it, first in line first.
    ahead: tuple[QueueLine, ...]
    #: The limit, licence or array that holds it back, if one does.
    held_by: HeldBy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLine:
    """A job of the queue that is planned to start."""

    job_id: int
    #: In the queue, from 1.
    place: int
    start: int
    #: Processors that it is to get, all nodes together.
    num_cpus: int
    #: Bitmap over the configuration's nodes; 0: left open.
    nodes: int
    #: Slurm's word.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node."""

    name: str
    #: The word of ``sinfo``: IDLE, MIXED, ALLOCATED, COMPLETING, DRAINING, DRAINED, DOWN, MAINT, RESERVED or PLANNED,
    #: with ``$`` at its end in a maintenance, and ``+`` where jobs are completing beside those that have all of it.
    state: str
    #: Slurm's base state, and its flags: COMPLETING, DRAIN, MAINTENANCE, PLANNED, RESERVED.
    base_state: str
    flags: tuple[str, ...] = ()
    #: Why it is not up, who said so, and when, Unix seconds; empty: nobody has said.
    reason: str = ""
    reason_uid: int = 0
    reason_time: int = 0
    #: Logical processors, and how many of them jobs hold.
    cpus: int
    cpus_allocated: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    #: Allocated is 0 where memory is not given out.
    memory: int
    memory_allocated: int
    #: As written: ``gpu:tesla:2``; and how many of each kind jobs hold: ``gpu``, ``gpu:tesla``.
    gres: tuple[str, ...]
    gres_used: Mapping[str, int]
    features: tuple[str, ...]
    weight: int
    partitions: tuple[str, ...]
    #: Ids of the jobs that hold something of it, ascending.
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """One partition; ``None`` is UNLIMITED, where nothing else is said."""

    name: str
    state: str
    default: bool
    nodes: tuple[str, ...]
    #: Whole numbers by TRES, without those of which there are none.
    tres: Mapping[str, int]
    max_time: int | None
    #: ``None``: ``max_time``.
    default_time: int | None
    min_nodes: int
    max_nodes: int | None
    priority_tier: int
    priority_job_factor: int
    #: Empty: it has none.
    qos: str
    #: Jobs get whole nodes.
    exclusive: bool
    #: How many jobs may have a core at a time, of those that share, and whether all do.
    max_share: int
    force_share: bool
    least_loaded: bool
    grace_time: int
    over_time_limit: int | None
    #: For jobs that ask for no memory; 0: not set.
    def_mem_per_cpu: int
    def_mem_per_node: int
    #: Users in its ``AllowGroups``, by name; ``None``: all may use it.
    allow_users: tuple[str, ...] | None
    #: By name; empty: all, or none.
    allow_accounts: tuple[str, ...]
    deny_accounts: tuple[str, ...]
    allow_qos: tuple[str, ...]
    deny_qos: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationLine:
    """One reservation, as it comes next or is under way."""

    name: str
    #: ACTIVE or INACTIVE.
    state: str
    start_time: int
    #: The first second that is no longer reserved.
    end_time: int
    nodes: tuple[str, ...]
    features: str
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    #: By name.
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenseLine:
    """One kind of licence."""

    name: str
    total: int
    used: int

    @property
    def free(self) -> int:
        """How many are left; less than 0: there are fewer now than jobs have been given."""
        return self.total - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationLine:
    """One association, with its usage and fair-share."""

    #: A copy.
    association: Association
    #: In the tree; 0: the root.
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MainPassStatistics:
    """What ``sdiag`` says of the main passes."""

    cycles: int
    #: Of the last pass: records in the queue, and how many of them were looked at.
    last_queue_length: int
    last_depth: int
    #: Records looked at in all passes, and in a pass on average.
    depth: int
    mean_depth: float
    jobs_started: int
    #: How often passes ended for which reason.
    exits: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatistics:
    """What ``sdiag`` says of backfill cycles."""

    cycles: int
    #: Of the last cycle: records in the queue, jobs tested, slots in the plan.
    last_queue_length: int
    last_depth: int
    last_table_size: int
    jobs_started: int
    #: How often cycles ended for which reason.
    exits: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What ``sdiag`` says."""

    now: int
    #: When the engine's clock began.
    boot_time: int
    #: Live jobs by base state; those that are completing count as COMPLETING.
    jobs: Mapping[str, int]
    #: Events handled and scheduling passes made, since the engine was started.
    events: int
    passes: int
    main: MainPassStatistics
    #: ``None``: the scheduler plugin makes no such cycles.
    backfill: BackfillStatistics | None
    #: How often each plugin misbehaved, by plugin and function: ``sched/easy: slurm_sched_p_schedule``.
    faults: Mapping[str, int]
