"""A source as the collector wants it: read, parsed, and what happened since the last reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.lustre.collector import Reading
from rota.lustre.output import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.lustre.counters import JobStats
    from rota.lustre.deltas import Counted, Deltas, Turn
    from rota.lustre.job_stats import Findings
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
        #: By stream, how many targets it had without a name.
        self._nameless: dict[str, int] = {}
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
        remarks: list[str] = []
        bad_line = ""
        jobs = counters = bad_lines = 0
        turn = self._deltas.turn(self.name, at, counted)
        try:
            for stream in self._source.streams(self._seconds):
                entries, findings = stream.entries()
                try:
                    turn.read(self._told_apart(turn, stream.target, entries, findings, remarks), findings)
                except (SourceError, ValueError) as error:
                    faults.append(str(error))
                else:
                    self._nameless[stream.target] = findings.nameless
                jobs += findings.jobs
                counters += findings.counters
                bad_lines += findings.bad_lines
                bad_line = bad_line or "".join(bad.said(stream.name) for bad in findings.shown[:1])
        finally:
            others = turn.end()
        if faults and not jobs:
            raise SourceError(faults[0])
        remarks += [f"target {target} is in {owner} too: it is counted once" for target, owner in others.items()]
        return Reading(jobs, counters, bad_lines, turn.untracked, faults, remarks, bad_line, turn.unread)

    def _told_apart(
        self, turn: Turn, name: str, entries: Iterable[JobStats], findings: Findings, remarks: list[str]
    ) -> Iterator[JobStats]:
        """Give the entries of a stream, and tell its targets apart by their places if several have no name.

        If their number changes nobody can tell which is which, and counting begins anew. It is known only when all has
        been read.
        """
        if self._nameless.get(name) == 1:
            for entry in entries:
                if findings.nameless > 1:
                    self._nameless[name] = 0
                    raise SourceError(f"{name}: it has several targets without a name now, which were one")
                yield entry
            return
        found = list(entries)
        number = findings.nameless
        before = self._nameless.get(name) or (self._deltas.places(name) if number else 0) or number
        if number != before:
            turn.begin_anew([name, *(f"{name}#{place}" for place in range(2, max(number, before) + 1))])
        if number > 1:
            remarks.append(f"{name}: {number} targets have no name and are told apart by their places")
        yield from found
