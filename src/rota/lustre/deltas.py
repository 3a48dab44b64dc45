"""What each job did between two readings, from counters that only grow.

The rules, for one job on one target:

========================================== ===========================================================================
what is read                               what is counted
========================================== ===========================================================================
an entry that was there before             the difference
the same with another ``start_time``, or   all of it: the entry was made anew, since it was cleared, expired, or its
with any counter that became less          target was restarted
a new entry                                all of it, if the target was read before without it
the same, with a ``start_time`` that is    nothing, as it was missed: a first sight is only where counting begins
before the first reading of its target
the first reading of a target              nothing, as above
a second entry in one reading              the difference, if it is not the older of the two
an entry that is missing                   nothing. A dump is not made at one moment and may miss one that is still
                                           there, so what is known of it is kept for some readings more
========================================== ===========================================================================

A reading that fails, or that ends early, changes nothing for the entries that it did not reach. A counter that could
not be read is counted when it can be read again.

Times are the reader's own. ``snapshot_time`` says when a job was last active, not when it was read.
"""

from __future__ import annotations

import sys
from array import array
from itertools import chain
from operator import sub
from typing import TYPE_CHECKING

from rota.lustre.counters import Activity, Increase
from rota.lustre.metrics import operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.lustre.counters import JobStats
    from rota.lustre.job_stats import Findings

#: Entries that are remembered, of all targets; one takes about 400 bytes.
LIMIT = 2_000_000
#: Readings of a target after which an entry that was in none of them is forgotten.
MISSED_READINGS = 3
#: Before this, Unix seconds are none but seconds since a boot.
EPOCH = 1e9


class _Entry:
    """What is known of one job on one target."""

    __slots__ = ("begin", "missed", "names", "numbers", "seen", "start_time", "unsure")

    def __init__(self, begin: float) -> None:
        #: Operations; and of each, in turn, samples and total.
        self.names: tuple[str, ...] = ()
        self.numbers = array("q")
        #: Whether there may be others, which could not be read.
        self.unsure = False
        self.start_time: float | None = None
        #: The last reading that had it, and the one before, since when its increase is counted.
        self.seen = self.begin = begin
        #: Whole readings since then.
        self.missed = 0

    def advance(self, job: JobStats, at: float, names: tuple[str, ...], numbers: array[int]) -> array[int] | None:
        """Take over what was read, and tell by how much it is more, in the order of the names that are then known.

        ``None``: it is the older of two of the same reading.
        """
        is_second = self.seen == at
        younger = 0.0 if job.start_time is None or self.start_time is None else job.start_time - self.start_time
        changes = None if younger else self._grow(job, names, numbers)
        if changes is None:
            if is_second and younger <= 0:
                return None
            self.names, self.numbers, self.unsure = names, numbers, False
            changes = numbers
        if job.start_time is not None:
            self.start_time = job.start_time
        if not is_second:
            self.begin, self.seen, self.missed = self.seen, at, 0
        return changes

    def _grow(self, job: JobStats, names: tuple[str, ...], numbers: array[int]) -> array[int] | None:
        """Take over counters of the same entry. ``None``, and nothing is taken over: one is less than before."""
        before = self.numbers
        if names != self.names:
            known = dict(zip(self.names, _pairs(before), strict=True))
            read = dict(zip(names, _pairs(numbers), strict=True))
            for name, counter in known.items():
                read.setdefault(name, counter if job.damaged else (0, 0))
            names, numbers = tuple(read), array("q", chain.from_iterable(read.values()))
            first = read if self.unsure else dict.fromkeys(read, (0, 0))
            before = array("q", chain.from_iterable((first | known).values()))
        changes = array("q", map(sub, numbers, before))
        if min(changes, default=0) < 0:
            return None
        self.names, self.numbers = names, numbers
        self.unsure = self.unsure and job.damaged
        return changes


