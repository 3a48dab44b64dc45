"""What was counted in one span of time: for each operation, job and target its samples and its total.

A segment is three columns, sorted by a key that is made of the three codes (see `rota.lustre.store.names`), so that all
of one operation is one slice, and of a job in it again. Segments are added; nothing else ever happens to them. They are
kept by operation, in blocks, of which only those are unpacked that have the jobs that are looked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.int64]

#: Bits of a key: the operation above, the job, the target below.
_OPERATION, _JOB = 48, 16
_JOBS, _TARGETS = (1 << 32) - 1, (1 << 16) - 1
#: How many there can be of each.
MOST_OPERATIONS, MOST_TARGETS, MOST_JOBS = 1 << 15, 1 << 16, 1 << 32
_WORD = 8
_CODEC = "zstd"
#: Rows of a block: few enough that one job is found soon, and so many that they are compressed well.
_BLOCK = 1 << 14
#: Of so many blocks one must be enough; else all are unpacked, and remembered for the next question.
_FEW = 4
#: What stands in front: how many rows and blocks there are, and of each block its first key and, for each column, how
#: long it is, and how many bytes of its numbers are not zero.
_COUNTS = np.dtype("<u4")
_HEAD = np.dtype([("first", "<i8"), ("lengths", "<u4", 3), ("widths", "<u4", 3)])


def key_of(operation: int, target: int, job: int) -> int:
    """Make a key of three codes."""
    return operation << _OPERATION | job << _JOB | target


def jobs_of(keys: Column) -> Column:
    """Give the jobs' codes."""
    return keys >> _JOB & _JOBS


def targets_of(keys: Column) -> Column:
    """Give the targets' codes."""
    return keys & _TARGETS


def places_of(keys: Column, operation: int, jobs: Column) -> tuple[Column, Column]:
    """Give where the rows of each of some jobs begin and end, among those of one operation."""
    firsts = key_of(operation, 0, 0) + (jobs << _JOB)
    return keys.searchsorted(firsts), keys.searchsorted(firsts + (1 << _JOB))


class Segment(NamedTuple):
    """Three columns of one length. Keys ascend, and each is there once."""

    keys: Column
    samples: Column
    totals: Column

    @property
    def jobs(self) -> Column:
        """The jobs' codes."""
        return jobs_of(self.keys)

    @property
    def targets(self) -> Column:
        """The targets' codes."""
        return targets_of(self.keys)

    @property
    def operations(self) -> Column:
        """The operations' codes."""
        return self.keys >> _OPERATION

    def by_operation(self) -> Iterator[tuple[int, Segment]]:
        """Give the operations, each with its rows."""
        begin = 0
        while begin < len(self.keys):
            operation = int(self.keys[begin]) >> _OPERATION
            end = int(self.keys.searchsorted(operation + 1 << _OPERATION))
            yield operation, Segment(*(column[begin:end] for column in self))
            begin = end

    def by_job_and_operation(self) -> Segment:
        """Add the targets up."""
        return segment_of(self.keys & ~_TARGETS, self.samples, self.totals)

    def by_target_and_operation(self) -> Segment:
        """Add the jobs up."""
        return segment_of(self.keys & ~(_JOBS << _JOB), self.samples, self.totals)


def segment_of(
    keys: Sequence[int] | Column, samples: Sequence[int] | Column, totals: Sequence[int] | Column
) -> Segment:
    """Make a segment of rows in any order, in which a key may stand more than once."""
    columns = [np.asarray(column, dtype=np.int64) for column in (keys, samples, totals)]
    order = columns[0].argsort(kind="stable")
    ordered, *values = [column[order] for column in columns]
    if not len(ordered):
        return Segment(ordered, *values)
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(firsts) == len(ordered):
        return Segment(ordered, *values)
    return Segment(ordered[firsts], *(np.add.reduceat(column, firsts) for column in values))


def join(segments: Iterable[Packed]) -> Segment:
    """Put segments one behind the other, all keys of each above those of the one before."""
    unpacked = [one.unpacked() for one in segments]
    return Segment(*(np.concatenate(columns) for columns in zip(*unpacked, strict=True)))


def add(segments: Iterable[Segment]) -> Segment:
    """Add segments up."""
    found = segment_of([], [], [])
    for one in segments:
        found = segment_of(*(np.concatenate(pair) for pair in zip(found, one, strict=True))) if len(found.keys) else one
    return found


