"""The clock of a live cluster.

Cluster time is the wall clock's when the cluster starts, and goes on with the machine's monotonic clock. So neither a
wall clock that is set nor a machine that sleeps shortens anybody's time limit. Whenever no job runs, cluster time
catches up with a wall clock that is ahead; it never goes back.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Seconds by which the wall clock may be ahead.
_AHEAD = 2.0


class ClusterClock:
    """The clock of a live cluster.

    Args:
        saved: What `save` gave before a restart; ``None``: the cluster is new.
        last: The latest time that the cluster has known, Unix seconds.
        wall: Gives the wall clock's time.
        monotonic: Gives the time of a clock that is never set, and stands still while the machine sleeps.
        boot_id: Differs after the machine was booted anew.
    """

    def __init__(
        self,
        saved: Mapping[str, Any] | None = None,
        *,
        last: int = 0,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        boot_id: str | None = None,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self.boot_id = _boot_id() if boot_id is None else boot_id
        #: Whether the machine was booted since the state was saved.
        self.was_booted = saved is not None and saved["boot_id"] != self.boot_id
        #: Cluster time minus monotonic time.
        self._offset: float = max(wall(), last) - monotonic()
        if saved is not None and not self.was_booted:
            self._offset = max(saved["offset"], last - monotonic())

    def now(self) -> int:
        """Give the time, Unix seconds."""
        return int(self._monotonic() + self._offset)

    def at(self, wall: float) -> int:
        """Convert a recent time of the wall clock, Unix seconds."""
        return min(self.now(), int(wall + self._monotonic() + self._offset - self._wall()))

    def until(self, moment: int) -> float:
        """Give the seconds until a time."""
        return moment - self._monotonic() - self._offset

    def catch_up(self) -> bool:
        """Adopt the wall clock's time if it is ahead; say whether it was."""
        ahead = self._wall() - self._monotonic() - self._offset
        if ahead < _AHEAD:
            return False
        self._offset += ahead
        return True

    def save(self) -> dict[str, Any]:
        """Give the state as JSON data."""
        return {"boot_id": self.boot_id, "offset": self._offset}


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
