"""Job arrays: tasks that are submitted together, and pending as one record.

In the queue, the record stands for all tasks that have not started. A task that starts, or is addressed by itself, is
split off as a job of its own; the last task takes over the record. An array of n tasks takes n job ids, beginning with
the record's. Tasks that have ended can be queued again, each with the job id that it had.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rota.core.limits.start_limits import Excess, Limit
from rota.model import JobState, Reason
from rota.model.array import ArrayTasks, fold_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence


class Task(Protocol):
    """What an array needs to know of a job."""

    @property
    def state(self) -> JobState:
        """State of the job."""

    @property
    def task_id(self) -> int | None:
        """Task id; ``None`` for the record of the pending tasks."""

    @property
    def start_time(self) -> int | None:
        """Start, Unix seconds."""


T = TypeVar("T", bound=Task)


class JobArray(Generic[T]):
    """The state that the tasks of an array share."""

    __slots__ = (
        "_ids",
        "_next_id",
        "failed",
        "job_id",
        "last_start",
        "latest",
        "over",
        "pending",
        "record",
        "running",
        "tasks",
        "throttle",
    )

    def __init__(self, job_id: int, tasks: ArrayTasks) -> None:
        #: Job id of the record, which identifies the array.
        self.job_id = job_id
        self.throttle = tasks.throttle
        #: Ids of the tasks that have not been split off, ascending.
        self.pending = list(tasks.ids)
        #: The job that stands for these tasks, and is the last of them in the end.
        self.record: T | None = None
        #: Live tasks that were split off, by task id.
        self.tasks: dict[int, T] = {}
        #: Number of these that hold resources.
        self.running = 0
        #: The task that was started last since the engine was started, and the time of the last start of all, Unix
        #: seconds.
        self.latest: T | None = None
        self.last_start: int | None = None
        #: Ids of tasks that ended without being split off.
        self.over: list[int] = []
        #: Final states of the tasks that have ended, and whose last run has not completed.
        self.failed: dict[int, JobState] = {}
        self._next_id = job_id + 1
        self._ids = frozenset(tasks.ids)

    @property
    def is_over(self) -> bool:
        """Whether all tasks have ended."""
        return not self.pending and not self.tasks

    @property
    def worst(self) -> JobState:
        """COMPLETED, unless a task has ended in another state."""
        return next(reversed(self.failed.values()), JobState.COMPLETED)

    @property
    def ids(self) -> range:
        """Job ids of the tasks."""
        return range(self.job_id, self.job_id + len(self._ids))

    def has(self, task_id: int) -> bool:
        """Whether a task id belongs to the array."""
        return task_id in self._ids

    def waits(self, task_id: int) -> bool:
        """Whether a task has not been split off, and has not ended."""
        place = bisect_left(self.pending, task_id)
        return place < len(self.pending) and self.pending[place] == task_id

    def take_id(self) -> int:
        """Give the job id for a task that is split off."""
        self._next_id += 1
        return self._next_id - 1

    def task_text(self, task_id: int | None) -> str:
        """Format the task id of a job or, for the record, of all pending tasks: ``2``, ``[3-5%2]``."""
        if task_id is not None:
            return str(task_id)
        ids = self.pending or self.over
        if len(ids) == 1 < len(self._ids):  # the last task is shown like the others
            return str(ids[0])
        throttle = f"%{self.throttle}" if self.throttle and self.pending else ""
        return f"[{fold_tasks(ids)}{throttle}]"

    def left(self, job: T) -> list[int]:
        """Note that a job of the array has ended; give the ids of its tasks: one, or all pending ones."""
        if job.task_id is not None:
            self.tasks.pop(job.task_id, None)
            over = [job.task_id]
        else:
            over = self.over = self.pending
            self.pending = []
        for task_id in over:
            self.failed.pop(task_id, None)
            if job.state is not JobState.COMPLETED:
                self.failed[task_id] = job.state
        return over

    # ---- queueing tasks again ---------------------------------------------------------------------------------

    @classmethod
    def of_ended(cls, job_id: int, tasks: ArrayTasks) -> JobArray[T]:
        """Make an array anew, all of whose tasks have ended."""
        made = cls(job_id, tasks)
        made.pending = []
        made._next_id = made.ids.stop
        return made

    def has_ended(self, job_id: int, tasks: Sequence[int]) -> bool:
        """Whether a job of these tasks can be one that has ended: one task, or several in the array's record."""
        if not tasks or any(not self.has(one) or one in self.tasks or self.waits(one) for one in tasks):
            return False
        if job_id == self.job_id:
            return not self.pending
        return len(tasks) == 1 and self.job_id < job_id < self._next_id

    def put_back(self, job: T, tasks: Sequence[int]) -> None:
        """Take a job up again, which has ended; see `has_ended`."""
        for task_id in tasks:
            self.failed.pop(task_id, None)
        if job.task_id is not None:
            self.tasks[job.task_id] = job
        else:
            self.record, self.pending = job, list(tasks)
            self._next_id = self.ids.stop - len(tasks) + 1

    # ---- as a start limit -------------------------------------------------------------------------------------

    def holds_back_all(self) -> bool:
        """Whether as many tasks are running as the throttle allows."""
        return bool(self.throttle) and self.running >= self.throttle

    def holds_back(self, job: object, resources: int) -> Excess | None:  # noqa: ARG002 - they are all the same
        """Give the throttle, if as many tasks are running as it allows."""
        if self.holds_back_all():
            limit = Limit(Reason.JOB_ARRAY_TASK_LIMIT, f"array {self.job_id}", f"%{self.throttle}", self.throttle)
            return Excess(limit, self.running, 1)
        return None

    def started(self, job: T) -> None:
        """Count a running task."""
        self.running += 1
        self.latest, self.last_start = job, job.start_time

    def ended(self, job: object) -> None:  # noqa: ARG002 - they are all the same
        """Cease to count a task."""
        self.running -= 1

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give the array as JSON data, without its jobs."""
        plain = ("job_id", "throttle", "pending", "last_start", "_next_id")
        failed = [[task_id, state.value] for task_id, state in self.failed.items()]
        others = {"ids": sorted(self._ids), "failed": failed}
        return {name: getattr(self, name) for name in plain} | others

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> JobArray[T]:
        """Restore an array. Its jobs are added later, and count as running when they are."""
        made = cls(saved["job_id"], ArrayTasks(tuple(saved["ids"]), saved["throttle"]))
        made.pending = saved["pending"]
        made.last_start, made._next_id = saved["last_start"], saved["_next_id"]
        # States saved before have the worst state alone.
        failed = saved["failed"] if "failed" in saved else [[-1, saved["worst"]]]
        made.failed = {task_id: state for task_id, one in failed if (state := JobState(one)) is not JobState.COMPLETED}
        return made
