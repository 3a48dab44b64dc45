"""What each job did between two readings, from counters that only grow.

The rules, for one job on one target:

========================================== ===========================================================================
what is read                               what is counted
========================================== ===========================================================================
an entry that was there before             the difference
the same with another ``start_time``, or   all of it: the entry was made anew, since it was cleared, expired, or its
with any counter that became less          target was restarted
one that another has replaced              the difference: a source that is behind shows it, by its ``start_time``
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

Several sources may have one target, and one may be behind the other: its text was begun earlier, or is a copy. All
count from the same entries, so that whoever reads something first counts it, and nobody counts it again. Which entry it
is, is told by its ``start_time``, on whatever clock. Entries without one are told apart by order: of one that another
source has read last, what is behind counts nothing, and less than before is an entry made anew only if it is ahead, by
``snapshot_time``. Where that says nothing, the source that owns the target is believed: the one that had it first,
until it is read without it, cannot be read, or is not for a minute. An entry is not forgotten while one of them is
behind it, which would count all of it again.

What nobody can know is named, as the operation `UNREAD`: that an entry ended while its job may have been at work.

Times are the reader's own. ``snapshot_time`` says when a job was last active, not when it was read.
"""

from __future__ import annotations

import sys
from array import array
from itertools import count, islice, takewhile
from threading import Lock
from typing import TYPE_CHECKING

from rota.lustre.counters import Activity, Changes, EntryKey, Increase, Seen
from rota.lustre.entries import Entry, Look, Target, pairs
from rota.lustre.metrics import UNREAD, operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rota.lustre.counters import JobStats, Standing
    from rota.lustre.job_stats import Findings

    #: Takes what jobs did, and what is to be remembered so that it is not counted again.
    Counted = Callable[[list[Activity], Changes], object]

#: Entries that are remembered, of all targets; one takes about 400 bytes.
LIMIT = 2_000_000
#: Seconds after which a target belongs to nobody whose source has not been read with it, if it is not read more seldom.
_PATIENCE = 60.0
#: Entries that are counted at once, while other sources wait.
_BATCH = 1000


