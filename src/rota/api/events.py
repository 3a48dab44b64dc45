"""Changes of job states as server-sent events, for any number of readers.

One feed comes from the controller. The last events are kept, so that who was cut off can go on where they were. A
reader that takes too little is cut off too, and can do the same.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from rota.api.controller import AwayError, Controller, RefusedError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

#: Bytes of events that are kept, and that may wait for one reader.
_KEPT, _WAITING = 16 << 20, 1 << 20
#: Seconds until the feed is asked for again; and after which it is asked whether a reader may still read. They get a
#: sign of life then if nothing else has come.
_AGAIN, _QUIET = 0.5, 15.0


class _Reader:
    """Somebody who reads events."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._is_over = False
        self._changed = asyncio.Event()

    def put(self, event: bytes) -> bool:
        """Give an event, or if too much waits, say that it is over; give whether it goes on."""
        self._is_over = self._waiting > _WAITING
        if not self._is_over:
            self._queue.append(event)
            self._waiting += len(event)
        self._changed.set()
        return not self._is_over

    async def get(self) -> bytes:
        """Wait for the next event; empty: it is over."""
        while not self._queue:
            if self._is_over:
                return b""
            self._changed.clear()
            await self._changed.wait()
        event = self._queue.popleft()
        self._waiting -= len(event)
        return event


class Events:
    """The events.

    Args:
        controller: Has the feed.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._number = 0
        #: Another one for each feed: what comes between two of them is not known.
        self._feed = ""
        self._readers: set[_Reader] = set()
        self._begun = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Follow the feed, from the first reader on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow())
        await self._begun.wait()

    async def _follow(self) -> None:
        who = f"user:{os.geteuid()}:{os.getegid()}"
        while True:
            try:
                async with self._controller.feed(who) as lines:
                    async for line in lines:
                        self._take(line)
            except AwayError:
                await asyncio.sleep(_AGAIN)

    def _take(self, line: bytes) -> None:
        """Take a line of the feed; an empty one is the first."""
        if line:
            self._number += 1
            event = self._event("state", line)
            self._keep(event)
            self._readers = {one for one in self._readers if one.put(event)}
            return
        self._feed = secrets.token_hex(4)
        self._number = 0
        self._kept.clear()
        self._kept_bytes = 0
        missed = self._event("missed")
        self._readers = {one for one in self._readers if one.put(missed)}
        self._begun.set()

    def _keep(self, event: bytes) -> None:
        self._kept.append((self._number, event))
        self._kept_bytes += len(event)
        while self._kept_bytes > _KEPT:
            self._kept_bytes -= len(self._kept.popleft()[1])

    def _event(self, name: str, data: bytes = b"{}") -> bytes:
        return f"id: {self._feed}-{self._number}\nevent: {name}\ndata: ".encode() + data + b"\n\n"

    async def read(self, who: str, last: str | None) -> AsyncIterator[bytes]:
        """Give events as they come, until the user is not known any more.

        Args:
            who: Who reads.
            last: Id of the last event that they have got; ``None``: they begin.
        """
        reader, old = _Reader(), self._since(last)
        self._readers.add(reader)
        try:
            for event in old:
                yield event
            known = monotonic()
            while True:
                try:
                    async with asyncio.timeout(_QUIET):
                        event = await reader.get()
                except TimeoutError:
                    event = b":\n\n"
                if not event:
                    return
                if monotonic() >= known + _QUIET:
                    await self._controller.ask(who, "everything")
                    known = monotonic()
                yield event
        except (UnauthorizedError, RefusedError, AwayError):
            return
        finally:
            self._readers.discard(reader)

    def _since(self, last: str | None) -> list[bytes]:
        """Give what comes before the next event."""
        if last is None:
            return [self._event("begin")]
        feed, _, number = last.partition("-")
        first = self._kept[0][0] if self._kept else self._number + 1
        if feed != self._feed or not number.isdecimal() or not first - 1 <= int(number[:18]) <= self._number:
            return [self._event("missed")]
        return [event for one, event in self._kept if one > int(number)]
