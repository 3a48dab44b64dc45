"""What a controller looks after from time to time, beside its work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rota.store.writes import purge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.store import Write

#: Seconds between two rounds, and the longest time between two purges.
_ROUND = 2.0
_PURGE = 600


class Housekeeping:
    """Looks after a controller.

    - Cluster time catches up with the wall clock while no job has resources.
    - The socket is made again if it was removed.
    - What belongs to commands that are gone for good is ended.
    - Jobs that ended long ago are removed from accounting, and the events before.
    - What was handed in with jobs that ended more than ``MinJobAge`` ago is removed.

    Args:
        driver: The driver.
        clock: The cluster's clock.
        keep: Seconds for which jobs that have ended are kept; 0: for ever.
        looks: Each looks after something in each round.
        forget: Gives what to write so that what came with jobs that ended before a time is kept no longer.
    """

    def __init__(
        self,
        driver: LiveDriver,
        clock: ClusterClock,
        *,
        keep: int,
        looks: Sequence[Callable[[], object]],
        forget: Callable[[int], list[Write]],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._keep = keep
        self._looks = looks
        self._forget = forget

    async def run(self) -> None:
        """Go round until cancelled."""
        purged = 0
        while True:
            for look in self._looks:
                look()
            if not any(job.alloc for job in self._driver.engine.jobs.values()) and self._clock.catch_up():
                self._driver.clock_changed()
            now = self._clock.now()
            least_age = self._driver.engine.view.settings.min_job_age
            if not self._driver.trouble and (writes := self._forget(now - least_age)):
                self._driver.write(writes)
            if self._keep and now - purged >= min(self._keep, _PURGE):
                purged = now
                self._driver.write(purge(now - self._keep, self._driver.saved_seq))
            await asyncio.sleep(_ROUND)
