"""How many jobs the controller knows, for ``MaxJobCount``: those that live, and those that ended recently.

As in Slurm, each task of an array counts, and a job that has ended counts for ``MinJobAge``.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.model.array import parse_array

if TYPE_CHECKING:
    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.model import JobRecord, JobSpec
    from rota.store import Database


class KnownJobs:
    """Counts the jobs that the controller knows.

    Args:
        driver: The driver, which tells of the jobs that end.
        database: Knows the jobs that ended before.
        clock: The cluster's clock.
    """

    def __init__(self, driver: LiveDriver, database: Database, clock: ClusterClock) -> None:
        self._driver = driver
        self._clock = clock
        #: When the jobs ended that are still known, Unix seconds.
        now = clock.now()  # some may have ended later, by a clock that was wrong
        self._ends = deque(end for end in database.end_times(since=self._oldest) if end <= now)
        driver.on_finished.append(self._ended)

    def _ended(self, record: JobRecord) -> None:
        self._ends.append(record.end_time)

    @property
    def _oldest(self) -> int:
        return self._clock.now() - self._driver.engine.view.settings.min_job_age

    def count(self) -> int:
        """Count them."""
        while self._ends and self._ends[0] < self._oldest:
            self._ends.popleft()
        return self._driver.engine.view.job_count() + len(self._ends)

    def too_many(self, spec: JobSpec) -> str:
        """Say why one more job or array cannot be taken: there would be ``MaxJobCount``; empty: it can."""
        settings, new = self._driver.engine.view.settings, 1
        with suppress(ValueError):  # the engine says what is wrong with it
            new = len(parse_array(spec.array, settings.max_array_size).ids) if spec.array else 1
        most = settings.max_job_count
        if self.count() + new < most:
            return ""
        return f"Resource temporarily unavailable: there are as many jobs as MaxJobCount={most} permits; wait for some"
