"""A job as plugins see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model import JobSpec, JobState, Partition, Reason


class Job(Protocol):
    """A job that has not ended, or a `queue record` of one: read it, and leave changing it to the `Controller`.

    The record of a job that may run in several partitions stands for it in one of these. It has partition, units, time
    limit, priority and plan of its own; all else is that of the `whole` job.
    """

    # ---- what is asked for ------------------------------------------------------------------------------------

    @property
    def job_id(self) -> int:
        """Job id; several records of one job have the same."""

    @property
    def spec(self) -> JobSpec:
        """The request."""

    @property
    def user_id(self) -> int:
        """Who submitted it."""

    @property
    def user_name(self) -> str:
        """The user's name; where none is known, one made of the number: ``user7``."""

    @property
    def num_cpus(self) -> int:
        """Processors asked for."""

    @property
    def partition(self) -> Partition:
        """Its partition."""

    @property
    def units(self) -> int:
        """What it takes at least of the machine, in the machine's own unit: whole nodes or processors."""

    @property
    def time_limit(self) -> int:
        """Seconds, always known: without any limit it is a year."""

    # ---- what it is worth -------------------------------------------------------------------------------------

    @property
    def priority(self) -> int:
        """0 (held) to 2**32 - 1."""

    @property
    def admin_priority(self) -> bool:
        """The priority was set by an administrator and is not computed."""

    @property
    def nice(self) -> int:
        """Subtracted from the priority."""

    @property
    def site_factor(self) -> int:
        """Added to the priority as it is, ±2147483645."""

    @property
    def min_priority(self) -> int:
        """The priority that it must have to hold up others and have resources reserved; 0: any."""

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def state(self) -> JobState:
        """Its state."""

    @property
    def reason(self) -> Reason:
        """For a pending job that no pass may consider, why; of the others ask `Controller.reason`."""

    @property
    def sort_key(self) -> tuple[int, ...]:
        """Orders the queue: what has the smaller key is first in line; empty when it is not in the queue."""

    @property
    def start_limits(self) -> Sequence[object]:
        """What may hold it back although there is room for it, see `Controller.held_back`; empty: nothing ever does."""

    @property
    def submit_time(self) -> int:
        """Unix seconds."""

    @property
    def eligible_time(self) -> int | None:
        """When it could first have been considered, Unix seconds; ``None``: not yet."""

    @property
    def planned_start(self) -> int | None:
        """When it is planned to start, Unix seconds; ``None``: nothing is planned."""

    @property
    def planned_nodes(self) -> int:
        """Bitmap of the nodes planned, 0 when left open."""

    # ---- what it has ------------------------------------------------------------------------------------------

    @property
    def alloc(self) -> int:
        """Resource set that it holds: not 0 while it runs or completes."""

    @property
    def alloc_nodes(self) -> int:
        """Bitmap of the nodes that it holds something of."""

    @property
    def start_time(self) -> int | None:
        """Unix seconds; ``None``: it does not run, and has not."""

    @property
    def end_time(self) -> int | None:
        """While it runs the expected end, Unix seconds."""

    @property
    def restart_count(self) -> int:
        """How often it was put back in the queue."""

    # ---- what it is part of -----------------------------------------------------------------------------------

    @property
    def whole(self) -> Job:
        """The job itself, of which this is perhaps a record."""

    @property
    def records(self) -> Sequence[Job]:
        """One for each partition that it may run in; empty when there is only one."""

    def in_partition(self, name: str) -> Job:
        """Give its record in a partition; the job itself where it has none."""

    @property
    def array_job_id(self) -> int:
        """The job id of the array that it is of; else its own."""

    @property
    def task_id(self) -> int | None:
        """Which task of its array it is; ``None``: it is of none, or stands for all tasks that wait."""

    @property
    def waiting_tasks(self) -> int:
        """How many times it may still be started: more than once for the record of a job array."""

    @property
    def latest_task(self) -> Job:
        """Of a job array the task that was started last, else the job itself."""
