"""How many jobs the controller knows, for ``MaxJobCount``: those that live, and those that ended recently.

As in Slurm, each task of an array counts, and a job that has ended counts for ``MinJobAge``.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.model.array import check_array

if TYPE_CHECKING:
    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.model import JobSpec
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
        #: When the jobs ended that are still known, Unix seconds, with their ids and those of their arrays.
        self._ends: deque[tuple[int, int, int | None]] = deque()
        #: How many of these there are, by id.
        self._ids: Counter[int | None] = Counter()
        now = clock.now()  # some may have ended later, by a clock that was wrong
        for one in database.recent_ends(since=self._oldest):
            if one[0] <= now:
                self._add(*one)
        driver.on_finished.append(lambda record: self._add(record.end_time, record.job_id, record.array_job_id))

    def _add(self, end_time: int, job_id: int, array_job_id: int | None) -> None:
        self._ends.append((end_time, job_id, array_job_id))
        self._ids.update({job_id, array_job_id})

    def has_ended(self, job_id: int) -> bool:
        """Whether a job of this id, or one of an array of this id, ended recently."""
        return job_id in self._ids

    @property
    def _oldest(self) -> int:
        return self._clock.now() - self._driver.engine.view.settings.min_job_age

    def count(self) -> int:
        """Count them."""
        while self._ends and self._ends[0][0] < self._oldest:
            _, *ids = self._ends.popleft()
            for one in set(ids):
                self._ids[one] -= 1
                if not self._ids[one]:
                    del self._ids[one]
        return self._driver.engine.view.job_count() + len(self._ends)

    def too_many(self, spec: JobSpec) -> str:
        """Say why one more job or array cannot be taken: there would be ``MaxJobCount``; empty: it can."""
        settings, new = self._driver.engine.view.settings, 1
        with suppress(ValueError):  # the engine says what is wrong with it
            new = sum(map(len, check_array(spec.array, settings.max_array_size)[0])) if spec.array else 1
        most = settings.max_job_count
        if self.count() + new < most:
            return ""
        return f"Resource temporarily unavailable: there are as many jobs as MaxJobCount={most} permits; wait for some"
