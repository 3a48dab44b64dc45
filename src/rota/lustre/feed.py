"""A source as the collector wants it: read, parsed, and what happened since the last reading."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from rota.lustre.collector import Reading
from rota.lustre.deltas import Deltas
from rota.lustre.output import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.lustre.counters import Activity
    from rota.lustre.sources import Source


#: Seconds after which a target belongs to nobody whose source has not been read with it.
_PATIENCE = 60.0


class Owners:
    """Which source each target belongs to, so that one that two sources have is counted once. For any threads.

    It is the one that had it first, until that one is read without it, as after a failover, or for a minute not at all.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        #: By target: the source, and when it was last read with it.
        self._owners: dict[str, tuple[str, float]] = {}

    def claim(self, source: str, targets: Iterable[str], at: float, *, is_whole: bool) -> dict[str, str]:
        """Say which of the targets that a source has belong to another one, and to which.

        Args:
            source: The source.
            targets: Those that it has.
            at: When it was read, Unix seconds.
            is_whole: Whether all of it could be read.
        """
        with self._lock:
            others = {
                target: owner
                for target in targets
                for owner, last in [self._owners.get(target, (source, at))]
                if owner != source and at - last <= _PATIENCE
            }
            mine = set(targets) - others.keys()
            if is_whole:
                self._owners = {
                    target: owner for target, owner in self._owners.items() if owner[0] != source or target in mine
                }
            self._owners.update(dict.fromkeys(mine, (source, at)))
            return others


class SourceFeed:
    """A source that is read again and again.

    Args:
        source: The source.
        seconds: How long a command may take.
        owners: Which source each target belongs to; sources that are read together share one.
    """

    def __init__(self, source: Source, seconds: float, owners: Owners) -> None:
        self._source = source
        self._seconds = seconds
        self._owners = owners
        self._deltas = Deltas()
        #: How the source is written.
        self.name = source.name

    def read(self, at: float) -> Reading:
        """Read it. A stream of it that fails costs what it had not given yet, and is told.

        Args:
            at: The time, Unix seconds.

        Raises:
            SourceError: nothing of it can be read.
        """
        activities: list[Activity] = []
        faults: list[str] = []
        targets: set[str] = set()
        jobs = counters = bad_lines = 0
        for stream in self._source.streams(self._seconds):
            entries, findings = stream.entries()
            try:
                activities.extend(self._deltas.activities(entries, findings, at))
            except (SourceError, ValueError) as error:
                faults.append(str(error))
            targets.update(findings.targets)
            jobs += findings.jobs
            counters += findings.counters
            bad_lines += findings.bad_lines
        if faults and not jobs:
            raise SourceError(faults[0])
        # What others have is subtracted as well, so that it can be counted as soon as they have it no more.
        others = self._owners.claim(self.name, targets, at, is_whole=not faults)
        if others:
            activities = [one for one in activities if one.target not in others]
            faults += [f"target {target} is counted as {owner} has it, not here" for target, owner in others.items()]
        return Reading(activities, jobs, counters, bad_lines, self._deltas.untracked, faults)
