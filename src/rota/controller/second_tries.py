"""Reports and passes with which the engine has failed: they are tried again, after a pause that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from rota.core import events as ev

#: Seconds of the first pause, which doubles, and of the longest.
_FIRST, _LONGEST = 1.0, 600.0


class SecondTries:
    """What waits for its second try, or a later one.

    Args:
        loop: The loop that counts the time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        #: The last pause of each event that has failed; and those whose pause is not over.
        self._pauses: dict[object, float] = {}
        self._waiting: set[object] = set()

    def waits(self, event: ev.Event) -> bool:
        """Whether an event must not be tried yet."""
        return bool(self._waiting) and _key(event) in self._waiting

    def succeeded(self, event: ev.Event) -> None:
        """Hear that the engine has handled an event."""
        if self._pauses:
            self._pauses.pop(_key(event), None)

    def failed(self, event: ev.Event, again: Callable[[], None]) -> float:
        """Hear that the engine has failed with an event; give the seconds after which ``again`` is called."""
        key = _key(event)
        pause = self._pauses[key] = min(self._pauses.get(key, _FIRST / 2) * 2, _LONGEST)
        self._waiting.add(key)

        def over() -> None:
            self._waiting.discard(key)
            again()

        self._loop.call_later(pause, over)
        return pause


def _key(event: ev.Event) -> object:
    """Give what makes an event the same as one that comes again: what it reports, and of which job."""
    return type(event), getattr(event, "job_id", None), getattr(event, "token", None)
