"""What a controller has done since it was started, for ``sdiag``."""

from __future__ import annotations

from collections import Counter

from rota.model import JobState
from rota.model.lines import Activity

#: States of jobs that the machine has failed. Whatever else a job did itself, it has completed, as Slurm counts.
_FAILED = frozenset({JobState.NODE_FAIL, JobState.BOOT_FAIL})


class Tally:
    """Counts jobs and scheduling passes.

    Args:
        now: The time now, Unix seconds.
    """

    def __init__(self, now: int) -> None:
        self._since = now
        self._jobs: Counter[str] = Counter()
        #: Times of passes in microseconds: of the last, of the longest, and of all together; and their number.
        self._last = self._longest = self._total = self._passes = 0

    def submitted(self) -> None:
        """Count a job, or a job array, that was handed in."""
        self._jobs["submitted"] += 1

    def started(self) -> None:
        """Count a job that was started."""
        self._jobs["started"] += 1

    def ended(self, state: JobState) -> None:
        """Count a job that has ended."""
        cancelled = state is JobState.CANCELLED
        self._jobs["canceled" if cancelled else "failed" if state in _FAILED else "completed"] += 1

    def passed(self, seconds: float) -> None:
        """Count a scheduling pass that took so long."""
        self._last = int(seconds * 1e6)
        self._longest = max(self._longest, self._last)
        self._total += self._last
        self._passes += 1

    def activity(self) -> Activity:
        """Give the counts."""
        return Activity(
            since=self._since,
            jobs=dict(self._jobs),
            passes=self._passes,
            last_pass=self._last,
            longest_pass=self._longest,
            mean_pass=self._total // max(self._passes, 1),
        )
