"""Jobs: what is asked for (``JobSpec``) and what became of it (``Job``)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.model.reason import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model.association import Association
    from rota.model.dependency import Dependencies
    from rota.model.partition import Partition

#: Seconds that a job without any time limit is expected to run, as Slurm's backfill takes it.
YEAR = 365 * 24 * 3600
#: The largest priority.
MAX_PRIORITY = 2**32 - 1


class JobState(Enum):
    """Slurm's base states. The value is the long form, ``compact`` the one of ``squeue``."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    DEADLINE = "DEADLINE"
    PREEMPTED = "PREEMPTED"

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__

    @property
    def compact(self) -> str:
        """The two letters of ``squeue -o %t``."""
        return _COMPACT[self]

    @property
    def finished(self) -> bool:
        """Whether the job has ended for good."""
        return self not in _LIVE

    def __str__(self) -> str:
        """Give Slurm's long form."""
        return self.value


_LIVE = frozenset({JobState.PENDING, JobState.RUNNING})
_COMPACT = {
    JobState.PENDING: "PD",
    JobState.RUNNING: "R",
    JobState.COMPLETED: "CD",
    JobState.CANCELLED: "CA",
    JobState.FAILED: "F",
    JobState.TIMEOUT: "TO",
    JobState.NODE_FAIL: "NF",
    JobState.DEADLINE: "DL",
    JobState.PREEMPTED: "PR",
}


class JobSpec(NamedTuple):
    """A request. A named tuple, since a replay makes hundreds of thousands of them: it is immutable and made in C."""

    num_cpus: int = 1
    #: Seconds; ``None``: the partition's default.
    time_limit: int | None = None
    #: Least number of nodes; 0: as many as the processors need.
    min_nodes: int = 0
    user_id: int = 0
    group_id: int = 0
    #: Empty: the default partition. Several are joined by commas: any of them will do.
    partition: str = ""
    account: str = ""
    qos: str = ""
    name: str = ""
    #: Earliest start, Unix seconds; 0: at once.
    begin_time: int = 0
    hold: bool = False
    #: Subtracted from the priority.
    nice: int = 0
    #: Set by an administrator, and then not computed.
    priority: int | None = None
    #: Put back in the queue when its launch fails or its node is lost; ``None``: as ``JobRequeue`` of slurm.conf says.
    requeue: bool | None = None
    #: The user's name, which associations go by; empty: none is known.
    user: str = ""
    #: MiB; 0: the partition's default; -1: all memory of each node.
    mem_per_node: int = 0
    #: MiB; used where ``mem_per_node`` is 0.
    mem_per_cpu: int = 0
    #: For each node, as written: ``gpu:a100:2,shard:1``.
    gres: str = ""
    #: Features that the nodes must have, as written: ``IB&CPU-Gold-6230``.
    constraint: str = ""
    #: No node is shared with another job.
    exclusive: bool = False
    #: Tasks, of ``cpus_per_task`` processors each; 0: not told, ``num_cpus`` is all that counts.
    num_tasks: int = 0
    cpus_per_task: int = 1
    #: With ``num_tasks`` the most that a node gets, else what each gets; 0: not told.
    ntasks_per_node: int = 0
    #: Largest number of nodes; 0: as many as the processors need.
    max_nodes: int = 0
    #: Within these bounds it gets as many nodes as it has tasks, or no more than it needs; else the largest number.
    spread: bool = False
    use_min_nodes: bool = False
    #: Least processors that each node has (``--mincpus``).
    min_cpus_per_node: int = 0
    #: Threads of a core that the job uses at most, although it has all of it, and that a core has at least; 0: all.
    threads_per_core: int = 0
    #: Tasks that share a core at most; 0: as many as it has threads.
    ntasks_per_core: int = 0
    #: Least sockets of each node, and least cores that are free on a socket of which the job uses any; 0: no bound.
    sockets_per_node: int = 0
    cores_per_socket: int = 0
    #: Most tasks on a socket; 0: no bound.
    ntasks_per_socket: int = 0
    #: Hostlist of nodes that must all be used; empty: none.
    required_nodes: str = ""
    #: Hostlist of nodes that must not be used.
    excluded_nodes: str = ""
    #: The nodes follow each other in the configuration.
    contiguous: bool = False
    #: Features that are tried first, as ``constraint``.
    prefer: str = ""
    #: Resources may be shared with other such jobs, where the partition allows that.
    oversubscribe: bool = False
    #: As written: ``matlab:2,ansys``; all of them are needed.
    licenses: str = ""
    #: For the whole job, as ``gres``.
    gres_per_job: str = ""
    #: For each task, as ``gres``.
    gres_per_task: str = ""
    #: For each GPU: processors, tasks and MiB; 0: not told. Memory of this kind takes the place of all other.
    cpus_per_gpu: int = 0
    ntasks_per_gpu: int = 0
    mem_per_gpu: int = 0
    #: Seconds; backfill may start the job with a limit as short as this. ``None``: with no shorter one.
    time_min: int | None = None
    #: When it must have ended, Unix seconds; 0: whenever.
    deadline: int = 0
    #: Other jobs that it waits for, as written: ``afterok:12:13``, see `rota.model.dependency`.
    dependency: str = ""
    #: Tasks of a job array, as written: ``0-15:4%2``, see `rota.model.array`.
    array: str = ""
    #: Name of the reservation in which it is to run; empty: none.
    reservation: str = ""
    #: Cancel it when what it waits for can never happen; ``None``: as ``DependencyParameters`` of slurm.conf says.
    kill_on_invalid_dep: bool | None = None

    @property
    def divides_gres(self) -> bool:
        """Whether GRES are asked for otherwise than by node, or what goes with each: whole nodes have no such thing."""
        return bool(self.gres_per_job or self.gres_per_task or self.cpus_per_gpu or self.mem_per_gpu)


