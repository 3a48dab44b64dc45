"""The record of a job that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rota.model.job_spec import JobSpec
    from rota.model.job_state import JobState
    from rota.model.reason import Reason
    from rota.model.step import StepRecord


class JobRecord(NamedTuple):
    """A job that has ended. A named tuple, since a replay makes hundreds of thousands of them.

    Each task of a job array that has run has a record; tasks that were cancelled while pending share one.
    """

    job_id: int
    spec: JobSpec
    state: JobState
    #: Why the job ended in this state.
    reason: Reason
    #: Name of the partition in which the job ran, or was to run last.
    partition: str
    #: The account that was charged; empty: it was never looked up.
    account: str
    qos: str
    #: Job id of the job array, and the ids of the tasks of this record; ``None`` and empty: the job is of no array.
    array_job_id: int | None
    tasks: tuple[int, ...]
    #: Whether the last task of the array has ended.
    array_is_over: bool
    #: Unix seconds; ``None``: the job never became eligible or never started.
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    end_time: int
    #: Seconds for which the job was suspended during its last run.
    suspended: int
    #: Time limit in seconds.
    time_limit: int
    priority: int
    restart_count: int
    #: Exit code of the script, and the signal that ended it; 0: none.
    exit_code: int
    signal: int
    #: The last allocation, as a resource set, and the bitmap of its nodes; 0: none.
    resources: int
    nodes: int
    steps: tuple[StepRecord, ...]
    #: User id of who has cancelled it; ``None``: nobody has, or it was the machine's doing.
    cancelled_by: int | None

    @property
    def task_id(self) -> int | None:
        """The task id; ``None``: the job is of no array, or the record is of several tasks."""
        return self.tasks[0] if len(self.tasks) == 1 else None