def pack(segment: Segment) -> bytes:
    """Write a segment. Keys are written as differences."""
    heads, packed = [], []
    for begin in range(0, len(segment.keys), _BLOCK):
        keys, samples, totals = (column[begin : begin + _BLOCK] for column in segment)
        columns = [_pack(column) for column in (np.diff(keys, prepend=keys[:1]), samples, totals)]
        heads.append((keys[0], [len(data) for data, _ in columns], [width for _, width in columns]))
        packed += [data for data, _ in columns]
    counts = np.array([len(segment.keys), len(heads)], dtype=_COUNTS)
    return b"".join([counts.tobytes(), np.array(heads, dtype=_HEAD).tobytes(), *packed])


class Packed:
    """A segment that was packed, or some blocks of it. A column is unpacked when it is asked for, and then kept.

    Args:
        data: What `pack` wrote.
        jobs: Codes of jobs, ascending: blocks that have none of them are left out, if that is most; ``None``: none is.
    """

    def __init__(self, data: bytes, jobs: Column | None = None) -> None:
        rows, count = np.frombuffer(data, _COUNTS, 2).tolist()
        heads = np.frombuffer(data, _HEAD, count, 2 * _COUNTS.itemsize)
        self._data = data
        self._firsts, self._widths = heads["first"], heads["widths"]
        begin = 2 * _COUNTS.itemsize + heads.nbytes
        #: By block and column, where it ends; each begins where the one before ends.
        ends = begin + heads["lengths"].cumsum(dtype=np.int64)
        self._begins = np.concatenate(([begin], ends[:-1])).reshape(count, 3) if count else ends.reshape(0, 3)
        self._ends = ends.reshape(count, 3)
        self._rows = np.full(count, _BLOCK, dtype=np.int64)
        self._rows[-1:] = rows - _BLOCK * (count - 1)
        self._blocks = np.arange(count)
        if jobs is not None:
            first = jobs_of(self._firsts)
            after = np.append(first[1:], _JOBS) + 1  # a job may go on in the next block
            wanted = np.flatnonzero(jobs.searchsorted(after) > jobs.searchsorted(first))
            if len(wanted) * _FEW <= count:
                self._blocks = wanted

    @property
    def is_whole(self) -> bool:
        """Whether no block was left out."""
        return len(self._blocks) == len(self._rows)

    @property
    def size(self) -> int:
        """Bytes in memory when all columns have been asked for."""
        return len(self._data) + 3 * _WORD * int(self._rows[self._blocks].sum())

    @cached_property
    def keys(self) -> Column:
        """The keys."""
        found = self._column(0)
        at = 0
        for block in self._blocks.tolist():
            part = found[at : at + int(self._rows[block])]
            part[0] = self._firsts[block]
            part.cumsum(out=part)
            at += len(part)
        return found

    @cached_property
    def samples(self) -> Column:
        """The samples."""
        return self._column(1)

    @cached_property
    def totals(self) -> Column:
        """The totals."""
        return self._column(2)

    def unpacked(self) -> Segment:
        """Give all columns."""
        return Segment(self.keys, self.samples, self.totals)

    def _column(self, column: int) -> Column:
        blocks = self._blocks
        found = np.zeros(int(self._rows[blocks].sum()), dtype="<i8")
        at = 0
        for rows, begin, end, width in zip(
            self._rows[blocks].tolist(),
            self._begins[blocks, column].tolist(),
            self._ends[blocks, column].tolist(),
            self._widths[blocks, column].tolist(),
            strict=True,
        ):
            _unpack(self._data[begin:end], width, found[at : at + rows])
            at += rows
        return found.astype(np.int64, copy=False)


def unpack(data: bytes) -> Segment:
    """Read what `pack` wrote."""
    return Packed(data).unpacked()


def _pack(column: Column) -> tuple[bytes, int]:
    """Compress a column, and say how many bytes of its numbers are not zero.

    All first bytes come before all second ones, as most of these are alike.
    """
    width = (int(column.max()).bit_length() + 7) // 8 if column.min() >= 0 else _WORD
    turned = column.astype("<i8").view(np.uint8).reshape(-1, _WORD)[:, :width].T
    packed: bytes = pa.compress(turned.tobytes(), codec=_CODEC, asbytes=True)
    return packed, width


def _unpack(data: bytes, width: int, found: Column) -> None:
    """Read what `_pack` wrote into a column of zeros."""
    if width:
        rows = len(found)
        turned = np.frombuffer(pa.decompress(data, rows * width, codec=_CODEC), dtype=np.uint8).reshape(width, rows)
        by_number = found.view(np.uint8).reshape(rows, _WORD)
        for place in range(width):
            by_number[:, place] = turned[place]
