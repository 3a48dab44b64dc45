"""A workload: the jobs of a log as columns, with its header."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.workload.checks import ColumnError, first_fault, partial_executions
from rota.workload.fields import FIELD_NAMES, UNKNOWN
from rota.workload.header import header_int, is_comment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from rota.model import JobSpec
    from rota.workload.fields import Column, IntColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """A recorded workload: one row a job, in the order of the file.

    Times are seconds; submit times count from the header's ``unix_start_time``. -1 is unknown. The columns cannot be
    written to; every workload can be written as SWF and read back the same.

    Raises:
        ColumnError: a value that no log may have: two jobs of one number, a negative size, a fraction of a second.
        ValueError: columns of different lengths, or a header line that is no comment.
    """

    #: File name without its folder.
    name: str
    #: The comment lines in the order read, without line ends; bytes that are not UTF-8 are surrogate escapes.
    header: tuple[str, ...] = ()
    #: The file that it was read from.
    source: Path | None = None
    #: Where each job stands in ``source``, from 1; the row, from 1, where there is no source.
    line: IntColumn
    #: Unique among whole jobs, see `whole_jobs`.
    job_number: IntColumn
    #: The only one that may be negative and known.
    submit_time: IntColumn
    wait_time: IntColumn
    run_time: IntColumn
    allocated_procs: IntColumn
    #: Seconds a processor; int64 unless a job has a fraction.
    avg_cpu_time: Column
    #: KiB a processor; int64 unless a job has a fraction.
    used_memory: Column
    requested_procs: IntColumn
    requested_time: IntColumn
    #: KiB a processor.
    requested_memory: IntColumn
    #: 0 failed, 1 completed, 5 cancelled; 2 to 4 part of a job.
    status: IntColumn
    user_id: IntColumn
    group_id: IntColumn
    executable: IntColumn
    queue: IntColumn
    partition: IntColumn
    preceding_job: IntColumn
    think_time: IntColumn
    #: What the file says of each request beyond the columns, one a row; ``None`` where the columns are all there is.
    requests: tuple[JobSpec, ...] | None = None

    def __post_init__(self) -> None:
        """Check the whole, and make the columns canonical: int64 wherever that loses nothing, and read-only."""
        columns: list[NDArray[Any]] = [np.asarray(column) for column in self.columns()]
        if {(len(self.line),)} != {column.shape for column in columns}:
            raise ValueError("a workload's columns must be of one length")
        if self.requests is not None and len(self.requests) != len(self.line):
            raise ValueError("a workload needs one request a row")
        if any(not is_comment(line) or "\n" in line or line.endswith("\r") for line in self.header):
            raise ValueError("a header line must be one line that begins with a semicolon")
        fault = first_fault(columns)
        if fault:
            raise ColumnError(fault, columns[fault.field][fault.row].item())
        for name, column in zip(("line", *FIELD_NAMES), (np.asarray(self.line), *columns), strict=True):
            object.__setattr__(self, name, _canonical(column))

    @classmethod
    def build(
        cls,
        name: str,
        columns: Mapping[str, ArrayLike],
        *,
        header: Sequence[str] = (),
        source: Path | None = None,
        requests: tuple[JobSpec, ...] | None = None,
    ) -> Workload:
        """Make a workload of the columns that are known; the others are -1, job numbers and lines count from 1.

        Args:
            name: file name without its folder.
            columns: by attribute name; ``line`` may be among them.
            header: comment lines.
            source: the file that it was read from.
            requests: what is known of each beyond the columns.

        Raises:
            ValueError: as for the class, or without any column.
            TypeError: a column of no such name.
        """
        arrays: dict[str, Any] = {key: np.asarray(values) for key, values in columns.items()}
        if not arrays:
            raise ValueError("a workload needs at least one column")
        count = len(next(iter(arrays.values())))
        for key in ("line", "job_number"):
            arrays.setdefault(key, np.arange(1, count + 1))
        unknown = np.full(count, UNKNOWN)
        arrays = dict.fromkeys(FIELD_NAMES, unknown) | arrays
        return cls(name=name, header=tuple(header), source=source, requests=requests, **arrays)

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.line)

    def columns(self) -> tuple[Column, ...]:
        """Give the eighteen columns in the order of a job line."""
        return tuple(getattr(self, name) for name in FIELD_NAMES)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Workload:
        """Give the jobs that a mask marks, or those at the given rows in the given order."""
        kept = {name: getattr(self, name)[rows] for name in ("line", *FIELD_NAMES)}
        requests = self.requests
        if requests is not None:
            requests = tuple(requests[row] for row in np.arange(len(requests))[rows].tolist())
        return dataclasses.replace(self, requests=requests, **kept)

    def with_columns(self, **columns: ArrayLike) -> Workload:
        """Give the same jobs with some columns replaced.

        Raises:
            ValueError: as for the class.
            TypeError: a column of no such name.
        """
        if not columns.keys() <= {"line", *FIELD_NAMES}:
            raise TypeError(f"no such columns: {', '.join(sorted(columns.keys() - {'line', *FIELD_NAMES}))}")
        arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
        return dataclasses.replace(self, **arrays)

    def whole_jobs(self) -> Workload:
        """Leave out the lines that tell of part of a job only (swapped out, checkpointed): replay each job once."""
        partial = partial_executions(self.status)
        return self.take(~partial) if partial.any() else self

    @property
    def max_procs(self) -> int | None:
        """``MaxProcs`` of the header, at least 1."""
        return header_int(self.header, "MaxProcs", least=1)

    @property
    def max_nodes(self) -> int | None:
        """``MaxNodes`` of the header, at least 1."""
        return header_int(self.header, "MaxNodes", least=1)

    @property
    def procs(self) -> int | None:
        """Processors of the machine: ``MaxProcs``, or else ``MaxNodes``, which older logs and models give alone."""
        return self.max_procs or self.max_nodes

    @property
    def unix_start_time(self) -> int | None:
        """Unix seconds of the log's second 0: ``UnixStartTime`` of the header."""
        return header_int(self.header, "UnixStartTime", least=0)


def _canonical(column: NDArray[Any]) -> NDArray[Any]:
    """Give a read-only view or copy as int64, or as float64 where there are fractions; the values are checked."""
    whole = column.dtype.kind in "iub" or bool((column == np.rint(column)).all())
    # The view keeps the caller's own array writable.
    canonical = np.ascontiguousarray(column, np.int64 if whole else np.float64).view()
    canonical.flags.writeable = False
    return canonical