class Deltas:
    """The readings of any number of targets by any number of sources, and what happened between them. For any threads.

    Args:
        limit: Entries that are remembered. What is over it is not counted: see `Turn.untracked`.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        #: Whoever counts has it.
        self.lock = Lock()
        self._targets: dict[str, Target] = {}
        self._remembered = 0
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}

    def restore(self, remembered: Changes, now: float) -> None:
        """Go on where `Changes` have led, before anything is read.

        Args:
            remembered: All that was to be remembered.
            now: Unix seconds. If the clock was set back meanwhile, nothing was read later than this.
        """
        for name, (first, whole, last) in remembered.targets.items():
            # What was first read in the future says nothing of what is older.
            begun = None if first is None or first > now else first
            self._targets[name] = Target(begun, None if whole is None else min(whole, now), min(last, now))
        for (name, job_id, replaced), standing in remembered.jobs.items():
            if standing is not None and self._remembered < self._limit:
                target = self._targets[name]
                entry = Entry(target.last)
                if replaced is None:
                    target.entries[sys.intern(job_id)] = entry
                else:
                    target.replaced[sys.intern(job_id), replaced] = entry
                entry.restore(standing)
                target.newest = max(target.newest, standing.snapshot_time or 0)
                self._remembered += 1

    def places(self, name: str) -> int:
        """Tell how many targets of a text, which have no name, are known by their places: ``NAME``, ``NAME#2`` …."""
        with self.lock:
            known = (self._targets.get(name if place == 1 else f"{name}#{place}") for place in count(1))
            return sum(1 for _ in takewhile(lambda target: target is not None and target.whole is not None, known))

    def turn(self, source: str, at: float, counted: Counted) -> Turn:
        """Begin to read a source once.

        Args:
            source: Its name.
            at: When: Unix seconds of a clock that is never set back.
            counted: Takes what is counted, while nobody else counts.
        """
        return Turn(self, source, at, counted)

    def activities(self, jobs: Iterable[JobStats], findings: Findings, at: float, source: str = "") -> list[Activity]:
        """Count one reading of which nothing is remembered elsewhere: see `Turn.read`."""
        found: list[Activity] = []
        turn = self.turn(source, at, lambda some, _: found.extend(some))
        try:
            turn.read(jobs, findings)
        finally:
            turn.end()
        return found

    def look(self, name: str, source: str, at: float) -> Look:
        """Begin to read a target. Like all that follows here it is for `Turn`, which has the lock.

        Raises:
            ValueError: It was read before, for this moment or a later one.
        """
        target = self._targets.setdefault(name, Target())
        if at <= target.readers.get(source, 0.0):
            raise ValueError(f"target {name} was read for this moment already: it is there twice")
        target.readers[source] = at
        target.last = max(target.last, at)
        target.untracked = 0
        if target.owner is None or at - target.owned > max(_PATIENCE, 2 * target.pause):
            target.owner, target.owned = source, at
        if target.owner == source:
            target.pause, target.owned = at - target.owned, at
        target.met = at if target.met is None else target.met
        is_alone = len(target.readers) == 1 and at - target.met > _PATIENCE
        return Look(name, target, source, at, target.owner == source, is_alone, target.newest)

    def leave(self, source: str, names: Iterable[str]) -> None:
        """Have nobody own what a source owns, but for these."""
        names = set(names)
        for name, target in self._targets.items():
            if target.owner == source and name not in names:
                target.owner = None

    def forget(self, name: str) -> Iterable[EntryKey]:
        """Forget a target, and tell which entries it had."""
        target = self._targets.pop(name, Target())
        gone = [EntryKey(name, job_id) for job_id in target.entries]
        gone += [EntryKey(name, *key) for key in target.replaced]
        self._remembered -= len(gone)
        return gone

    def end_whole(self, look: Look) -> Iterator[tuple[EntryKey, Activity | None]]:
        """Note that all entries were read; forget what was missing too often, and tell what is unread of it.

        A replaced one was told when it was replaced.
        """
        target = look.target
        target.note_whole(look.source, look.at)
        if not look.is_owner:
            return
        if not target.untracked:
            target.whole = max(look.at, target.whole or 0)
            target.begin(look.at)
        since = look.at - max(_PATIENCE, 2 * target.pause)
        for job_id, replaced, entry in list(target.missing(since, look.at, is_alone=look.is_alone)):
            if replaced is None:
                del target.entries[job_id]
            else:
                del target.replaced[job_id, replaced]
            self._remembered -= 1
            is_unread = replaced is None and entry.is_at_work
            yield EntryKey(look.name, job_id, replaced), _unread(look.name, job_id, entry) if is_unread else None

    def count(self, job: JobStats, look: Look) -> tuple[dict[EntryKey, Standing], Activity | None]:
        """Count an entry. Give what has to be remembered of it, if that has changed, and what was done."""
        target = look.target
        target.reached[look.source] = max(target.reached.get(look.source, 0.0), job.snapshot_time or 0)
        names, numbers = self._flatten(job)
        entry = target.find(job)
        if entry is None:
            if not look.is_owner and not look.is_ahead(job):
                return {}, None
            return self._begin(job, look, names, numbers)
        changes = entry.advance(job, look, names, numbers)
        target.newest = max(target.newest, job.snapshot_time or 0)
        if changes is None or not any(changes):
            return {}, None
        replaced = None if entry is target.entries[job.job_id] else entry.start_time
        return {EntryKey(look.name, job.job_id, replaced): entry.standing}, _activity(job, look, entry, changes)

    def _begin(
        self, job: JobStats, look: Look, names: tuple[str, ...], numbers: array[int]
    ) -> tuple[dict[EntryKey, Standing], Activity | None]:
        """Count an entry of which nothing is known, as `count` does."""
        target = look.target
        before = target.entries.get(job.job_id)
        has_room = self._remembered < self._limit
        changed: dict[EntryKey, Standing] = {}
        if before is None:
            if not has_room:
                target.untracked += 1
                target.whole = None  # whoever is new later may be one of these
                return {}, None
            # Another source may have read the target in this very moment, and not yet seen the job.
            entry = Entry(look.at if target.whole is None else min(target.whole, look.at - 1))
            self._remembered += 1
            is_first = target.whole is None or look.is_older(job)
        else:
            entry = before.followed(look)
            is_first = not look.is_owner and look.is_older(job)
            if has_room:  # else what was before is forgotten at once
                start = before.start_time or 0.0
                target.replaced[sys.intern(job.job_id), start] = before
                changed[EntryKey(look.name, job.job_id, start)] = before.standing
                self._remembered += 1
        entry.source = look.source
        target.entries[sys.intern(job.job_id)] = entry
        changes = entry.advance(job, look, names, numbers)
        target.newest = max(target.newest, job.snapshot_time or 0)
        changed[EntryKey(look.name, job.job_id)] = entry.standing
        if is_first:
            entry.unsure = job.damaged
            return changed, None if target.whole is None else _unread(look.name, job.job_id, entry)
        return changed, _activity(job, look, entry, changes) if changes and any(changes) else None

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


