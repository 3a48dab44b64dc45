"""Long work of one request is done in slices, between which others have their turn.

However many requests work in slices, one slice is done between two looks at what else there is to do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

T = TypeVar("T")

#: Seconds of a slice.
_SLICE = 0.01
#: How many requests to the engine are made together at most: they share a commit.
_TOGETHER = 16
#: Is held by whoever is next.
_NEXT = asyncio.Lock()


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Give items one by one; what is done with them counts as work of the slice."""
    began = perf_counter()
    for one in items:
        yield one
        if perf_counter() - began > _SLICE:
            await others_turn()
            began = perf_counter()


async def together(asked: Iterable[Awaitable[T]]) -> AsyncIterator[T]:
    """Await some of many at a time, as many as a slice has room for; give what they give, in their order."""
    some: list[Awaitable[T]] = []
    began = perf_counter()
    for one in asked:
        some.append(one)
        if len(some) == _TOGETHER or perf_counter() - began > _SLICE:
            for answer in await asyncio.gather(*some):
                yield answer
            await others_turn()
            some, began = [], perf_counter()
    for answer in await asyncio.gather(*some):
        yield answer


async def others_turn() -> None:
    """Let others have their turn."""
    async with _NEXT:
        await asyncio.sleep(0)


class InTurn:
    """Calls functions one after the other, a slice of them at a time; a loop has to run."""

    def __init__(self) -> None:
        self._due: deque[Callable[[], object]] = deque()

    def add(self, calls: Iterable[Callable[[], object]]) -> None:
        """Call functions after those that are due already: at once, as far as a slice has room for them."""
        is_idle = not self._due
        self._due += calls
        if is_idle:
            self._call(_SLICE)

    def finish(self) -> None:
        """Call all functions that are due."""
        self._call(inf)

    def _call(self, seconds: float) -> None:
        loop, until = asyncio.get_running_loop(), perf_counter() + seconds
        while self._due and perf_counter() < until:
            call = self._due.popleft()
            try:
                call()
            except Exception as error:  # noqa: BLE001 - what one raises is not the others' trouble
                loop.call_exception_handler({"message": f"{call} has failed", "exception": error})
        if self._due:
            loop.call_soon(self._call, _SLICE)
