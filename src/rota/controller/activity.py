"""What a controller has done since it was started, or since its counts were reset, for ``sdiag``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from rota.controller.calls import Calls
from rota.model import JobState
from rota.model.lines import Activity, BackfillTimes

if TYPE_CHECKING:
    from rota.model.lines import BackfillStatistics, Statistics

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
        #: The engine's statistics when counts were reset; ``None``: they were not.
        self._before: Statistics | None = None

    def reset(self, found: Statistics) -> None:
        """Begin anew with all counts, and with the longest times.

        Args:
            found: The engine's statistics, which go on.
        """
        self._since, self._before = found.now, found
        self._jobs.clear()
        self._longest = self._total = self._passes = 0
        self.calls = Calls()
        self._measured, self._sums = 0, (0, 0, 0, 0)
        if self._backfill is not None:
            self._backfill = replace(self._backfill, last=0, longest=0)

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

    def statistics(self, found: Statistics) -> Statistics:
        """Give the engine's statistics with these counts, all since the last reset."""
        found = replace(found, activity=self._activity())
        if self._before is None:
            return found
        main, before = found.main, self._before.main
        cycles, depth = main.cycles - before.cycles, main.depth - before.depth
        main = replace(
            main,
            cycles=cycles,
            depth=depth,
            mean_depth=depth / cycles if cycles else 0.0,
            jobs_started=main.jobs_started - before.jobs_started,
        )
        return replace(found, main=main, backfill=_since(found.backfill, self._before.backfill))

    def _activity(self) -> Activity:
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


def _since(found: BackfillStatistics | None, before: BackfillStatistics | None) -> BackfillStatistics | None:
    """Give backfill's statistics since those of a reset; without a cycle since then, of the last its table alone."""
    if found is None or before is None or found.cycles < before.cycles:  # as its plugin was loaded again
        return found
    cycles, started = found.cycles - before.cycles, found.jobs_started - before.jobs_started
    found = replace(found, cycles=cycles, jobs_started=started)
    return found if cycles else replace(found, last_depth=0, last_queue_length=0)
