"""What was counted in one span of time: for each operation, target and job its samples and its total.

A segment is three columns, sorted by a key that is made of the three codes (see `rota.lustre.store.names`), so that all
of one operation is one slice. Segments are added; nothing else ever happens to them. They are kept by operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.int64]

#: Bits of a key: the operation above, the target, the job below.
_OPERATION, _TARGET = 48, 32
_JOBS, _TARGETS = (1 << 32) - 1, (1 << 16) - 1
#: How many there can be of each.
MOST_OPERATIONS, MOST_TARGETS, MOST_JOBS = 1 << 15, 1 << 16, 1 << 32
_WORD = 8
_CODEC = "zstd"


def key_of(operation: int, target: int, job: int) -> int:
    """Make a key of three codes."""
    return operation << _OPERATION | target << _TARGET | job


def jobs_of(keys: Column) -> Column:
    """Give the jobs' codes."""
    return keys & _JOBS


def targets_of(keys: Column) -> Column:
    """Give the targets' codes."""
    return keys >> _TARGET & _TARGETS


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

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 3 * self.keys.nbytes

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
        return segment_of(self.keys & ~(_TARGETS << _TARGET), self.samples, self.totals)

    def by_target_and_operation(self) -> Segment:
        """Add the jobs up."""
        return segment_of(self.keys & ~_JOBS, self.samples, self.totals)


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


def join(segments: Iterable[Segment]) -> Segment:
    """Put segments one behind the other, all keys of each above those of the one before."""
    return Segment(*(np.concatenate(columns) for columns in zip(*segments, strict=True)))


def add(segments: Iterable[Segment]) -> Segment:
    """Add segments up."""
    found = segment_of([], [], [])
    for one in segments:
        found = segment_of(*(np.concatenate(pair) for pair in zip(found, one, strict=True))) if len(found.keys) else one
    return found


def pack(segment: Segment) -> bytes:
    """Write a segment: of how many rows it is, then how long and how wide each column is, then these.

    Keys are written as differences.
    """
    differences = np.diff(segment.keys, prepend=0)
    columns = [_pack(column) for column in (differences, segment.samples, segment.totals)]
    head = [len(segment.keys), *(number for data, width in columns for number in (len(data), width))]
    return b"".join([np.array(head, dtype="<u4").tobytes(), *(data for data, _ in columns)])


def unpack(data: bytes) -> Segment:
    """Read what `pack` wrote."""
    rows, *sizes = np.frombuffer(data, dtype="<u4", count=7).tolist()
    columns, at = [], 28
    for length, width in zip(sizes[::2], sizes[1::2], strict=True):
        columns.append(_unpack(data[at : at + length], rows, width))
        at += length
    return Segment(columns[0].cumsum(), *columns[1:])


def _pack(column: Column) -> tuple[bytes, int]:
    """Compress a column, and say how many bytes of its numbers are not zero.

    All first bytes come before all second ones, as most of these are alike.
    """
    if not len(column):
        return b"", 0
    width = (int(column.max()).bit_length() + 7) // 8 if column.min() >= 0 else _WORD
    turned = column.astype("<i8").view(np.uint8).reshape(-1, _WORD)[:, :width].T
    packed: bytes = pa.compress(turned.tobytes(), codec=_CODEC, asbytes=True)
    return packed, width


def _unpack(data: bytes, rows: int, width: int) -> Column:
    column = np.zeros(rows, dtype="<i8")
    if rows and width:
        turned = np.frombuffer(pa.decompress(data, rows * width, codec=_CODEC), dtype=np.uint8).reshape(width, rows)
        by_number = column.view(np.uint8).reshape(rows, _WORD)
        for place in range(width):
            by_number[:, place] = turned[place]
    return column.astype(np.int64, copy=False)