class Job:
    """A job record. Everybody reads it; only the engine writes it.

    ``units`` is what it takes of the machine in the machine's own unit: whole nodes where nodes are given out whole,
    the least number that it can do with; processors otherwise.
    """

    __slots__ = (
        "admin_priority",
        "alloc",
        "alloc_nodes",
        "array",
        "assoc",
        "dependencies",
        "eligible_time",
        "end_time",
        "exit_code",
        "job_id",
        "limits",
        "needs",
        "nice",
        "partition",
        "planned_nodes",
        "planned_start",
        "priority",
        "reason",
        "records",
        "restart_count",
        "restraints",
        "site_factor",
        "sort_key",
        "spec",
        "start_time",
        "state",
        "submit_time",
        "task_id",
        "time_limit",
        "tres_req",
        "units",
    )

    def __init__(self, job_id: int, spec: JobSpec, submit_time: int, partition: Partition, units: int) -> None:
        self.job_id = job_id
        self.spec = spec
        #: Unix seconds.
        self.submit_time = submit_time
        self.partition = partition
        #: At least 1.
        self.units = units
        #: Seconds, always known: without any limit it is a year.
        self.time_limit: int = spec.time_limit or partition.default_time or partition.max_time or YEAR
        #: 0 (held) to 2**32 - 1.
        self.priority = 0
        self.nice = spec.nice
        #: Added to the priority as it is, ±2147483645.
        self.site_factor = 0
        #: Its association, once somebody has asked for it: see `Controller.association_of`.
        self.assoc: Association | None = None
        #: The priority was set by an administrator and is not computed.
        self.admin_priority = False
        self.state = JobState.PENDING
        #: For a pending job that no pass may consider, why; for an ended one, why it ended so.
        self.reason = Reason.NONE
        #: What it has in common with the other tasks of its array; ``None``: it is of none.
        self.array: Any = None
        #: Which of them it is; ``None`` for the record of those that wait.
        self.task_id: int | None = None
        #: The other jobs that it still waits for.
        self.dependencies: Dependencies | None = None
        #: When it could first have been considered; ``None`` until then.
        self.eligible_time: int | None = None
        #: ``None`` unless RUNNING or ended after having run.
        self.start_time: int | None = None
        #: While RUNNING the expected end, ``start_time + time_limit`` until it is past that; afterwards the actual one.
        self.end_time: int | None = None
        #: Resource set held: non-zero while RUNNING or completing.
        self.alloc = 0
        #: Bitmap of the nodes that it is held on.
        self.alloc_nodes = 0
        #: What it needs of a machine whose nodes are shared, once that has been worked out.
        self.needs: Any = None
        #: The limits of its association and QOS, if there are any.
        self.limits: Any = None
        #: All that may hold it back although there is room for it, those limits among it.
        self.restraints: tuple[Any, ...] = ()
        #: TRES that it asks for, in the cluster's order, once somebody has asked.
        self.tres_req: Sequence[float] | None = None
        #: How often it was put back in the queue.
        self.restart_count = 0
        self.exit_code = 0
        #: Start that the scheduler plans, ``None``: nothing planned.
        self.planned_start: int | None = None
        #: Bitmap of the nodes planned, 0 when left open.
        self.planned_nodes = 0
        #: Its place in the queue or among the running jobs; ``()`` when it is in neither.
        self.sort_key: tuple[int, ...] = ()
        #: One for each partition that it may run in, in the order of the request; empty when there is only one.
        self.records: tuple[QueueRecord, ...] = ()

    @property
    def whole(self) -> Job:
        """The job itself, of which a `QueueRecord` is one possibility."""
        return self

    @property
    def longest_run(self) -> int | None:
        """Seconds for which it may run: its time limit and its partition's OverTimeLimit; ``None``: no bound."""
        over = self.partition.over_time_limit
        return None if over is None else self.time_limit + over

    @property
    def min_priority(self) -> int:
        """The priority that it must have to hold up others and have resources reserved: MinPrioThreshold, or 0."""
        return 0 if self.limits is None else self.limits.min_priority or 0

    def zero_priority(self) -> None:
        """Hold it in all its partitions."""
        for record in (self, *self.records):
            record.priority = 0

    def forget_plan(self) -> None:
        """Plan no start any more."""
        self.planned_start = None
        self.planned_nodes = 0
        for record in self.records:
            record.forget_plan()

    def take_over_plan(self) -> None:
        """Plan what is planned soonest for one of its records."""
        planned = [one for one in self.records if one.planned_start is not None]
        first = min(planned, key=lambda one: one.planned_start or 0, default=None)
        self.planned_start = None if first is None else first.planned_start
        self.planned_nodes = 0 if first is None else first.planned_nodes

    @property
    def state_words(self) -> tuple[str, str]:
        """Its state as ``squeue`` shows it, long and short: the base state, or that its reservation is over."""
        if self.state is JobState.PENDING and self.reason is Reason.RESERVATION_DELETED:
            return "RESV_DEL_HOLD", "RD"
        return self.state.value, self.state.compact

    @property
    def waiting_tasks(self) -> int:
        """How many times it may still be started: more than once for the record of a job array."""
        return len(self.array.pending) if self.array is not None and self.task_id is None else 1

    @property
    def latest_task(self) -> Job:
        """Of a job array the task that was started last, else the job itself."""
        latest: Job = self if self.array is None else self.array.latest
        return latest

    @property
    def user_id(self) -> int:
        """Who submitted it."""
        return self.spec.user_id

    @property
    def user_name(self) -> str:
        """The user's name; where none is known, one made of the number: ``user7``."""
        return self.spec.user or f"user{self.spec.user_id}"

    @property
    def num_cpus(self) -> int:
        """Processors asked for."""
        return self.spec.num_cpus

    @property
    def completing(self) -> bool:
        """Whether it has been stopped but its resources are not free yet (Slurm's COMPLETING)."""
        return self.alloc != 0 and self.state is not JobState.RUNNING

    def __repr__(self) -> str:
        """Name the job with its state."""
        return f"<Job {self.job_id} {self.state.value} units={self.units} priority={self.priority}>"


