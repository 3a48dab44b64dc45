"""What is known of each job on each target from the readings before: see `rota.lustre.deltas` for the rules."""

from __future__ import annotations

from array import array
from collections import deque
from itertools import chain
from math import inf
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from rota.lustre.counters import Seen, Standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.lustre.counters import JobStats

#: Before this, Unix seconds are none but seconds since a boot.
EPOCH = 1e9
#: Readings of a target after which an entry that was in none of them is forgotten.
MISSED_READINGS = 3
#: Seconds for which it is remembered nevertheless, if its `start_time` tells it from one that was made anew: a source
#: that is behind may come back. Lustre itself keeps entries of idle jobs as long.
KEPT = 600.0
#: Seconds: an entry that was idle for so long may have been removed by Lustre for that, and nothing is missing.
_IDLE = KEPT - 60.0
#: Seconds between two readings, at most.
_LONGEST_STEP = 60.0


class Entry:
    """What is known of one job on one target."""

    __slots__ = (
        "begin", "idle", "names", "numbers", "seen", "shown", "snapshot_time", "source", "start_time", "unread",
        "unsure",
    )  # fmt: skip

    def __init__(self, begin: float) -> None:
        #: Operations; and of each, in turn, samples and total.
        self.names: tuple[str, ...] = ()
        self.numbers = array("q")
        #: Whether there may be others, which could not be read.
        self.unsure = False
        self.start_time: float | None = None
        self.snapshot_time: float | None = None
        #: Who was the first to read what is known.
        self.source: str | None = None
        #: The last reading that had it, and the one before, since when its increase is counted.
        self.seen = self.begin = begin
        #: The last reading that had it, even if it was behind another.
        self.shown = begin
        #: Seconds in which readings showed that it did nothing.
        self.idle = 0.0
        #: Whether something was done since it was last told that nobody read.
        self.unread = False

    def advance(self, job: JobStats, look: Look, names: tuple[str, ...], numbers: array[int]) -> array[int] | None:
        """Take over what was read, and tell by how much it is more, in the order of the names that are then known.

        ``None``: it is the older of two of the same reading, or behind what another source has read.
        """
        self.shown = look.at
        age = 1 if self.source == look.source or look.is_alone else _age(job, self)
        if age is None:
            age = 1 if look.is_owner else -1
        if age < 0:
            return None
        before, is_second = self.seen, self.seen >= look.at
        changes = self._grow(job, names, numbers)
        if changes is None:
            if age == 0 or (is_second and self.source == look.source):
                return None
            self.unread = self.unread or self.is_at_work
            self.names, self.numbers, self.unsure = names, numbers, False
            changes = numbers
        self.start_time = self.start_time if job.start_time is None else job.start_time
        self.snapshot_time = self.snapshot_time if job.snapshot_time is None else job.snapshot_time
        if not is_second:
            self.begin, self.seen = self.seen, look.at
        elif self.source != look.source:
            self.begin = min(self.begin, self.seen - 1)  # another source has seen it in this very moment
        # A clock that was set forward, or a time in which nothing was read, shows nothing.
        self.idle = 0.0 if any(changes) else self.idle + min(max(look.at - before, 0.0), _LONGEST_STEP)
        if age > 0 or any(changes):
            self.source = look.source
        return changes

    @property
    def is_at_work(self) -> bool:
        """Tell whether it may have counted more after its last reading: it did not just expire."""
        return self.idle < _IDLE

    @property
    def standing(self) -> Standing:
        """What has to be remembered of it."""
        return Standing(self.names, self.numbers, self.start_time, self.snapshot_time, self.unsure)

    def is_another(self, job: JobStats) -> bool:
        """Tell whether what was read was made at another time: no clock has to say which is the younger."""
        return None not in {job.start_time, self.start_time} and job.start_time != self.start_time

    def followed(self, look: Look) -> Entry:
        """Make the one that was made anew after it, or is behind it: what it did is told since this one was seen."""
        entry = Entry(self.seen)
        # Another source may have seen this one in this very moment.
        entry.begin = self.begin if self.source == look.source else min(self.begin, self.seen - 1)
        entry.unread = self.is_at_work
        return entry

    def restore(self, standing: Standing) -> None:
        """Take over what was remembered."""
        self.names, self.numbers, self.start_time, self.snapshot_time, self.unsure = standing

    def _grow(self, job: JobStats, names: tuple[str, ...], numbers: array[int]) -> array[int] | None:
        """Take over counters of the same entry. ``None``, and nothing is taken over: one is less than before."""
        before = self.numbers
        if names != self.names:
            known = dict(zip(self.names, pairs(before), strict=True))
            read = dict(zip(names, pairs(numbers), strict=True))
            # An entry loses no counters: the text may end in front of them.
            is_same = job.start_time is not None and job.start_time == self.start_time
            for name, counter in known.items():
                read.setdefault(name, counter if job.damaged or is_same else (0, 0))
            names, numbers = tuple(read), array("q", chain.from_iterable(read.values()))
            first = read if self.unsure else dict.fromkeys(read, (0, 0))
            before = array("q", chain.from_iterable((first | known).values()))
        changes = array("q", map(sub, numbers, before))
        if min(changes, default=0) < 0:
            return None
        self.names, self.numbers = names, numbers
        self.unsure = self.unsure and job.damaged
        return changes