class Turn:
    """One reading of one source, of one or more texts: see `Deltas.turn`."""

    def __init__(self, deltas: Deltas, source: str, at: float, counted: Counted) -> None:
        self._deltas = deltas
        self._source = source
        self._at = at
        self._counted = counted
        self._begun: dict[str, Look] = {}
        #: Entries of which something was not read, and is not known.
        self.unread = 0

    @property
    def untracked(self) -> int:
        """Entries that were too many to remember."""
        return sum(look.target.untracked for look in self._begun.values())

    def read(self, jobs: Iterable[JobStats], findings: Findings) -> None:
        """Count what each job did since the readings before. One that did nothing is left out.

        A job that is in a dump twice may be told twice: add it up.

        Args:
            jobs: Of any targets. What it raises is passed on, and no entry counts as missing.
            findings: Of the parser that gives them; looked at when they have ended.

        Raises:
            ValueError: A target was read before, for this moment or a later one.
        """
        looks: dict[str, Look] = {}
        following = iter(jobs)
        while True:
            batch: list[JobStats] = []
            try:
                batch.extend(islice(following, _BATCH))
            finally:  # what was read before something failed counts
                self._count(batch, looks)
            if not batch:
                break
        with self._deltas.lock:
            forgotten: dict[EntryKey, Standing | None] = {}
            unread: list[Activity] = []
            for name, is_whole in findings.targets.items():
                look = self._look(name, looks)
                if is_whole:
                    for key, activity in self._deltas.end_whole(look):
                        forgotten[key] = None
                        unread += filter(None, [activity])
            self.unread += len(unread)
            self._counted(unread, Changes({name: look.target.seen_at for name, look in looks.items()}, forgotten))

    def begin_anew(self, names: Iterable[str]) -> None:
        """Forget all that is known of targets, none of which was read yet."""
        with self._deltas.lock:
            for name in names:
                gone = dict.fromkeys(self._deltas.forget(name))
                self._counted([], Changes({name: Seen(None, None, 0.0)}, gone))

    def end(self) -> dict[str, str]:
        """End, whether or not all could be read. Tell which targets belong to another source, and to which."""
        with self._deltas.lock:
            self._deltas.leave(self._source, self._begun)
            return {name: str(look.target.owner) for name, look in self._begun.items() if not look.is_owner}

    def _count(self, batch: Iterable[JobStats], looks: dict[str, Look]) -> None:
        activities: list[Activity] = []
        changed: dict[EntryKey, Standing | None] = {}
        with self._deltas.lock:
            try:
                for job in batch:
                    look = self._look(job.target, looks)
                    of, activity = self._deltas.count(job, look)
                    changed |= of
                    if activity is not None:
                        activities.append(activity)
                        self.unread += UNREAD in activity.increases
            finally:
                if changed:
                    seen = {name: looks[name].target.seen_at for name in {key.target for key in changed}}
                    self._counted(activities, Changes(seen, changed))

    def _look(self, name: str, looks: dict[str, Look]) -> Look:
        look = looks.get(name)
        if look is None:
            look = looks[name] = self._begun[name] = self._deltas.look(name, self._source, self._at)
        return look


def _activity(job: JobStats, look: Look, entry: Entry, changes: array[int]) -> Activity | None:
    if entry.begin == entry.seen:
        return None
    increases = {
        name: Increase(samples, total)
        for name, (samples, total) in zip(entry.names, pairs(changes), strict=True)
        if samples or total
    }
    if entry.unread:
        increases[UNREAD], entry.unread = Increase(1, 0), False
    return Activity(look.name, job.job_id, entry.begin, entry.seen, increases)


def _unread(target: str, job_id: str, entry: Entry) -> Activity:
    """Name what nobody knows of an entry, at its last reading."""
    return Activity(target, job_id, min(entry.begin, entry.seen - 1), entry.seen, {UNREAD: Increase(1, 0)})
