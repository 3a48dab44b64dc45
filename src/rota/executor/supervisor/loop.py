"""A loop over file descriptors and timers."""

from __future__ import annotations

import heapq
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

IN = select.EPOLLIN
OUT = select.EPOLLOUT


class Loop:
    """Waits for file descriptors and timers, and calls functions."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        #: What is called for a file descriptor, and for which events.
        self._ready: dict[int, tuple[Callable[[int], None], int]] = {}
        #: File descriptors that are watched since the events of this turn were read: they are not meant by these.
        self._new: set[int] = set()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        #: The largest file descriptor that was ever watched.
        self.highest = self._epoll.fileno()

    def watch(self, fd: int, ready: Callable[[int], None], events: int = IN) -> None:
        """Call a function with the events whenever a file descriptor is ready; or change which events are meant."""
        if fd not in self._ready:
            self._epoll.register(fd, events)
            self._new.add(fd)
            self.highest = max(self.highest, fd)
        elif self._ready[fd][1] != events:
            self._epoll.modify(fd, events)
        self._ready[fd] = ready, events

    def unwatch(self, fd: int) -> None:
        """Watch a file descriptor no more; it may be closed then."""
        if self._ready.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def close(self) -> None:
        """Watch nothing any more."""
        self._epoll.close()

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function once, after some time."""
        self._sequence += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._sequence, call))

    def turn(self, *, busy: bool) -> None:
        """Wait, unless there is other work to do, and call the functions that are due."""
        timeout = 0.0 if busy else -1.0
        if self._timers and not busy:
            timeout = max(0.0, self._timers[0][0] - time.monotonic())
        self._new.clear()
        for fd, events in self._epoll.poll(timeout, 256):
            if fd in self._ready and fd not in self._new:
                self._ready[fd][0](events)
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
