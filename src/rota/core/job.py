"""The engine's record of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.model import YEAR, JobState, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.arrays import JobArray
    from rota.core.limits.job_limits import JobLimits
    from rota.core.limits.start_limits import Excess, StartLimit
    from rota.model import Association, JobSpec, Partition, StepRecord
    from rota.model.dependency import Dependencies
    from rota.resources.requests.request_class import RequestClass


class Job:
    """A live job. Everybody reads it; only the engine writes it.

    What plugins may rely on is `rota.interfaces.Job`.
    """

    __slots__ = (
        "admin_priority",
        "alloc",
        "alloc_nodes",
        "array",
        "assoc",
        "charged_since",
        "dependencies",
        "eligible_time",
        "end_time",
        "exit_code",
        "job_id",
        "limits",
        "nice",
        "partition",
        "planned_nodes",
        "planned_start",
        "priority",
        "reason",
        "records",
        "request_class",
        "restart_count",
        "signal",
        "site_factor",
        "sort_key",
        "spec",
        "start_limits",
        "start_time",
        "state",
        "steps",
        "submit_time",
        "suspended",
        "suspended_since",
        "task_id",
        "time_left",
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
        #: What it takes of the machine in the machine's own unit, at least 1: processors or, where nodes are given out
        #: whole, the least number of nodes that it can do with.
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
        self.array: JobArray[Job] | None = None
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
        #: What the pool has worked out of its request, once somebody has asked.
        self.request_class: RequestClass | None = None
        #: The limits of its association and QOS, if there are any.
        self.limits: JobLimits[Job] | None = None
        #: All that may hold it back although there is room for it, those limits among it.
        self.start_limits: tuple[StartLimit[Job], ...] = ()
        #: TRES that it asks for, in the cluster's order, once somebody has asked.
        self.tres_req: Sequence[float] | None = None
        #: How often it was put back in the queue.
        self.restart_count = 0
        #: How its last run ended: the exit code, and the signal that ended it; 0: none.
        self.exit_code = 0
        self.signal = 0
        #: Since when it is charged without a break, Unix seconds: since it started, or was last resumed.
        self.charged_since = 0
        #: Seconds of this run during which it was suspended; and since when it is, ``None``: it is not.
        self.suspended = 0
        self.suspended_since: int | None = None
        #: Seconds that it had left when it was suspended, or stopped.
        self.time_left = 0
        #: What runs, or has run, within this run of it.
        self.steps: tuple[StepRecord, ...] = ()
        #: Start that the scheduler plans, ``None``: nothing planned.
        self.planned_start: int | None = None
        #: Bitmap of the nodes planned, 0 when left open.
        self.planned_nodes = 0
        #: Its place in the queue or among the running jobs; ``()`` when it is in neither.
        self.sort_key: tuple[int, ...] = ()
        #: One for each partition that it may run in, in the order of the request; empty when there is only one.
        self.records: tuple[QueueRecord, ...] = ()

    # ---- its parts --------------------------------------------------------------------------------------------

    @property
    def whole(self) -> Job:
        """The job itself, of which a `QueueRecord` is one possibility."""
        return self

    def in_partition(self, name: str) -> Job:
        """Give its record in a partition; the job itself where it has none."""
        return next((record for record in self.records if record.partition.name == name), self)

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
    def waiting_tasks(self) -> int:
        """How many times it may still be started: more than once for the record of a job array."""
        return len(self.array.pending) if self.array is not None and self.task_id is None else 1

    @property
    def latest_task(self) -> Job:
        """Of a job array the task that was started last, else the job itself."""
        latest = None if self.array is None else self.array.latest
        return self if latest is None else latest

    @property
    def array_job_id(self) -> int:
        """The job id of the array that it is of; else its own."""
        return self.job_id if self.array is None else self.array.job_id

    @property
    def array_task(self) -> str:
        """Which task of its array it is, or which wait: ``2``, ``[3-5%2]``; empty: it is of none."""
        return "" if self.array is None else self.array.task_text(self.task_id)

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def completing(self) -> bool:
        """Whether it has been stopped but its resources are not free yet (Slurm's COMPLETING)."""
        return self.alloc != 0 and self.state is not JobState.RUNNING and self.state is not JobState.SUSPENDED

    @property
    def effective_start(self) -> int:
        """When this run would have begun if it had never been suspended, Unix seconds."""
        return (self.start_time or 0) + self.suspended

    @property
    def expected_end(self) -> int:
        """When a run is expected to end or, once it has been stopped, was, Unix seconds."""
        return (self.end_time or 0) + (self.time_left if self.completing else 0)

    @property
    def is_queued(self) -> bool:
        """Whether it stands in the queue."""
        return bool(self.sort_key) and not self.alloc

    @property
    def longest_run(self) -> int | None:
        """Seconds for which it may run: its time limit and its partition's OverTimeLimit; ``None``: no bound."""
        over = self.partition.over_time_limit
        return None if over is None else self.time_limit + over

    # ---- what holds it back -----------------------------------------------------------------------------------

    @property
    def min_priority(self) -> int:
        """The priority that it must have to hold up others and have resources reserved: MinPrioThreshold, or 0."""
        return 0 if self.limits is None else self.limits.min_priority or 0

    @property
    def may_be_held_back(self) -> bool:
        """Whether a start limit could hold it back, or one of its records."""
        return bool(self.start_limits) or any(record.start_limits for record in self.records)

    def held_back(self, resources: int = 0) -> Excess | None:
        """Say which of its start limits holds it back while it waits, on certain resources if some are given."""
        for one in self.start_limits:
            excess = one.holds_back(self, resources)
            if excess is not None:
                return excess
        return None

    # ---- for the engine ---------------------------------------------------------------------------------------

    def hold_all_records(self) -> None:
        """Hold it in all its partitions."""
        for record in (self, *self.records):
            record.priority = 0

    def forget_plan(self) -> None:
        """Plan no start any more."""
        self.planned_start = None
        self.planned_nodes = 0
        for record in self.records:
            record.forget_plan()

    def copy_earliest_plan(self) -> None:
        """Plan what is planned soonest for one of its records."""
        planned = [one for one in self.records if one.planned_start is not None]
        first = min(planned, key=lambda one: one.planned_start or 0, default=None)
        self.planned_start = None if first is None else first.planned_start
        self.planned_nodes = 0 if first is None else first.planned_nodes

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
        self.request_class = None
        self.limits = None
        self.start_limits = ()
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

    def choose_partition(self) -> Job:
        """Make this partition the job's; give the job."""
        job = self._whole
        if job.partition is not self.partition:
            job.assoc = None  # a user may have an association of its own for a partition
        job.partition, job.units, job.time_limit = self.partition, self.units, self.time_limit
        job.request_class, job.tres_req = self.request_class, self.tres_req
        job.limits, job.start_limits = self.limits, self.start_limits
        job.priority = self.priority
        return job

    def __getattr__(self, name: str) -> Any:
        """Give what is the whole job's: the attributes that a record leaves unset."""
        return getattr(self._whole, name)
