"""The table of all changes of job states."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from rota.model import InvariantError, JobState

if TYPE_CHECKING:
    from rota.core.job import Job


class Trigger(Enum):
    """Why a job changes its state."""

    START = auto()
    EXIT_OK = auto()
    EXIT_ERROR = auto()
    TIME_LIMIT = auto()
    CANCEL = auto()
    LAUNCH_FAIL = auto()
    NODE_LOST = auto()
    REQUEUE = auto()
    DEADLINE = auto()
    PREEMPT = auto()
    OUT_OF_MEMORY = auto()
    BOOT_FAIL = auto()
    SUSPEND = auto()
    RESUME = auto()

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__


#: (state, trigger) to the next state. There are no other changes.
TRANSITIONS: dict[tuple[JobState, Trigger], JobState] = {
    (JobState.PENDING, Trigger.START): JobState.RUNNING,
    (JobState.PENDING, Trigger.CANCEL): JobState.CANCELLED,
    (JobState.PENDING, Trigger.DEADLINE): JobState.DEADLINE,
    (JobState.RUNNING, Trigger.EXIT_OK): JobState.COMPLETED,
    (JobState.RUNNING, Trigger.EXIT_ERROR): JobState.FAILED,
    (JobState.RUNNING, Trigger.TIME_LIMIT): JobState.TIMEOUT,
    (JobState.RUNNING, Trigger.CANCEL): JobState.CANCELLED,
    (JobState.RUNNING, Trigger.LAUNCH_FAIL): JobState.FAILED,
    (JobState.RUNNING, Trigger.NODE_LOST): JobState.NODE_FAIL,
    (JobState.RUNNING, Trigger.REQUEUE): JobState.PENDING,
    (JobState.RUNNING, Trigger.PREEMPT): JobState.PREEMPTED,
    (JobState.RUNNING, Trigger.OUT_OF_MEMORY): JobState.OUT_OF_MEMORY,
    (JobState.RUNNING, Trigger.BOOT_FAIL): JobState.BOOT_FAIL,
    (JobState.RUNNING, Trigger.SUSPEND): JobState.SUSPENDED,
    (JobState.SUSPENDED, Trigger.RESUME): JobState.RUNNING,
    (JobState.SUSPENDED, Trigger.EXIT_OK): JobState.COMPLETED,
    (JobState.SUSPENDED, Trigger.EXIT_ERROR): JobState.FAILED,
    (JobState.SUSPENDED, Trigger.OUT_OF_MEMORY): JobState.OUT_OF_MEMORY,
    (JobState.SUSPENDED, Trigger.LAUNCH_FAIL): JobState.FAILED,
    (JobState.SUSPENDED, Trigger.BOOT_FAIL): JobState.BOOT_FAIL,
    (JobState.SUSPENDED, Trigger.CANCEL): JobState.CANCELLED,
    (JobState.SUSPENDED, Trigger.NODE_LOST): JobState.NODE_FAIL,
    (JobState.SUSPENDED, Trigger.REQUEUE): JobState.PENDING,
}


def change_state(job: Job, trigger: Trigger) -> None:
    """Change a job's state. No other code does.

    Raises:
        InvariantError: the table has no such transition.
    """
    try:
        job.state = TRANSITIONS[job.state, trigger]
    except KeyError:
        raise InvariantError(f"job {job.job_id}: {job.state} has no transition for {trigger.name}") from None
