"""A job as plugins see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model import JobSpec, JobState, Partition, Reason


class Job(Protocol):
    """A job that has not ended, or a `queue record` of one. Plugins read it, and change it through the `Controller`.

    It shows what becomes of the job. Writing an attribute raises an error. A job that has not ended is one object, so
    that jobs can be compared and used as keys.

    A queue record stands for a job with several partitions in one of these. It has partition, units, time limit,
    priority and plan of its own; everything else is that of the `whole` job.
    """

    # ---- what is asked for ------------------------------------------------------------------------------------

    @property
    def job_id(self) -> int:
        """Job id; the same in all records of a job."""

    @property
    def spec(self) -> JobSpec:
        """The request."""

    @property
    def user_id(self) -> int:
        """User id."""

    @property
    def user_name(self) -> str:
        """User name; if it is unknown, ``user`` and the user id: ``user7``."""

    @property
    def num_cpus(self) -> int:
        """Number of processors that the job asks for."""

    @property
    def partition(self) -> Partition:
        """The job's or the record's partition."""

    @property
    def units(self) -> int:
        """The fewest units that the job needs: whole nodes, or processors, depending on the machine."""

    @property
    def time_limit(self) -> int:
        """Time limit in seconds; a year if there is none."""

    # ---- what it is worth -------------------------------------------------------------------------------------

    @property
    def priority(self) -> int:
        """Priority, 0 (held) to 2**32 - 1."""

    @property
    def admin_priority(self) -> bool:
        """Whether an administrator has set the priority, which is then not computed."""

    @property
    def nice(self) -> int:
        """Nice value, which is subtracted from the priority."""

    @property
    def site_factor(self) -> int:
        """Site factor, which is added to the priority: ±2147483645."""

    @property
    def min_priority(self) -> int:
        """The smallest priority with which the job may block others and have resources reserved; 0: any."""

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def state(self) -> JobState:
        """State of the job."""

    @property
    def reason(self) -> Reason:
        """Why a pending job is not in the queue. For other jobs ask `Controller.reason`."""

    @property
    def sort_key(self) -> tuple[int, ...]:
        """Key by which the queue is sorted, ascending; empty if the job is not in the queue."""

    @property
    def start_limits(self) -> int:
        """Number of limits that may hold the job back, see `Controller.held_back`; 0: nothing ever does."""

    @property
    def submit_time(self) -> int:
        """When the job was submitted, Unix seconds."""

    @property
    def eligible_time(self) -> int | None:
        """When the job first became eligible, Unix seconds; ``None``: not yet."""

    @property
    def planned_start(self) -> int | None:
        """Planned start, Unix seconds; ``None``: not planned."""

    @property
    def planned_nodes(self) -> int:
        """Planned nodes, a bitmap; 0: left open."""

    # ---- what it has ------------------------------------------------------------------------------------------

    @property
    def alloc(self) -> int:
        """Allocated resource set; not 0 while the job is running or completing."""

    @property
    def alloc_nodes(self) -> int:
        """Allocated nodes, a bitmap."""

    @property
    def start_time(self) -> int | None:
        """Start of the job, Unix seconds; ``None``: it has not started."""

    @property
    def end_time(self) -> int | None:
        """While the job runs, its expected end, Unix seconds."""

    @property
    def restart_count(self) -> int:
        """Number of times that the job was requeued."""

    # ---- what it is part of -----------------------------------------------------------------------------------

    @property
    def whole(self) -> Job:
        """The job of which this may be a record."""

    @property
    def records(self) -> Sequence[Job]:
        """The queue records of the job, one for each of several partitions; empty if there is only one."""

    def in_partition(self, name: str) -> Job:
        """Give the job's record in a partition; the job itself if it has no records."""

    @property
    def array_job_id(self) -> int:
        """Job id of the job array; for other jobs, their own job id."""

    @property
    def task_id(self) -> int | None:
        """Task id; ``None``: the job is of no array, or stands for all pending tasks of one."""

    @property
    def waiting_tasks(self) -> int:
        """Number of times that it can still be started: more than 1 for the record of a job array's pending tasks."""

    @property
    def latest_task(self) -> Job:
        """The task of the job array that was started last; for other jobs, the job itself."""
