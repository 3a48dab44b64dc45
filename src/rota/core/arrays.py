"""Job arrays: tasks that were submitted together, and wait as one record.

The record stands in the queue for all tasks that have not started. When one is started, or somebody asks for it alone,
it is split off as a job of its own; the last one takes over the record. An array of n tasks takes n job ids, from the
record's own on.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from rota.core.limits.start_limits import Excess, Limit
from rota.model import JobState, Reason
from rota.model.array import ArrayTasks, fold_tasks


class Task(Protocol):
    """A job of an array, as far as that looks at it."""

    @property
    def state(self) -> JobState:
        """Its state."""

    @property
    def task_id(self) -> int | None:
        """Which task it is; ``None`` for the record of those that wait."""

    @property
    def start_time(self) -> int | None:
        """Unix seconds."""


T = TypeVar("T", bound=Task)


class JobArray(Generic[T]):
    """What the tasks of one array have in common."""

    __slots__ = (
        "_ids",
        "_next_id",
        "job_id",
        "last_start",
        "latest",
        "over",
        "pending",
        "record",
        "running",
        "tasks",
        "throttle",
        "worst",
    )

    def __init__(self, job_id: int, tasks: ArrayTasks) -> None:
        #: The record's, and the array's name.
        self.job_id = job_id
        self.throttle = tasks.throttle
        #: Ids of tasks that are not split off, ascending.
        self.pending = list(tasks.ids)
        #: The job that stands for them; afterwards it is the last of them.
        self.record: T | None = None
        #: Live jobs that were split off, by task id.
        self.tasks: dict[int, T] = {}
        #: Those of them that hold resources.
        self.running = 0
        #: The task that was last started in this run of the engine, and when one was at all, Unix seconds.
        self.latest: T | None = None
        self.last_start: int | None = None
        #: Tasks that are over without having been split off.
        self.over: list[int] = []
        #: COMPLETED as long as all tasks that are over are that.
        self.worst = JobState.COMPLETED
        self._next_id = job_id + 1
        self._ids = frozenset(tasks.ids)

    @property
    def is_over(self) -> bool:
        """Whether no task is left."""
        return not self.pending and not self.tasks

    def has(self, task_id: int) -> bool:
        """Whether it ever had such a task."""
        return task_id in self._ids

    def take_id(self) -> int:
        """Give the job id of a task that is split off."""
        self._next_id += 1
        return self._next_id - 1

    def task_text(self, task_id: int | None) -> str:
        """Write which task of the array a job is, or for the record which wait: ``2``, ``[3-5%2]``."""
        if task_id is not None:
            return str(task_id)
        ids = self.pending or self.over
        if len(ids) == 1 < len(self._ids):  # the last: it is a task like the others
            return str(ids[0])
        throttle = f"%{self.throttle}" if self.throttle and self.pending else ""
        return f"[{fold_tasks(ids)}{throttle}]"

    def left(self, job: T) -> list[int]:
        """Take note that a job of the array is over; give the ids of its tasks: one, or all that still waited."""
        if job.state is not JobState.COMPLETED:
            self.worst = job.state
        if job.task_id is not None:
            self.tasks.pop(job.task_id, None)
            return [job.task_id]
        self.over, self.pending = self.pending, []
        return self.over

    # ---- as a start limit -------------------------------------------------------------------------------------

    def holds_back_all(self) -> bool:
        """Whether as many tasks run as may."""
        return bool(self.throttle) and self.running >= self.throttle

    def holds_back(self, job: object, resources: int) -> Excess | None:  # noqa: ARG002 - they are all the same
        """Give the bound, if as many tasks run as may."""
        if self.holds_back_all():
            limit = Limit(Reason.JOB_ARRAY_TASK_LIMIT, f"array {self.job_id}", f"%{self.throttle}", self.throttle)
            return Excess(limit, self.running, 1)
        return None

    def started(self, job: T) -> None:
        """Count a task that runs."""
        self.running += 1
        self.latest, self.last_start = job, job.start_time

    def ended(self, job: object) -> None:  # noqa: ARG002 - they are all the same
        """Count it no more."""
        self.running -= 1

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give it as data that JSON can hold, without its jobs."""
        plain = ("job_id", "throttle", "pending", "last_start", "_next_id")
        others = {"ids": sorted(self._ids), "worst": self.worst.value}
        return {name: getattr(self, name) for name in plain} | others

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> JobArray[T]:
        """Make it again; its jobs are added one by one, and count as running when they do."""
        made = cls(saved["job_id"], ArrayTasks(tuple(saved["ids"]), saved["throttle"]))
        made.pending = saved["pending"]
        made.last_start, made._next_id = saved["last_start"], saved["_next_id"]
        made.worst = JobState(saved["worst"])
        return made
