"""The engine's record of a job.

Over 400 lines: it has many attributes, and each is explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rota.core.job_view import OpenView, PluginJob, PluginQueueRecord, copy_to, make_view
from rota.model import YEAR, JobState, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.core.arrays import JobArray
    from rota.core.limits.job_limits import JobLimits
    from rota.core.limits.start_limits import Excess, StartLimit
    from rota.model import Association, JobSpec, Partition, StepRecord
    from rota.model.dependency import Dependencies
    from rota.resources.requests.request_class import RequestClass

# Python 3.11 takes eight times as long to find a member of an Enum as a global name.
_PENDING, _RUNNING, _SUSPENDED, _NO_REASON = JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED, Reason.NONE


class Why(NamedTuple):
    """A reason with its details."""

    reason: Reason
    #: Sentence that Slurm shows in place of the reason; empty: none.
    sentence: str = ""
    #: Bitmap of the nodes listed after it.
    nodes: int = 0


class Job:
    """The record of a live job. Only the engine writes to it.

    What plugins can use is documented in `rota.interfaces.Job`.
    """

    __slots__ = (
        "admin_priority",
        "alloc",
        "alloc_nodes",
        "array",
        "assoc",
        "cancelled_by",
        "charged_since",
        "dependencies",
        "details",
        "eligible_time",
        "end_time",
        "exit_code",
        "is_attracted",
        "job_id",
        "limits",
        "nice",
        "partition",
        "planned_nodes",
        "planned_start",
        "priority",
        "reason",
        "record_views",
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
        "switches",
        "task_id",
        "tested_nodes",
        "time_left",
        "time_limit",
        "tres_req",
        "units",
        "user_name",
        "view",
        "waits_since",
    )

    def __init__(self, job_id: int, spec: JobSpec, submit_time: int, partition: Partition, units: int) -> None:
        self.job_id = job_id
        self.spec = spec
        #: User name; if it is not known, one that is made from the user id: ``user7``.
        self.user_name = spec.user or f"user{spec.user_id}"
        #: Unix seconds.
        self.submit_time = submit_time
        self.partition = partition
        #: Smallest number of units that it needs, at least 1: nodes if nodes are allocated whole, else processors.
        self.units = units
        #: Time limit in seconds; a year if there is none.
        self.time_limit: int = spec.time_limit or partition.default_time or partition.max_time or YEAR
        #: From 0 (held) to 2**32 - 1.
        self.priority = 0
        self.nice = spec.nice
        #: Added to the priority, ±2147483645.
        self.site_factor = 0
        #: Cached association; see `Controller.association_of`.
        self.assoc: Association | None = None
        #: Whether the priority was set by an administrator, and is not computed.
        self.admin_priority = False
        self.state = _PENDING
        #: Why a pending job waits, as far as it is known: why it is parked, or what the last passes have found (see
        #: `Reasons`). Of an ended one, why it has its state.
        self.reason = _NO_REASON
        #: What is shown in place of ``reason``, as long as that is the reason in it; ``None``: nothing else is.
        self.details: Why | None = None
        #: Its job array; ``None``: it is not a task of an array.
        self.array: JobArray[Job] | None = None
        #: Task id; ``None`` for the record of the pending tasks.
        self.task_id: int | None = None
        #: Dependencies that are not satisfied yet.
        self.dependencies: Dependencies | None = None
        #: When it became eligible, Unix seconds; ``None``: it has not been yet.
        self.eligible_time: int | None = None
        #: Unix seconds; ``None``: it has not started.
        self.start_time: int | None = None
        #: While it runs the expected end, Unix seconds: ``start_time + time_limit``, or later if it may exceed that.
        #: Then the actual end.
        self.end_time: int | None = None
        #: Allocated resource set; not 0 while it is running, suspended or completing.
        self.alloc = 0
        #: Bitmap of the nodes of the allocation.
        self.alloc_nodes = 0
        #: Largest number of leaf switches with which it may start now; 0: any, as it has not asked or waits no longer.
        self.switches = spec.switches
        #: Since when it waits for few switches, Unix seconds; ``None``: it does not, or not yet.
        self.waits_since: int | None = None
        #: Cached evaluation of the request by the pool.
        self.request_class: RequestClass | None = None
        #: Limits of its association and QOS; ``None``: there are none.
        self.limits: JobLimits[Job] | None = None
        #: All start limits, including ``limits``.
        self.start_limits: tuple[StartLimit[Job], ...] = ()
        #: Cached number of each TRES that it requests, in the cluster's order.
        self.tres_req: Sequence[float] | None = None
        #: Whether the reservation that it names is one that has attracted it, and is not asked for.
        self.is_attracted = False
        #: How often it was requeued.
        self.restart_count = 0
        #: Exit code of the last run, and the signal that ended it; 0: none.
        self.exit_code = 0
        self.signal = 0
        #: User id of who has cancelled it; ``None``: nobody has.
        self.cancelled_by: int | None = None
        #: Since when it is charged without interruption, Unix seconds: its start, or when it was last resumed.
        self.charged_since = 0
        #: Seconds for which this run was suspended; and since when it is suspended now, ``None``: it is not.
        self.suspended = 0
        self.suspended_since: int | None = None
        #: Seconds that were left to its expected end when it was suspended or stopped.
        self.time_left = 0
        #: Steps of this run.
        self.steps: tuple[StepRecord, ...] = ()
        #: Planned start, Unix seconds; ``None``: not planned.
        self.planned_start: int | None = None
        #: Bitmap of the planned nodes; 0: left open.
        self.planned_nodes = 0
        #: Bitmap of the nodes last planned for this run, or not given to it because of a limit. It is kept when there
        #: is no plan any more, as Slurm keeps the number of processors found there.
        self.tested_nodes = 0
        #: Key by which the queue or the running jobs are sorted; ``()``: it is in neither.
        self.sort_key: tuple[int, ...] = ()
        #: Queue records, one for each of several partitions, in the order of the request; empty if there is only one.
        self.records: tuple[QueueRecord, ...] = ()
        #: What plugins get of these.
        self.record_views: tuple[PluginJob, ...] = ()
        # What plugins get of it, made here as `make_view` does: a call for each job would cost more.
        view = OpenView()
        view._record, view.job_id = self, job_id
        view.partition, view.units, view.time_limit, view.start_limits = partition, units, self.time_limit, 0
        view.__class__ = PluginJob
        #: What plugins get of it. ``None`` once it is no live job, as the two refer to each other: see `shown`.
        self.view: PluginJob = view  # type: ignore[assignment] # it is one now

    @property
    def _record(self) -> Self:
        """The record itself: the rest of the engine may hand records where plugins hand views."""
        return self

    # ---- its parts --------------------------------------------------------------------------------------------

    @property
    def whole(self) -> Job:
        """The job; for a `QueueRecord`, the job that it belongs to."""
        return self

    @property
    def by_tier(self) -> list[QueueRecord]:
        """Its queue records in the order in which Slurm tests the limits of partitions: by tier, then as requested."""
        return sorted(self.records, key=_tier)

    def in_partition(self, name: str) -> Job:
        """Give its queue record in a partition; the job itself if there is none."""
        return next((record for record in self.records if record.partition.name == name), self)

    @property
    def user_id(self) -> int:
        """User id of the user who submitted it."""
        return self.spec.user_id

    @property
    def num_cpus(self) -> int:
        """Number of processors that it requests."""
        return self.spec.num_cpus

    @property
    def waiting_tasks(self) -> int:
        """Number of pending tasks: those in the record of a job array, else 1."""
        return len(self.array.pending) if self.array is not None and self.task_id is None else 1

    @property
    def latest_task(self) -> Job:
        """For a job array, the task that was started last; else the job itself."""
        latest = None if self.array is None else self.array.latest
        return self if latest is None else latest

    @property
    def array_job_id(self) -> int:
        """Job id of its array; of a job without array, its own."""
        return self.job_id if self.array is None else self.array.job_id

    @property
    def array_task(self) -> str:
        """Its task id, or the ids of the pending tasks: ``2``, ``[3-5%2]``; empty: it is not of an array."""
        return "" if self.array is None else self.array.task_text(self.task_id)

    # ---- state ------------------------------------------------------------------------------------------------

    @property
    def completing(self) -> bool:
        """Whether it has been stopped and its resources are not free yet (Slurm's COMPLETING)."""
        return self.alloc != 0 and self.state is not _RUNNING and self.state is not _SUSPENDED

    @property
    def effective_start(self) -> int:
        """Start of this run plus the time for which it was suspended, Unix seconds."""
        return (self.start_time or 0) + self.suspended

    @property
    def expected_end(self) -> int:
        """Expected end of the run, Unix seconds; if it has been stopped, the end that was expected before."""
        return (self.end_time or 0) + (self.time_left if self.completing else 0)

    @property
    def is_queued(self) -> bool:
        """Whether it is in the queue."""
        return bool(self.sort_key) and not self.alloc

    @property
    def longest_run(self) -> int | None:
        """Seconds for which it may run: its time limit plus the partition's OverTimeLimit; ``None``: no bound."""
        over = self.partition.over_time_limit
        return None if over is None else self.time_limit + over

    # ---- start limits -----------------------------------------------------------------------------------------

    @property
    def min_priority(self) -> int:
        """Smallest priority with which it blocks others and has resources reserved: MinPrioThreshold, or 0."""
        return 0 if self.limits is None else self.limits.min_priority or 0

    @property
    def may_be_held_back(self) -> bool:
        """Whether the job or one of its queue records has start limits."""
        return bool(self.start_limits) or any(record.start_limits for record in self.records)

    def held_back(self, resources: int = 0) -> Excess | None:
        """Give the first start limit that holds it back; ``None``: none does.

        Args:
            resources: The resource set that it would start on; 0: test what it requests.
        """
        for one in self.start_limits:
            excess = one.holds_back(self, resources)
            if excess is not None:
                return excess
        return None

    # ---- for the engine ---------------------------------------------------------------------------------------

    @property
    def shown(self) -> PluginJob:
        """What plugins get of it, live or not."""
        live = self.view is not None  # it is declared as it is while the job is live
        return self.view if live else make_view(self, PluginJob)

    def show(self) -> None:
        """Copy to its views what they hold, after partition, units, time limit or start limits were written."""
        for record in (self, *self.records):
            copy_to(record.view, record)

    def give_records(self, records: Iterable[QueueRecord]) -> None:
        """Set its queue records."""
        self.records = tuple(records)
        self.record_views = tuple(one.view for one in self.records)

    def hold_all_records(self) -> None:
        """Set the priority of the job and its queue records to 0."""
        for record in (self, *self.records):
            record.priority = 0

    def forget_plan(self) -> None:
        """Delete the planned start and nodes."""
        self.planned_start = None
        self.planned_nodes = 0
        for record in self.records:
            record.forget_plan()

    def copy_earliest_plan(self) -> None:
        """Copy the earliest plan of its queue records."""
        planned = [one for one in self.records if one.planned_start is not None]
        first = min(planned, key=lambda one: one.planned_start or 0, default=None)
        self.planned_start = None if first is None else first.planned_start
        self.planned_nodes = 0 if first is None else first.planned_nodes

    def __repr__(self) -> str:
        """Show id, state, units and priority."""
        return f"<Job {self.job_id} {self.state.value} units={self.units} priority={self.priority}>"


def _tier(record: Job) -> int:
    return -record.partition.priority_tier


class QueueRecord(Job):
    """One of several partitions of a job, as an entry of the queue.

    It can be read like a job. Partition, units, time limit, priority, sort key, limits and plan are its own; all other
    attributes are those of the `whole` job.
    """

    __slots__ = ("_whole", "obstacle", "rank")

    def __init__(self, job: Job, partition: Partition, units: int, rank: int) -> None:
        self._whole = job
        #: Index of the partition in the request.
        self.rank = rank
        #: Why it is not in the queue, as long as other records of the job are; ``None``: it is.
        self.obstacle: Reason | None = None
        self.partition = partition
        #: 0: the job can never run in the partition.
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
        self.view = make_view(self, PluginQueueRecord)

    @property
    def whole(self) -> Job:
        """The job that it belongs to."""
        return self._whole

    @property
    def reason(self) -> Reason:
        """The reason of the job, which has only one."""
        return self._whole.reason

    @reason.setter
    def reason(self, reason: Reason) -> None:
        self._whole.reason = reason

    @property
    def details(self) -> Why | None:
        """What is shown in place of its reason."""
        return self._whole.details

    @details.setter
    def details(self, details: Why | None) -> None:
        self._whole.details = details

    def forget_plan(self) -> None:
        """Delete the planned start and nodes in this partition."""
        self.planned_start = None
        self.planned_nodes = 0

    def choose_partition(self) -> Job:
        """Let the job run in this partition; give the job."""
        job = self._whole
        if job.partition is not self.partition:
            job.assoc = None  # a user may have an association of its own for a partition
        job.partition, job.units, job.time_limit = self.partition, self.units, self.time_limit
        job.request_class, job.tres_req = self.request_class, self.tres_req
        job.limits, job.start_limits = self.limits, self.start_limits
        job.priority = self.priority
        job.show()
        return job

    def __getattr__(self, name: str) -> Any:
        """Give an attribute of the whole job, if the record has none of its own."""
        return getattr(self._whole, name)
