"""What would be said again and again is said once a minute, with how often it has happened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds in which one line is written.
_EVERY = 60.0


class Seldom:
    """Writes lines about one thing, at most one a minute.

    Args:
        log: Writes a line for the administrator.
        clock: Gives seconds.
    """

    def __init__(self, log: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._said = -_EVERY
        self._unsaid = 0

    def __call__(self, line: str) -> None:
        """Say it, or count it."""
        now = self._clock()
        if now < self._said + _EVERY:
            self._unsaid += 1
            return
        self._log(f"{line} ({self._unsaid:,} more since the last such line)" if self._unsaid else line)
        self._said, self._unsaid = now, 0
