"""What is handed out of a job when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rota.model.job_spec import JobSpec
    from rota.model.job_state import JobState
    from rota.model.reason import Reason
    from rota.model.step import StepRecord


class JobRecord(NamedTuple):
    """A job that is over, for good: a named tuple, since a replay makes hundreds of thousands of them.

    Of a job array each task that ran has one; those that were cancelled while they waited together have one in common.
    """

    job_id: int
    spec: JobSpec
    state: JobState
    #: Why it ended so.
    reason: Reason
    #: Name of the partition in which it ran, or which it was last to run in.
    partition: str
    #: Whom it was charged to; empty: nobody has asked.
    account: str
    qos: str
    #: The array that it was of, by its job id, and the tasks that are over with it; ``None`` and empty: it is of none.
    array_job_id: int | None
    tasks: tuple[int, ...]
    #: Whether no task of the array is left.
    array_is_over: bool
    #: Unix seconds; ``None``: it never was eligible, never started.
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    end_time: int
    #: Seconds of its last run during which it was suspended.
    suspended: int
    #: Seconds.
    time_limit: int
    priority: int
    restart_count: int
    #: How it ended: the exit code of its script, and the signal that ended it; 0: none.
    exit_code: int
    signal: int
    #: What it held last, as a resource set, and the bitmap of the nodes of that; 0: nothing.
    resources: int
    nodes: int
    steps: tuple[StepRecord, ...]

    @property
    def task_id(self) -> int | None:
        """Which task of its array it was; ``None``: it is of none, or stands for several."""
        return self.tasks[0] if len(self.tasks) == 1 else None
