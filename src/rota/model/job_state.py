"""Job states."""

from __future__ import annotations

from enum import Enum


class JobState(Enum):
    """Slurm's base states. The value is the long name; ``compact`` is the short one of ``squeue``."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    DEADLINE = "DEADLINE"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__

    @property
    def compact(self) -> str:
        """The short name of two letters, as ``squeue -o %t`` shows it."""
        return _COMPACT[self]

    @property
    def finished(self) -> bool:
        """Whether the job has ended."""
        return self not in _LIVE

    def __str__(self) -> str:
        """Give the long name."""
        return self.value


#: States of a job that has started, has not ended, and is not completing.
RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED})
_LIVE = RUNS | {JobState.PENDING}
_COMPACT = {
    JobState.PENDING: "PD",
    JobState.RUNNING: "R",
    JobState.SUSPENDED: "S",
    JobState.COMPLETED: "CD",
    JobState.CANCELLED: "CA",
    JobState.FAILED: "F",
    JobState.TIMEOUT: "TO",
    JobState.NODE_FAIL: "NF",
    JobState.DEADLINE: "DL",
    JobState.PREEMPTED: "PR",
    JobState.BOOT_FAIL: "BF",
    JobState.OUT_OF_MEMORY: "OOM",
}
