"""The reader's clock: Unix time that never goes back."""

from __future__ import annotations

import time


class SteadyClock:
    """Unix time that goes on evenly when the machine's clock is set back, and follows when it is set forward."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Tell the time, in seconds."""
        passed = time.monotonic()
        self._offset = max(self._offset, time.time() - passed)
        return self._offset + passed
