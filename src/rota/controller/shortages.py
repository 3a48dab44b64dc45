"""What the machine is short of: it is tried again, told in `rota status`, and once a minute in the log."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rota.controller.seldom import Seldom
from rota.executor.supervisor.shortage import PATIENCE, missing, pauses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    T = TypeVar("T")

#: Seconds after which what has not been missing again is not told any more.
_OVER = 600


@dataclass(slots=True, kw_only=True)
class Shortage:
    """Something that is missing."""

    missing: str
    #: What could not be done the last time.
    what: str
    #: When it was missing first and last, Unix seconds, and how often.
    since: int
    last: int
    times: int


class Shortages:
    """Knows what is missing.

    Args:
        log: Writes a line for the administrator.
        now: Gives the time, Unix seconds.
    """

    def __init__(self, log: Callable[[str], object], now: Callable[[], int]) -> None:
        self._log = log
        self._now = now
        self._known: dict[str, Shortage] = {}
        self._lines: dict[str, Seldom] = {}

    def note(self, missing: str, what: str, times: int = 1) -> None:
        """Note that something was missing.

        Args:
            missing: What, in the words of `rota.executor.supervisor.shortage`.
            what: What could not be done.
            times: How often.
        """
        now = self._now()
        known = self._known.get(missing)
        if known is None or not 0 <= now - known.last < _OVER:
            known = self._known[missing] = Shortage(missing=missing, what=what, since=now, last=now, times=0)
        known.what, known.last = what, now
        known.times += times
        line = self._lines.setdefault(missing, Seldom(self._log))
        line(f"error: the machine is short of {missing}: {what}: it is tried again; {known.times:,} times so far")

    def told(self) -> list[dict[str, Any]]:
        """Give what is missing, or was a few minutes ago, as JSON data."""
        now = self._now()
        return [asdict(one) for one in self._known.values() if 0 <= now - one.last < _OVER]

    async def patiently(self, call: Callable[[], Awaitable[T]], what: str, patience: float = PATIENCE) -> T:
        """Call a function, again and again as long as something is missing, with growing pauses.

        Args:
            call: The function.
            what: What it does.
            patience: For how many seconds.

        Raises:
            OSError: it fails, for another reason or for long; as do the others.
            RuntimeError: a thread cannot be started.
            MemoryError: there is no memory.
        """
        for pause in pauses(patience):
            try:
                return await call()
            except (OSError, RuntimeError, MemoryError) as error:
                if not (lacking := missing(error)):
                    raise
                self.note(lacking, what)
            await asyncio.sleep(pause)
        return await call()
