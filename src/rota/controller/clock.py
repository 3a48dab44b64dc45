"""The clock of a live cluster.

Cluster time is the wall clock's when the cluster starts, and goes on with the machine's monotonic clock. So neither a
wall clock that is set nor a machine that sleeps shortens anybody's time limit. Whenever no job runs, cluster time
catches up with a wall clock that is ahead:

- at once by as much as the machine has slept, and where it shows a year in which rota was not written yet, as machines
  without a clock of their own do until they have asked for the time;
- else when the wall clock has gone on from there for long enough: the farther it is ahead, the longer, as one that is
  wrong for a moment must not take the cluster along.

It never goes back while there is a controller. One that is started when no job runs, and finds that cluster time is
far ahead, does: that is how a cluster comes back from a year to which a wrong clock has led it after all.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Seconds by which the wall clock may be ahead.
_AHEAD = 2.0
#: For how long one that is ahead has to go on from there: a part of how far that is, at least, and at most; seconds.
_PART, _LEAST, _MOST = 600, 60.0, 3600.0
#: Seconds by which cluster time has to be ahead to go back, and for which a machine that has just been booted may not
#: have asked for the time.
_FAR, _BOOTING = 600.0, 600.0
#: A time before which rota was not written: no clock that shows it is right.
_WRITTEN = 1_767_225_600


def _slept() -> float:
    """Give for how many seconds the machine has slept since it was booted."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


class ClusterClock:
    """The clock of a live cluster.

    Args:
        saved: What `save` gave before a restart; ``None``: the cluster is new.
        last: The latest time that the cluster has known, Unix seconds.
        may_go_back: Whether nothing depends on its going on: no job runs.
        wall: Gives the wall clock's time.
        monotonic: Gives the time of a clock that is never set, and stands still while the machine sleeps.
        slept: Gives for how long it has slept.
        boot_id: Differs after the machine was booted anew.
    """

    def __init__(
        self,
        saved: Mapping[str, Any] | None = None,
        *,
        last: int = 0,
        may_go_back: bool = False,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        slept: Callable[[], float] = _slept,
        boot_id: str | None = None,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._slept = slept
        self.boot_id = _boot_id() if boot_id is None else boot_id
        #: Whether the machine was booted since the state was saved.
        self.was_booted = saved is not None and saved["boot_id"] != self.boot_id
        #: Cluster time minus monotonic time.
        self._offset: float = max(wall(), last) - monotonic()
        #: For how long the machine had slept when cluster time was last that of the wall clock.
        self._slept_before = slept()
        if saved is not None and not self.was_booted:
            self._offset = max(saved["offset"], last - monotonic())
            self._slept_before = saved.get("slept", self._slept_before)
        #: What the wall clock minus monotonic time has been since a monotonic time, if it is ahead.
        self._found: tuple[float, float] | None = None
        #: By how many seconds cluster time has gone back.
        self.went_back = 0
        if may_go_back and self.ahead >= _FAR and wall() >= _WRITTEN and not self._is_booting:
            self.went_back = int(self.ahead)
            self._adopt()

    @property
    def _is_booting(self) -> bool:
        return self.was_booted and self._monotonic() < _BOOTING

    @property
    def ahead(self) -> float:
        """By how many seconds cluster time is ahead of the wall clock."""
        return self._monotonic() + self._offset - self._wall()

    def now(self) -> int:
        """Give the time, Unix seconds."""
        return int(self._monotonic() + self._offset)

    def at(self, wall: float) -> int:
        """Convert a recent time of the wall clock, Unix seconds."""
        return min(self.now(), int(wall + self._monotonic() + self._offset - self._wall()))

    def until(self, moment: int) -> float:
        """Give the seconds until a time."""
        return moment - self._monotonic() - self._offset

    def catch_up(self, *, idle: bool) -> bool:
        """Adopt the wall clock's time if it is ahead and can be believed; say whether that was done.

        Call it often, also while that cannot be done.

        Args:
            idle: Whether no job runs, so that it can be done.
        """
        behind = -self.ahead
        if behind < _AHEAD:
            self._found = None
            return False
        if not (self._has_gone_on(behind) or self._is_explained(behind)) or not idle:
            return False
        self._adopt()
        return True

    def _is_explained(self, behind: float) -> bool:
        """Whether the machine has slept for so long, or had no time before."""
        return behind < self._slept() - self._slept_before + _AHEAD or self.now() < _WRITTEN

    def _has_gone_on(self, behind: float) -> bool:
        """Whether the wall clock has gone on for long enough since it was last set."""
        now = self._monotonic()
        offset = self._wall() - now
        if self._found is None or abs(offset - self._found[0]) > _AHEAD:
            self._found = offset, now
        return now >= self._found[1] + min(max(behind / _PART, _LEAST), _MOST)

    def _adopt(self) -> None:
        self._offset = self._wall() - self._monotonic()
        self._slept_before = self._slept()
        self._found = None

    def save(self) -> dict[str, Any]:
        """Give the state as JSON data."""
        return {"boot_id": self.boot_id, "offset": self._offset, "slept": self._slept_before}


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