class QueueRecord(Job):
    """A job with several partitions as it would run in one of them: what stands in the queue for it.

    It reads as a job does. Its own are partition, units, time limit, priority, place in the queue and plan; all else is
    that of the `whole` job.
    """

    __slots__ = ("_whole", "rank")

    def __init__(self, job: Job, partition: Partition, units: int, rank: int) -> None:
        self._whole = job
        #: Place of the partition in the request, from 0.
        self.rank = rank
        self.partition = partition
        #: 0: the partition could never serve the job.
        self.units = units
        self.time_limit = job.spec.time_limit or partition.default_time or partition.max_time or YEAR
        self.priority = 0
        self.planned_start = None
        self.planned_nodes = 0
        self.needs = None
        self.limits = None
        self.restraints = ()
        self.tres_req = None
        self.sort_key = ()

    @property
    def whole(self) -> Job:
        """The job itself."""
        return self._whole

    def forget_plan(self) -> None:
        """Plan no start in this partition."""
        self.planned_start = None
        self.planned_nodes = 0

    def settle(self) -> Job:
        """Make this partition the job's; give the job."""
        job = self._whole
        if job.partition is not self.partition:
            job.assoc = None  # a user may have an association of its own for a partition
        job.partition, job.units, job.time_limit = self.partition, self.units, self.time_limit
        job.needs, job.tres_req = self.needs, self.tres_req
        job.limits, job.restraints = self.limits, self.restraints
        job.priority = self.priority
        return job

    def __getattr__(self, name: str) -> Any:
        """Give what is the whole job's: the attributes that a record leaves unset."""
        return getattr(self._whole, name)
