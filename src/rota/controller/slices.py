"""Long work of one request is done in slices, between which others have their turn.

However many requests work in slices, one slice is done between two looks at what else there is to do.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterable

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
