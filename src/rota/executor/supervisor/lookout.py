"""Looking at all processes of the machine: for several at once, and no more often than there is time for.

A look takes the longer the more processes there are, and any user can start many. So the next one comes after a pause
of several times as long, and all that have to know something share it.
"""

from __future__ import annotations

import os
import time

from rota.executor.supervisor.tree import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.executor.supervisor.loop import Loop
    from rota.executor.supervisor.marks import Marks
    from rota.executor.supervisor.run import Key, Run

#: How many times as long as a look the pause after it is.
_PAUSE = 4
#: Seconds until it is looked again at processes of which it was not known whose they are.
_LOOK_AGAIN = 0.01


class _Waiting:
    """Somebody who waits for a look at the processes of a run."""

    __slots__ = ("run", "then", "until")

    def __init__(self, run: Run, then: Callable[[Scan], None], until: float) -> None:
        self.run = run
        self.then = then
        self.until = until


class Lookout:
    """Looks at all processes of the machine.

    Args:
        loop: The loop.
        runs: All runs that are not forgotten.
        marks: Gives the marks of processes.
        keeper: The pid of the keeper.
    """

    def __init__(self, loop: Loop, runs: dict[Key, Run], marks: Marks, keeper: int) -> None:
        self._loop = loop
        self._runs = runs
        self._marks = marks
        self._strangers = (os.getpid(), keeper)
        #: Runs that have ended before it was known of all processes whether they were theirs.
        self.late: list[Run] = []
        self._waiting: list[_Waiting] = []
        #: Monotonic seconds from which on there may be another look.
        self._next = 0.0
        self._is_planned = False

    def at_once(self) -> Scan | None:
        """Look now; ``None``: it is too soon after the last time."""
        began = time.monotonic()
        if began < self._next:
            return None
        runs = [*self.late, *(run for run in self._runs.values() if run.is_live)]
        scan = Scan(runs, self._strangers, self._marks)
        over = time.monotonic()
        self._next = over + _PAUSE * (over - began)
        return scan

    def look(self, run: Run, then: Callable[[Scan | None], None], patience: float = 1.0) -> None:
        """Look at the processes of a run, as soon as there is time for it.

        Args:
            run: The run.
            then: Function that goes on; with ``None`` if the run has a control group, which knows them.
            patience: Seconds for which to wait until it is known of all processes whether they are the run's.
        """
        if run.group is not None:
            then(None)
            return
        self._waiting.append(_Waiting(run, then, time.monotonic() + patience))
        if not self._is_planned:  # others may ask in this turn of the loop as well
            self._is_planned = True
            self._loop.after(max(self._next - time.monotonic(), 0.0), self._turn)

    def _turn(self) -> None:
        """Look, and let those go on who have waited for it."""
        self._is_planned = False
        if (scan := self.at_once()) is not None:
            waiting, self._waiting = self._waiting, []
            now = time.monotonic()
            self._is_planned = True  # those who go on may ask for another look
            for one in waiting:
                if scan.is_sure_of(one.run) or now >= one.until:
                    one.then(scan)
                else:
                    self._waiting.append(one)
            self._is_planned = False
        if self._waiting:
            self._is_planned = True
            self._loop.after(max(self._next - time.monotonic(), _LOOK_AGAIN), self._turn)
