"""What was counted in one span of time: for each operation, target and job its samples and its total.

A segment is three columns, sorted by a key that is made of the three codes (see `rota.lustre.store.names`), so that all
of one operation is one slice. Segments are added; nothing else ever happens to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


class Segment(NamedTuple):
    """Three columns of one length. Keys ascend, and each is there once."""

    keys: Column
    samples: Column
    totals: Column

    @property
    def jobs(self) -> Column:
        """The jobs' codes."""
        return self.keys & _JOBS

    @property
    def targets(self) -> Column:
        """The targets' codes."""
        return self.keys >> _TARGET & _TARGETS

    @property
    def operations(self) -> Column:
        """The operations' codes."""
        return self.keys >> _OPERATION

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 3 * self.keys.nbytes

    def of(self, operation: int) -> Segment:
        """Give the rows of one operation."""
        first, last = self.keys.searchsorted([operation << _OPERATION, operation + 1 << _OPERATION])
        return Segment(self.keys[first:last], self.samples[first:last], self.totals[first:last])

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


def add(segments: Iterable[Segment]) -> Segment:
    """Add segments up."""
    found = segment_of([], [], [])
    for one in segments:
        found = segment_of(*(np.concatenate(pair) for pair in zip(found, one, strict=True))) if len(found.keys) else one
    return found


def pack(segment: Segment) -> bytes:
    """Write a segment: its length, then each column with its length. Keys are written as differences."""
    differences = np.diff(segment.keys, prepend=0)
    columns = [_pack(column) for column in (differences, segment.samples, segment.totals)]
    lengths = [len(segment.keys), *map(len, columns)]
    return b"".join([np.array(lengths, dtype="<u4").tobytes(), *columns])


def unpack(data: bytes) -> Segment:
    """Read what `pack` wrote."""
    rows, *lengths = np.frombuffer(data, dtype="<u4", count=4).tolist()
    columns, at = [], 16
    for length in lengths:
        columns.append(_unpack(data[at : at + length], rows))
        at += length
    return Segment(columns[0].cumsum(), *columns[1:])


def _pack(column: Column) -> bytes:
    """Compress a column with all first bytes of its numbers before all second ones: most of these are alike."""
    if not len(column):
        return b""
    turned = column.astype("<i8").view(np.uint8).reshape(-1, _WORD).T
    packed: bytes = pa.compress(turned.tobytes(), codec=_CODEC, asbytes=True)
    return packed


def _unpack(data: bytes, rows: int) -> Column:
    if not rows:
        return np.empty(0, dtype=np.int64)
    turned = np.frombuffer(pa.decompress(data, rows * _WORD, codec=_CODEC), dtype=np.uint8).reshape(_WORD, rows)
    return np.ascontiguousarray(turned.T).view("<i8").ravel().astype(np.int64, copy=False)
