"""Launches for which the machine had no room: they are tried again, with growing pauses.

What could not be started for a minute is handed back: the caller may have something better to do with its processors.
"""

from __future__ import annotations

import time

from rota.executor.supervisor.shortage import FIRST, LONGEST, PATIENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rota.executor.supervisor.run import Key
    from rota.executor.supervisor.state import State

    Request = dict[str, Any]


class Postponed:
    """Launches that wait.

    Args:
        state: The supervisor's runs and means.
        launch: Function that has requests launched again, in their order.
    """

    def __init__(self, state: State, launch: Callable[[list[Request]], None]) -> None:
        self._state = state
        self._launch = launch
        self._requests: dict[Key, Request] = {}
        #: Since when each has been tried, monotonic seconds; kept until it is launched or handed back.
        self._since: dict[Key, float] = {}
        self._pause = FIRST
        self._waiting = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._requests)

    def add(self, request: Request, missing: str) -> None:
        """Try a launch again that has failed because something was missing."""
        key = request["job"], request["run"]
        now = time.monotonic()
        self._state.short(missing)
        if now > self._since.setdefault(key, now) + PATIENCE:
            del self._since[key]
            self._refuse(request, f"the machine is short of {missing}", missing)
            return
        self._requests[key] = request
        if not self._waiting:
            self._waiting = True
            self._state.loop.after(self._pause, self._again)
            self._pause = min(2 * self._pause, LONGEST)

    def launched(self, key: Key) -> None:
        """Hear that one has been launched: there is room again."""
        self._since.pop(key, None)
        self._pause = FIRST

    def take(self, key: Key) -> Request | None:
        """Give one that waits, which can be changed; ``None``: it does not."""
        return self._requests.get(key)

    def drop(self, key: Key) -> None:
        """Launch one no more, and report that."""
        self._since.pop(key, None)
        self._refuse(self._requests.pop(key), "it was ended before there was room to start it", "")

    def _again(self) -> None:
        self._waiting = False
        requests, self._requests = list(self._requests.values()), {}
        self._launch(requests)

    def _refuse(self, request: Request, why: str, missing: str) -> None:
        names = {"job": request["job"], "run": request["run"]}
        self._state.report({"is": "failed", **names, "message": why, "prolog": False, "missing": missing})
