"""What the parts of the supervisor share: its runs, its log, its loop, and how reports are sent."""

from __future__ import annotations

import os

from rota.executor.supervisor import measure
from rota.executor.supervisor.run import ENDED
from rota.executor.supervisor.tree import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from rota.executor.supervisor.cgroups import Cgroups
    from rota.executor.supervisor.child import Surroundings
    from rota.executor.supervisor.log import Log, Record
    from rota.executor.supervisor.loop import Loop
    from rota.executor.supervisor.run import Key, Run


class State:
    """The supervisor's runs and means."""

    def __init__(self, log: Log, loop: Loop, cgroups: Cgroups, around: Surroundings, keeper: int) -> None:
        self.log = log
        self.loop = loop
        self.cgroups = cgroups
        self.around = around
        #: The keeper's pid.
        self.keeper = keeper
        #: All runs that are not forgotten.
        self.runs: dict[Key, Run] = {}
        #: Those whose process, or epilog, has not been reaped.
        self.by_pid: dict[int, Run] = {}
        self.energy = measure.Energy()
        #: Sends a report to all callers.
        self.report: Callable[[Record], None] = print
        #: The cluster whose runs these are; empty: no controller has said so.
        self.cluster = ""
        #: How far it has come, as a controller has said last.
        self.head: list[Any] = []
        #: Whether the log was damaged or gone, so that there may have been runs of which nothing is known.
        self.is_suspect = False
        #: Records that have to be written, when there is room on the disk again.
        self.owed: list[Record] = []

    def live(self) -> list[Run]:
        """Give the runs that have not ended."""
        return [run for run in self.runs.values() if run.phase != ENDED]

    def scan(self, runs: Iterable[Run]) -> Scan | None:
        """Look at all processes of the machine, if some of the runs have no control group."""
        if all(run.group is not None for run in runs):
            return None
        return Scan((os.getpid(), self.keeper))

    def commit(self, records: Iterable[Record]) -> None:
        """Write records to the log.

        Raises:
            OSError: they could not be written.
        """
        self.log.append([*self.owed, *records])
        self.owed.clear()

    def note(self, record: Record) -> None:
        """Write a record to the log; if it cannot be written now, later."""
        try:
            self.log.append([*self.owed, record], sync=False)
            self.owed.clear()
        except OSError:
            self.owed.append(record)

    def meet(self, cluster: str) -> None:
        """Take note of a controller's cluster.

        Raises:
            ValueError: it is another one than that of the runs here.
        """
        if self.cluster and cluster != self.cluster:
            raise ValueError(f"a controller of another cluster has called: {cluster}, and this one is {self.cluster}")
        if not self.cluster:
            self.cluster = cluster
            self.note({"is": "cluster", "cluster": cluster})

    def come_to(self, head: list[Any]) -> None:
        """Take note of how far the cluster has come; it is written with the next records."""
        if head != self.head:
            self.head = head
            self.owed.append({"is": "head", "head": head})

    def records(self) -> list[Record]:
        """Give all that the log has to have beside the boot of the machine."""
        own: list[Record] = []
        if self.cluster:
            own = [{"is": "cluster", "cluster": self.cluster}, {"is": "head", "head": self.head}]
        own += [{"is": "suspect"}] if self.is_suspect else []
        return [*own, *(record for run in self.runs.values() for record in run.records())]

    def unwatch(self, run: Run) -> None:
        """Close the process of a run, which has been reaped or is to be watched no more."""
        if run.pidfd >= 0:
            self.loop.unwatch(run.pidfd)
            os.close(run.pidfd)
            run.pidfd = -1

    def forget(self, run: Run) -> None:
        """Forget a run."""
        self.runs.pop(run.key, None)
        self.note({"is": "forget", **run.names})
