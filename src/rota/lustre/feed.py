"""A source as the collector wants it: read, parsed, and what happened since the last reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.lustre.collector import Reading
from rota.lustre.deltas import Deltas
from rota.lustre.output import SourceError

if TYPE_CHECKING:
    from rota.lustre.counters import Activity
    from rota.lustre.sources import Source


class SourceFeed:
    """A source that is read again and again.

    Args:
        source: The source.
        seconds: How long a command may take.
    """

    def __init__(self, source: Source, seconds: float) -> None:
        self._source = source
        self._seconds = seconds
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
        jobs = counters = bad_lines = 0
        for stream in self._source.streams(self._seconds):
            entries, findings = stream.entries()
            try:
                activities.extend(self._deltas.activities(entries, findings, at))
            except (SourceError, ValueError) as error:
                faults.append(str(error))
            jobs += findings.jobs
            counters += findings.counters
            bad_lines += findings.bad_lines
        if faults and not jobs:
            raise SourceError(faults[0])
        return Reading(activities, jobs, counters, bad_lines, self._deltas.untracked, faults)
