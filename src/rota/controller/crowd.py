"""How much of a controller one user gets, so that who asks for too much does not keep others waiting.

Of the files that the controller may have open, a user's connections take a quarter at most; administrators' are not
counted. A user's calls are read some at a time, so that what they send does not fill the memory; who sends too slowly
is cut off.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

#: Calls of a user that are read at a time, and seconds that one may take.
_AT_A_TIME, _PATIENCE = 16, 30.0


class CrowdedError(Exception):
    """A user has too many connections."""


class Crowd:
    """Who is there."""

    def __init__(self) -> None:
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4
        self._connections: Counter[int] = Counter()
        self._turns: dict[int, asyncio.Semaphore] = {}

    @contextmanager
    def present(self, uid: int, *, counts: bool) -> Iterator[None]:
        """Give a context in which a user has one more connection; it may be one that does not count.

        Raises:
            CrowdedError: they have too many.
        """
        if counts and self._connections[uid] >= self._most:
            raise CrowdedError
        self._connections[uid] += 1
        try:
            yield
        finally:
            self._connections[uid] -= 1
            if not self._connections[uid]:
                del self._connections[uid]
                self._turns.pop(uid, None)

    @asynccontextmanager
    async def turn(self, uid: int) -> AsyncIterator[None]:
        """Give a context in which a call of a user is read, once it is its turn.

        Raises:
            TimeoutError: it has taken too long.
        """
        async with self._turns.setdefault(uid, asyncio.Semaphore(_AT_A_TIME)), asyncio.timeout(_PATIENCE):
            yield


def allow_many_files() -> int:
    """Let this process have as many files open as it may; give how many it could have before."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return before
