"""The engine's timers: one-shot ones, periodic ones, and periodic ones that sleep while nothing changes."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _nothing() -> None:
    """What a stopped timer does."""


class _Timer:
    """One timer. ``interval`` 0 is one-shot."""

    __slots__ = ("fn", "interval", "only_after_change", "origin", "quiet")

    def __init__(
        self, fn: Callable[[], object], origin: int, interval: int, *, only_after_change: bool, quiet: bool
    ) -> None:
        self.fn = fn
        self.origin = origin
        self.interval = interval
        self.only_after_change = only_after_change
        #: No scheduling pass need follow.
        self.quiet = quiet

    def next_due(self, now: int) -> int:
        """The first time of its grid that is after ``now``."""
        return now + self.interval - (now - self.origin) % self.interval


class Timers:
    """Timers by due time; equal times in the order of setting."""

    __slots__ = ("_asleep", "_heap", "_sequence", "sleepers")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, _Timer]] = []
        self._sequence = 0
        #: How many timers there are that sleep until something changes.
        self.sleepers = 0
        #: Periodic timers that wait for a change.
        self._asleep: list[_Timer] = []

    def at(self, time: int, fn: Callable[[], object], *, quiet: bool = False) -> None:
        """Set a one-shot timer."""
        self._push(time, _Timer(fn, time, 0, only_after_change=False, quiet=quiet))

    def every(
        self, now: int, seconds: int, fn: Callable[[], object], *, only_after_change: bool, quiet: bool
    ) -> Callable[[], None]:
        """Set a periodic timer; give what stops it."""
        timer = _Timer(fn, now, seconds, only_after_change=only_after_change, quiet=quiet)
        self._push(now + seconds, timer)
        self.sleepers += only_after_change

        def stop() -> None:
            self.sleepers -= timer.only_after_change
            timer.interval = 0
            timer.only_after_change = False
            timer.fn = _nothing
            if timer in self._asleep:
                self._asleep.remove(timer)

        return stop

    def _push(self, time: int, timer: _Timer) -> None:
        self._sequence += 1
        heappush(self._heap, (time, self._sequence, timer))

    @property
    def next_due(self) -> int | None:
        """When the next timer is due, ``None`` when none is set."""
        return self._heap[0][0] if self._heap else None

    def run_due(self, now: int) -> bool:
        """Call what is due. Whether a scheduling pass is to follow."""
        loud = False
        while self._heap and self._heap[0][0] <= now:
            timer = self._pop(now)
            timer.fn()
            loud = loud or not timer.quiet
        return loud

    def _pop(self, now: int) -> _Timer:
        """Take the timer that is next, and set it anew if it is periodic."""
        timer = heappop(self._heap)[2]
        if timer.only_after_change:
            self._asleep.append(timer)
        elif timer.interval:
            self._push(timer.next_due(now), timer)
        return timer

    def wake(self, now: int) -> None:
        """Something has changed: set the sleeping timers to their next time."""
        if self._asleep:
            for timer in self._asleep:
                self._push(timer.next_due(now), timer)
            self._asleep.clear()
