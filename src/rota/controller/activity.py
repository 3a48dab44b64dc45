"""What a controller has done since it was started, for ``sdiag``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.controller.calls import Calls
from rota.model import JobState
from rota.model.lines import Activity, BackfillTimes

if TYPE_CHECKING:
    from rota.model.lines import BackfillStatistics

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
        #: When the last pass was made, Unix seconds; 0: none was.
        self.last_pass_at = 0
        self.calls = Calls()
        self._backfill: BackfillTimes | None = None
        #: Number of backfill's cycles, and of those measured here with their sums: time, depth, queue, table.
        self._cycles, self._measured, self._sums = 0, 0, (0, 0, 0, 0)

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

    def passed(self, seconds: float, now: int) -> None:
        """Count a scheduling pass that took so long."""
        self.last_pass_at = now
        self._last = int(seconds * 1e6)
        self._longest = max(self._longest, self._last)
        self._total += self._last
        self._passes += 1

    def backfilled(self, found: BackfillStatistics | None, seconds: float, now: int) -> None:
        """Notice whether backfill has made a cycle in something that took so long."""
        if found is None or found.cycles == self._cycles:
            return
        self._cycles, self._measured = found.cycles, self._measured + 1
        took = int(seconds * 1e6)
        new = took, found.last_depth, found.last_queue_length, found.last_table_size
        self._sums = tuple(map(sum, zip(self._sums, new, strict=True)))  # type: ignore[assignment] # four again
        mean, depth, queue, table = (one // self._measured for one in self._sums)
        longest = max(took, self._backfill.longest if self._backfill else 0)
        self._backfill = BackfillTimes(
            last_at=now,
            last=took,
            longest=longest,
            mean=mean,
            mean_depth=depth,
            mean_queue_length=queue,
            mean_table_size=table,
        )

    def activity(self) -> Activity:
        """Give the counts."""
        return Activity(
            since=self._since,
            jobs=dict(self._jobs),
            passes=self._passes,
            last_pass=self._last,
            longest_pass=self._longest,
            mean_pass=self._total // max(self._passes, 1),
            backfill=self._backfill,
            calls=self.calls.messages(),
            calls_by_user=self.calls.users(),
        )