class _Target:
    __slots__ = ("entries", "first", "last", "untracked", "whole")

    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        #: The first and the last reading of all entries, and the last of any.
        self.first: float | None = None
        self.whole: float | None = None
        self.last = 0.0
        #: Entries of this reading that were too many.
        self.untracked = 0


class Deltas:
    """The readings of any number of targets, and what happened between them."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Begin with nothing.

        Args:
            limit: Entries that are remembered. What is over it is not counted: see `untracked`.
        """
        self._limit = limit
        self._targets: dict[str, _Target] = {}
        self._remembered = 0
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}

    @property
    def untracked(self) -> int:
        """Entries that the last readings of all targets had, and that were too many to remember."""
        return sum(target.untracked for target in self._targets.values())

    def activities(self, jobs: Iterable[JobStats], findings: Findings, at: float) -> Iterator[Activity]:
        """Tell what each job did since the readings before. One that did nothing is left out.

        A job that is in a dump twice may be told twice: add it up.

        Args:
            jobs: One reading, of any targets. What it raises is passed on, and no entry counts as missing.
            findings: Of the parser that gives them; looked at when they have ended.
            at: When they were read: Unix seconds of a clock that is never set back.

        Raises:
            ValueError: A target was read before, for this moment or a later one.
        """
        begun: dict[str, _Target] = {}
        for job in jobs:
            target = begun.get(job.target)
            if target is None:
                target = begun[job.target] = self._begin(job.target, at)
            activity = self._count(job, target, at)
            if activity is not None:
                yield activity
        for name, is_whole in findings.targets.items():
            target = begun.get(name) or self._begin(name, at)
            if is_whole:
                self._end_whole(target, at)

    def _begin(self, name: str, at: float) -> _Target:
        target = self._targets.setdefault(name, _Target())
        if at <= target.last:
            raise ValueError(f"target {name} was read for this moment already: it is there twice")
        target.last = at
        target.untracked = 0
        return target

    def _end_whole(self, target: _Target, at: float) -> None:
        """Note who is missing; forget who was missing too often."""
        if not target.untracked:
            target.whole = at
            target.first = target.first or at
        for job_id, entry in [item for item in target.entries.items() if item[1].seen != at]:
            entry.missed += 1
            if entry.missed >= MISSED_READINGS:
                del target.entries[job_id]
                self._remembered -= 1

    def _count(self, job: JobStats, target: _Target, at: float) -> Activity | None:
        names, numbers = self._flatten(job)
        entry = target.entries.get(job.job_id)
        if entry is not None:
            changes = entry.advance(job, at, names, numbers)
        elif self._remembered >= self._limit:
            target.untracked += 1
            target.whole = None  # whoever is new later may be one of these
            return None
        else:
            entry = target.entries[sys.intern(job.job_id)] = _Entry(at if target.whole is None else target.whole)
            self._remembered += 1
            changes = entry.advance(job, at, names, numbers)
            if target.whole is None or _is_older(job, target):
                entry.unsure = job.damaged
                return None
        if changes is None or entry.begin == at or not any(changes):
            return None
        increases = {
            name: Increase(samples, total)
            for name, (samples, total) in zip(entry.names, _pairs(changes), strict=True)
            if samples or total
        }
        return Activity(job.target, job.job_id, entry.begin, at, increases)

    def _flatten(self, job: JobStats) -> tuple[tuple[str, ...], array[int]]:
        """Tell the operations of an entry, and samples and total of each, in turn."""
        names = []
        numbers = array("q")
        for name, counter in job.counters.items():
            names.append(operation(name, counter.unit))
            numbers.append(counter.samples)
            numbers.append(counter.total or 0)
        key = tuple(names)
        return self._names.setdefault(key, key), numbers


def _is_older(job: JobStats, target: _Target) -> bool:
    """Tell whether an entry was there before its target was first read, and was missed then."""
    return job.start_time is not None and target.first is not None and EPOCH < job.start_time < target.first


def _pairs(numbers: array[int]) -> Iterator[tuple[int, int]]:
    return zip(numbers[::2], numbers[1::2], strict=True)
