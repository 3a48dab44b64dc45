"""A source as the collector wants it: read, parsed, and what happened since the last reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.lustre.collector import Reading
from rota.lustre.output import SourceError

if TYPE_CHECKING:
    from rota.lustre.deltas import Counted, Deltas
    from rota.lustre.sources import Source


class SourceFeed:
    """A source that is read again and again.

    Args:
        source: The source.
        seconds: How long a command may take.
        deltas: What was read of its targets before; sources that are read together share one.
    """

    def __init__(self, source: Source, seconds: float, deltas: Deltas) -> None:
        self._source = source
        self._seconds = seconds
        self._deltas = deltas
        #: How the source is written.
        self.name = source.name

    def read(self, at: float, counted: Counted) -> Reading:
        """Read it. A stream of it that fails costs what it had not given yet, and is told.

        Args:
            at: The time, Unix seconds.
            counted: Takes what was done, and what is to be remembered of it.

        Raises:
            SourceError: nothing of it can be read.
        """
        faults: list[str] = []
        jobs = counters = bad_lines = 0
        turn = self._deltas.turn(self.name, at, counted)
        try:
            for stream in self._source.streams(self._seconds):
                entries, findings = stream.entries()
                try:
                    turn.read(entries, findings)
                except (SourceError, ValueError) as error:
                    faults.append(str(error))
                jobs += findings.jobs
                counters += findings.counters
                bad_lines += findings.bad_lines
        finally:
            others = turn.end()
        if faults and not jobs:
            raise SourceError(faults[0])
        faults += [f"target {target} is in {owner} too: it is counted once" for target, owner in others.items()]
        return Reading(jobs, counters, bad_lines, turn.untracked, faults)
