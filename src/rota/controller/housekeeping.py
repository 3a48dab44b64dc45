"""What a controller looks after from time to time, beside its work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rota.store.writes import purge

if TYPE_CHECKING:
    from collections.abc import Callable

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
    - Jobs that ended long ago are removed from accounting, and events that are needed no more: some in each round, as
      others wait meanwhile.
    - What was handed in with jobs that ended more than ``MinJobAge`` ago is removed.

    Args:
        driver: The driver.
        clock: The cluster's clock.
        keep: Seconds for which jobs that have ended are kept; 0: for ever.
        oldest: Gives when the job ended that ended first.
        listen: Makes the socket again if it is gone.
        forget: Gives what to write so that what came with jobs that ended before a time is kept no longer.
    """

    def __init__(
        self,
        driver: LiveDriver,
        clock: ClusterClock,
        *,
        keep: int,
        oldest: Callable[[], int | None],
        listen: Callable[[], object],
        forget: Callable[[int], list[Write]],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._keep = keep
        self._oldest = oldest
        self._purged = 0
        self._listen = listen
        self._forget = forget

    async def run(self) -> None:
        """Go round until cancelled."""
        while True:
            self._listen()
            if not any(job.alloc for job in self._driver.engine.jobs.values()) and self._clock.catch_up():
                self._driver.clock_changed()
            now = self._clock.now()
            least_age = self._driver.engine.view.settings.min_job_age
            if not self._driver.trouble and (writes := self._forget(now - least_age)):
                self._driver.write(writes)
            self._purge(now)
            await asyncio.sleep(_ROUND)

    def _purge(self, now: int) -> None:
        """Remove what is due, in rounds that follow each other as long as there is more."""
        ended_before = now - self._keep if self._keep else 0
        if now - self._purged >= min(self._keep or _PURGE, _PURGE):
            self._purged = now
            self._driver.write(purge(ended_before))
        if ended_before and (oldest := self._oldest()) is not None and oldest < ended_before:
            self._purged = 0
