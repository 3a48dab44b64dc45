"""Reads sources at the same moments, each in a thread of its own, and writes what they did together.

What goes wrong in one place stays there, and is counted: a source that fails or hangs loses its own readings, and what
cannot be written waits for the next time.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from threading import Condition, Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rota.lustre.counters import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.lustre.counters import Activity, EntryKey, Seen, Standing
    from rota.lustre.deltas import Counted
    from rota.lustre.store import Writer, Written

#: Activities that wait to be written, at most.
_WAITING = 2_000_000
#: Part of the interval for which one that has been read waits for the others.
_PATIENCE = 0.5


class Reading(NamedTuple):
    """What a source gave at one moment, besides what was counted."""

    #: Entries of jobs, and their counters that are not zero.
    jobs: int = 0
    counters: int = 0
    #: Lines that could not be understood; each cost one counter at most.
    bad_lines: int = 0
    #: Entries that were too many to remember.
    untracked: int = 0
    #: Why parts of it could not be read.
    faults: Sequence[str] = ()
    #: What is odd about it, and costs nothing.
    remarks: Sequence[str] = ()
    #: Of the bad lines the first, and what is wrong with it.
    bad_line: str = ""
    #: Entries of which something was not read, and is not known.
    unread: int = 0


class Feed(Protocol):
    """Where activities come from."""

    @property
    def name(self) -> str:
        """What it is called."""

    def read(self, at: float, counted: Counted, /) -> Reading:
        """Read; anything that it raises is noted, and costs what was not counted until then.

        Args:
            at: The time, Unix seconds, as the collector has it.
            counted: Takes what was done, and what is to be remembered of it, in the order in which it was counted.
        """


@dataclass
class FeedState:
    """How a source is."""

    name: str
    readings: int = 0
    failures: int = 0
    #: Moments that passed while it was still being read.
    missed: int = 0
    bad_lines: int = 0
    #: One of them, of the last reading that had any.
    bad_line: str = ""
    #: Entries of which something was not read, and is not known.
    unread: int = 0
    #: Of the last reading.
    jobs: int = 0
    counters: int = 0
    untracked: int = 0
    seconds: float = 0.0
    #: When it was last read, Unix seconds.
    last: float | None = None
    #: Why the last reading failed; empty: it did not.
    error: str = ""
    #: What was odd about it, though nothing failed.
    remark: str = ""
    #: Since when it is being read, Unix seconds; ``None``: it is not.
    busy_since: float | None = None
    #: The last moment for which it has been tried.
    tried: float = 0.0


@dataclass
class WriteState:
    """How writing is."""

    times: int = 0
    failures: int = 0
    rows: int = 0
    #: Increases that are a defect, see `rota.lustre.store.writer`; and activities that had no room to wait.
    dropped: int = 0
    lost: int = 0
    #: Activities that wait.
    waiting: int = 0
    #: How long the last time took.
    seconds: float = 0.0
    error: str = ""


class Collector:
    """The collector.

    Args:
        feeds: The sources.
        writer: Of the store; no other thread may use it while this runs.
        interval: Seconds between two readings, the finest step of the store.
        clock: Gives Unix seconds.
        written: Is called, in the writing thread, with what was written.
        report: Takes a line for the administrator.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        writer: Writer,
        interval: int,
        *,
        clock: Callable[[], float],
        written: Callable[[Sequence[Activity], Written], object],
        report: Callable[[str], object],
    ) -> None:
        self._feeds = feeds
        self._writer = writer
        self._interval = interval
        self._clock = clock
        self._written = written
        self._report = report
        self._stop = Event()
        self._changed = Condition()
        self._waiting: list[Activity] = []
        self._targets: dict[str, Seen] = {}
        self._jobs: dict[EntryKey, Standing | None] = {}
        self.feeds = [FeedState(feed.name) for feed in feeds]
        self.writing = WriteState()
        self._writing = Thread(target=self._write_all, name="write")

    def start(self) -> None:
        """Begin to read, at once and then at the end of each step."""
        for feed, state in zip(self._feeds, self.feeds, strict=True):
            Thread(target=self._read_all, args=(feed, state), name=f"read {feed.name}", daemon=True).start()
        self._writing.start()

    def stop(self) -> None:
        """End: what was read is written, what is being read is not waited for."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        self._writing.join()

    def _next(self, after: float) -> float:
        """Give the next moment at which sources are read."""
        return (after // self._interval + 1) * self._interval

    def _read_all(self, feed: Feed, state: FeedState) -> None:
        moment = self._clock()
        while not self._stop.is_set():
            self._read(feed, state)
            with self._changed:
                state.tried = moment
                self._changed.notify_all()
            following = self._next(self._clock())
            state.missed += max(round((following - self._next(moment)) / self._interval), 0)
            moment = following
            self._sleep_until(moment)

    def _sleep_until(self, moment: float) -> None:
        while (left := moment - self._clock()) > 0 and not self._stop.wait(left):
            pass

    def _read(self, feed: Feed, state: FeedState) -> None:
        begun, at = monotonic(), self._clock()
        state.busy_since = at
        try:
            found = feed.read(at, self._count)
        except Exception as error:  # noqa: BLE001 - whatever a source does, the others go on
            self._note(state, [str(error) or type(error).__name__])
        else:
            self._note(state, found.faults)
            self._remark(state, "".join(found.remarks[:1]))
            state.last = at
            state.readings += 1
            state.jobs, state.counters, state.untracked = found.jobs, found.counters, found.untracked
            state.bad_lines += found.bad_lines
            state.unread += found.unread
            if found.bad_line and not state.bad_line:  # later ones are counted
                self._report(found.bad_line)
            state.bad_line = found.bad_line or state.bad_line
        finally:
            state.seconds, state.busy_since = monotonic() - begun, None

    def _count(self, activities: Sequence[Activity], changes: Changes) -> None:
        """Have activities wait until they are written, together with what is to be remembered then."""
        with self._changed:
            self._waiting += activities
            self._targets.update(changes.targets)
            self._jobs.update(changes.jobs)

    def _note(self, state: FeedState, faults: Sequence[str]) -> None:
        """Note what failed, and tell the administrator what is new of it."""
        error = faults[0] if faults else ""
        if error != state.error:
            self._report(error or f"{state.name}: all of it can be read again")
        state.failures += len(faults)
        state.error = error

    def _remark(self, state: FeedState, remark: str) -> None:
        """Note what is odd, and tell the administrator what is new of it."""
        if remark and remark != state.remark:
            self._report(remark)
        state.remark = remark

    def _write_all(self) -> None:
        """Write after each moment, as soon as all have been read, or half an interval later."""
        moment = self._next(self._clock())
        while not self._stop.is_set():
            self._sleep_until(moment)
            latest = monotonic() + _PATIENCE * self._interval
            with self._changed:
                while not self._stop.is_set() and any(state.tried < moment for state in self.feeds):
                    if not self._changed.wait(max(latest - monotonic(), 0)):
                        break
            self._write()
            moment = self._next(self._clock())
        if self._waiting or self._jobs:
            self._write()

    def _write(self) -> None:
        with self._changed:
            activities, self._waiting = self._waiting, []
            changes = Changes(self._targets, self._jobs)
            self._targets, self._jobs = {}, {}
        begun, state = monotonic(), self.writing
        try:
            written = self._writer.write(activities, self._clock(), changes)
        except sqlite3.Error as error:
            self._keep(activities, changes, str(error))
            return
        if state.error:
            self._report("the store is written again")
        state.error, state.waiting = "", 0
        state.times += 1
        state.rows += written.rows
        state.dropped += written.dropped
        state.seconds = monotonic() - begun
        try:
            self._written(activities, written)
        except Exception as error:  # noqa: BLE001 - readings go on, whatever becomes of them
            self._report(f"error: what follows from a step failed: {type(error).__name__}: {error}")

    def _keep(self, activities: list[Activity], changes: Changes, error: str) -> None:
        """Keep activities for the next time, and if they become too many, the newest of them."""
        state = self.writing
        state.failures += 1
        if error != state.error:
            self._report(f"error: the store cannot be written, and what is read waits: {error}")
        state.error = error
        with self._changed:
            self._waiting[:0] = activities
            self._targets = {**changes.targets, **self._targets}
            self._jobs = {**changes.jobs, **self._jobs}
            over = max(len(self._waiting) - _WAITING, 0)
            del self._waiting[:over]
            state.lost += over
            state.waiting = len(self._waiting)
