"""What is to happen in a test, and when."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Agenda:
    """Functions that are called at given times. Ties are broken by rank, then by the order in which they were added."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, int, Callable[[], object]]] = []
        self._sequence = count()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def put(self, time: int, rank: int, fn: Callable[[], object]) -> None:
        """Add a function that is to be called at a time."""
        heappush(self._entries, (time, rank, next(self._sequence), fn))

    @property
    def next_time(self) -> int | None:
        """When the first function is due; ``None``: there is none."""
        return self._entries[0][0] if self._entries else None

    def play(self, now: int, rank: int) -> None:
        """Call the functions that are due now, up to those of a rank."""
        while self._entries and self._entries[0][:2] <= (now, rank):
            heappop(self._entries)[3]()
