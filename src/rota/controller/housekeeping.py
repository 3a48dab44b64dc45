"""What a controller looks after from time to time, beside its work."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rota.store import DatabaseError
from rota.store.writes import purge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.store import Write

#: Seconds between two rounds, and the longest time between two purges.
_ROUND = 2.0
_PURGE = 600
#: Seconds by which the clock may jump forward, and nothing be removed for as long.
_JUMP = 86_400


class Housekeeping:
    """Looks after a controller.

    - Cluster time catches up with the wall clock while no job has resources; see `rota.controller.clock`.
    - The socket is made again if it was removed.
    - What belongs to commands that are gone for good is ended.
    - Jobs that ended long ago are removed from accounting, and events that are needed no more: some in each round, as
      others wait meanwhile.
    - What was handed in with jobs that ended more than ``MinJobAge`` ago is removed.

    Args:
        driver: The driver.
        clock: The cluster's clock.
        keep: Seconds for which jobs that have ended are kept; 0: for ever.
        oldest: Gives when the job ended that ended first.
        last: Time of the last event, Unix seconds. What the clock says is believed a day later where it jumps by more.
        looks: Each looks after something in each round.
        forget: Gives what to write so that what came with jobs that ended before a time is kept no longer.
        log: Writes a line for the administrator.
    """

    def __init__(
        self,
        driver: LiveDriver,
        clock: ClusterClock,
        *,
        keep: int,
        oldest: Callable[[], int | None],
        last: int,
        looks: Sequence[Callable[[], object]],
        forget: Callable[[int], list[Write]],
        log: Callable[[str], None],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._keep = keep
        self._oldest = oldest
        #: Time of the last round, Unix seconds; and when the next purge is due, by a clock that is never set.
        self._last = last
        self._purge_at = 0.0
        self._looks = looks
        self._forget = forget
        self._log = log

    async def run(self) -> None:
        """Go round until cancelled."""
        while True:
            for look in self._looks:
                look()
            before = self._clock.ahead
            if self._clock.catch_up(idle=not any(job.alloc for job in self._driver.engine.jobs.values())):
                self._log(f"cluster time has caught up with the machine's clock, which was {-before:,.0f} s ahead")
                self._driver.clock_changed()
            now = self._clock.now()
            least_age = self._driver.engine.view.settings.min_job_age
            if not self._driver.trouble and (writes := self._forget(now - least_age)):
                self._driver.write(writes)
            self._purge(now)
            await asyncio.sleep(_ROUND)

    def _purge(self, now: int) -> None:
        """Remove what is due, in rounds that follow each other as long as there is more."""
        if now - self._last > _JUMP:  # it may be the clock of the machine that is wrong
            self._purge_at = time.monotonic() + _JUMP
        self._last = now
        if self._driver.trouble or time.monotonic() < self._purge_at:
            return
        ended_before = now - self._keep if self._keep else 0
        self._driver.write(purge(ended_before))
        try:
            oldest = self._oldest()
        except DatabaseError:  # who writes to it notices, too
            return
        if oldest is None or oldest >= ended_before:
            self._purge_at = time.monotonic() + min(self._keep or _PURGE, _PURGE)
