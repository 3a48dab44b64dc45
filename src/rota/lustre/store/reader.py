"""What is read: one look at a store, in which nothing changes, and segments that were looked at before."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from itertools import groupby
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rota.lustre.store.database import open_to_read
from rota.lustre.store.known import Known, Values
from rota.lustre.store.names import bytes_of
from rota.lustre.store.segment import Packed, join
from rota.lustre.store.tiers import Kept, Span

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rota.lustre.store.segment import Segment
    from rota.lustre.store.veil import Veil

#: Bytes of segments that are remembered.
_REMEMBERED = 256 << 20


class Part(Enum):
    """What is read of a segment, and how."""

    WHOLE = "SELECT data FROM segments WHERE step = ? AND start = ? AND operation = ?"
    #: All targets together, or all jobs.
    BY_JOB = "SELECT by_job FROM segments WHERE step = ? AND start = ? AND operation = ?"
    BY_TARGET = "SELECT by_target FROM segments WHERE step = ? AND start = ? AND operation = ?"


class Job(NamedTuple):
    """A job that did something."""

    code: int
    #: Unix seconds: the steps in which it did something first and last, from the start of one to the end of the other.
    first: int
    last: int


#: Step, start, operation and version of a segment, and the part of it.
_Key = tuple[int, int, int, int, Part]


class Reader:
    """Looks at a store, and remembers segments and fields of jobs for the next look. Any number of threads may use it.

    Args:
        folder: Directory of the store.
        veil: Hides who jobs are; ``None``: they are shown.
    """

    def __init__(self, folder: Path, veil: Veil | None = None) -> None:
        self._folder = folder
        #: Hides who jobs are; ``None``: they are shown.
        self.veil = veil
        self._segments: OrderedDict[_Key, Packed] = OrderedDict()
        self._size = 0
        #: What is known of jobs.
        self.known = Known(veil)
        self._lock = Lock()

    def look(self) -> Look:
        """Look at the store as it is now.

        Raises:
            InputError: there is no store.
        """
        return Look(open_to_read(self._folder), self)

    def get(self, key: _Key) -> Packed | None:
        """Give a segment, or a part of it."""
        with self._lock:
            if (found := self._segments.get(key)) is not None:
                self._segments.move_to_end(key)
            return found

    def put(self, key: _Key, segment: Packed) -> None:
        """Remember a segment, and forget those that were used longest ago."""
        with self._lock:
            if key in self._segments or segment.size > _REMEMBERED // 4:
                return
            self._segments[key] = segment
            self._size += segment.size
            while self._size > _REMEMBERED:
                self._size -= self._segments.popitem(last=False)[1].size


class Look:
    """One look at a store, to be used as a context manager.

    Args:
        connection: To the store, in a transaction.
        reader: Remembers what was read.
    """

    def __init__(self, connection: sqlite3.Connection, reader: Reader) -> None:
        self._connection = connection
        self._reader = reader
        #: What there is of each tier, from the finest.
        self.kept = [Kept(*row) for row in self._connection.execute("SELECT step, low, high FROM tiers ORDER BY step")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def until(self) -> int:
        """Until when all is there that was read in time, Unix seconds."""
        return self.kept[0].high

    @property
    def begun(self) -> int:
        """Since when it is read, Unix seconds: when the first target was read, or the first job did something."""
        (read,) = self._connection.execute("SELECT min(first) FROM seen").fetchone()
        first = self._connection.execute("SELECT first FROM jobs WHERE code = 0").fetchone()
        step = self.kept[0].step
        return min((int(one // step * step) for one in (read, *(first or ())) if one is not None), default=self.until)

    def segments(
        self, spans: Iterable[Span], part: Part = Part.WHOLE, jobs: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[int, Segment]]:
        """Give what there is of spans, each segment, or a part of it, with its start; the rest is as in `rows`."""
        for start, rows in groupby(self.rows(spans, part, jobs=jobs), itemgetter(0)):
            yield start, join(one for _, _, one in rows)

    def rows(
        self,
        spans: Iterable[Span],
        part: Part = Part.WHOLE,
        operations: Collection[int] | None = None,
        jobs: NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[int, int, Packed]]:
        """Give what there is of spans and some operations, or all: start, operation, and its rows of the segment.

        Args:
            spans: When.
            part: What is read of each segment.
            operations: Which; ``None``: all.
            jobs: Codes of jobs, ascending, of which all rows are needed; others may be left out. ``None``: of all jobs.
        """
        for step, begin, end in spans:
            there = self._connection.execute(
                "SELECT start, operation, version FROM segments WHERE step = ? AND start >= ? AND start < ?"
                " ORDER BY start, operation",
                (step, begin, end),
            ).fetchall()
            for start, operation, version in there:
                if operations is None or operation in operations:
                    yield start, operation, self._segment((step, start, operation, version, part), jobs)

    def _segment(self, key: _Key, jobs: NDArray[np.int64] | None) -> Packed:
        found = self._reader.get(key)
        if found is None:
            step, start, operation, version, part = key
            (data,) = self._connection.execute(part.value, (step, start, operation)).fetchone()
            if data is None:  # it is hardly shorter than the whole
                return self._segment((step, start, operation, version, Part.WHOLE), jobs)
            found = Packed(data, jobs if part is not Part.BY_TARGET else None)
            if found.is_whole:
                self._reader.put(key, found)
        return found

    def operations(self) -> list[str]:
        """Give the operations, by code."""
        return self._names("SELECT name FROM operations ORDER BY code")

    def targets(self) -> list[str]:
        """Give the targets, by code."""
        return self._names("SELECT name FROM targets ORDER BY code")

    def _names(self, select: str) -> list[str]:
        return [name.decode() for (name,) in self._connection.execute(select)]

    def job(self, job_id: str) -> Job | None:
        """Find a job."""
        veil = self._reader.veil
        if veil is not None and veil.hides_jobs:
            select = "SELECT code, first, last FROM jobs WHERE code = ?"
            found = self._connection.execute(select, (veil.code_of(job_id),)).fetchone()
        else:
            select = "SELECT code, first, last FROM jobs WHERE name = ?"
            found = self._connection.execute(select, (bytes_of(job_id),)).fetchone()
        return None if found is None else Job(*found)

    def job_count(self) -> int:
        """Say how many jobs there are: their codes are all numbers below."""
        return int(self._connection.execute("SELECT coalesce(max(code), -1) + 1 FROM jobs").fetchone()[0])

    def job_ids(self, codes: Iterable[int]) -> list[str]:
        """Give the ids of jobs."""
        veil = self._reader.veil
        if veil is not None and veil.hides_jobs:
            return [veil.job_of(code) for code in codes]
        select = "SELECT name FROM jobs WHERE code = ?"
        return [self._connection.execute(select, (code,)).fetchone()[0].decode() for code in codes]

    def fields(self, codes: Sequence[int]) -> list[Mapping[str, Any]]:
        """Give what is known of jobs; nothing is an empty mapping."""
        return self._reader.known.fields(self._connection, codes)

    def values(self, field: str, codes: NDArray[np.int64]) -> Values:
        """Give what is known of one field of jobs."""
        return self._reader.known.values(self._connection, field, codes)

    def summary(self, job: int) -> dict[int, tuple[int, int]]:
        """Give samples and totals of a job by operation, up to where the second tier is made."""
        found = self._connection.execute("SELECT operation, samples, total FROM summaries WHERE job = ?", (job,))
        return {operation: (samples, total) for operation, samples, total in found}