class Target:
    """What is known of one target."""

    __slots__ = (
        "entries", "first", "last", "met", "newest", "owned", "owner", "pause", "reached", "readers", "replaced",
        "untracked", "whole", "wholes",
    )  # fmt: skip

    def __init__(self, first: float | None = None, whole: float | None = None, last: float = 0.0) -> None:
        #: By job, the entry that was found last.
        self.entries: dict[str, Entry] = {}
        #: By job and `start_time`, those before, which a source that is behind may still show.
        self.replaced: dict[tuple[str, float], Entry] = {}
        #: The first and the last reading of all entries, and the last of any.
        self.first = first
        self.whole = whole
        self.last = last
        #: By source: the last reading.
        self.readers: dict[str, float] = {}
        #: By source: the last whole readings, as many as an entry may be missing in.
        self.wholes: dict[str, deque[float]] = {}
        #: By source: the youngest `snapshot_time` that it has read.
        self.reached: dict[str, float] = {}
        #: The first of them all.
        self.met: float | None = None
        #: Whose it is, when that one was read with it, and how long after the time before.
        self.owner: str | None = None
        self.owned = self.pause = 0.0
        #: The youngest `snapshot_time`.
        self.newest = 0.0
        #: Entries of this reading that were too many.
        self.untracked = 0

    def begin(self, at: float) -> None:
        """Note when all entries were read for the first time, if this is it.

        The server's clock may be behind the reader's, and so may a copy: then it is when the youngest was active.
        """
        if self.first is None:
            self.first = min(at, self.newest) if self.newest > EPOCH else at

    def find(self, job: JobStats) -> Entry | None:
        """Find what is known of an entry; of one that was made at another time, nothing is."""
        entry = self.entries.get(job.job_id)
        if entry is None or not entry.is_another(job):
            return entry
        return self.replaced.get((job.job_id, job.start_time or 0))

    def note_whole(self, source: str, at: float) -> None:
        """Note a reading that had all entries."""
        self.wholes.setdefault(source, deque(maxlen=MISSED_READINGS)).append(at)

    def missing(self, since: float, at: float, *, is_alone: bool) -> Iterator[tuple[str, float | None, Entry]]:
        """Give the entries that may be forgotten, by job and, of those before the last one, `start_time`.

        Args:
            since: Sources that were not read since then show nothing more.
            at: Now.
            is_alone: Whether the one source is behind nobody.
        """
        sources = [source for source, wholes in self.wholes.items() if wholes[-1] >= since]
        # All that was shown before this is missing often enough, in each source.
        wholes = [self.wholes[source] for source in sources]
        before = min((one[0] if len(one) == MISSED_READINGS else -inf for one in wholes), default=-inf)
        reached = inf if is_alone else min((self.reached.get(source, 0.0) for source in sources), default=0.0)
        missing = [(job_id, None, entry) for job_id, entry in self.entries.items() if entry.shown < before]
        replaced = [(*key, entry) for key, entry in self.replaced.items() if entry.shown < before]
        for job_id, start, entry in chain(missing, replaced):
            if entry.start_time is not None and entry.shown > at - KEPT:
                continue
            # Times since a boot say nothing of a source that has another server's.
            if (entry.snapshot_time or 0) <= max(reached, EPOCH):
                yield job_id, start, entry

    @property
    def seen_at(self) -> Seen:
        """What has to be remembered of it, besides its entries."""
        return Seen(self.first, self.whole, self.last)


class Look(NamedTuple):
    """One reading of one target."""

    name: str
    target: Target
    source: str
    at: float
    is_owner: bool
    #: Whether no other source has read it for long, so that it is behind nobody.
    is_alone: bool
    #: The youngest `snapshot_time` that was read before.
    newest: float

    def is_ahead(self, job: JobStats) -> bool:
        """Tell whether a new entry cannot be one that the target had before, and that is forgotten.

        With a `start_time` it would not be forgotten so soon, and servers' clocks are no further apart.
        """
        active = job.snapshot_time or 0
        if job.start_time is None:
            return active > max(self.newest, EPOCH)
        return active < EPOCH or active > self.newest - KEPT

    def is_older(self, job: JobStats) -> bool:
        """Tell whether an entry was there before the target was first read, and was missed then.

        It is not missed in so many readings: then the server's clock is behind.
        """
        first = self.target.first
        if len(self.target.wholes.get(self.source, ())) == MISSED_READINGS:
            return False
        return job.start_time is not None and first is not None and EPOCH < job.start_time < first


def _age(job: JobStats, entry: Entry) -> int | None:
    """Tell whether what was read is ahead (1) of what is known, behind it (-1) or the same (0). ``None``: who knows."""
    # Times since a boot can be compared if it is the same boot.
    is_same = job.start_time is not None and job.start_time == entry.start_time
    active = _order(job.snapshot_time, entry.snapshot_time, 0.0 if is_same else EPOCH)
    return 0 if active is None and is_same else active


def _order(one: float | None, other: float | None, first: float) -> int | None:
    if one is None or other is None or min(one, other) < first:
        return None
    return (one > other) - (one < other)


def pairs(numbers: array[int]) -> Iterator[tuple[int, int]]:
    """Give samples and total of each operation."""
    return zip(numbers[::2], numbers[1::2], strict=True)
