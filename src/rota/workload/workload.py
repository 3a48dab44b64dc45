"""A workload: the jobs of a log in columns, with the log's header."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model.array import MOST_TASKS, count_tasks
from rota.workload.checks import ColumnError, faults, partial_executions
from rota.workload.fields import FIELD_NAMES, LIMIT, UNKNOWN
from rota.workload.header import header_int, is_comment
from rota.workload.names import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from rota.model import JobSpec
    from rota.workload.fields import Column, IntColumn

_KIB = 1024
#: What a file need not tell of requests; then no job asks for any.
UNTOLD = ("gres", "memory", "constraint", "partition", "qos", "time limit")
#: Status of a job that was cancelled.
CANCELLED = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """A recorded workload: a row for each job, in the order of the file.

    Times are in seconds, submit times relative to the header's ``unix_start_time``. -1 is unknown. Columns are
    read-only. Every workload can be written as SWF and read back the same.

    A job that was withdrawn while it waited has status 5, no run time, and as its wait the time until then, as in SWF.

    Raises:
        ColumnError: a value is not valid: a job number used twice, a negative size, a fraction of a second.
        ValueError: columns have different lengths, or a header line is not a comment.
    """

    #: Name of the file without its folder.
    name: str
    #: Comment lines in order, without line ends; bytes that are not UTF-8 are surrogate escapes.
    header: tuple[str, ...] = ()
    #: The file from which it was read.
    source: Path | None = None
    #: Line number of each job in ``source``, from 1; without a source the row, from 1.
    line: IntColumn
    #: Job numbers, unique among whole jobs: see `whole_jobs`.
    job_number: IntColumn
    #: Submit times. Only these may be negative and known.
    submit_time: IntColumn
    wait_time: IntColumn
    run_time: IntColumn
    allocated_procs: IntColumn
    #: CPU time for each processor in seconds; int64 unless a job has a fraction.
    avg_cpu_time: Column
    #: Memory for each processor in KiB; int64 unless a job has a fraction.
    used_memory: Column
    requested_procs: IntColumn
    requested_time: IntColumn
    #: Requested memory for each processor in KiB.
    requested_memory: IntColumn
    #: Status: 0 failed, 1 completed, 5 cancelled; 2 to 4 a part of a job.
    status: IntColumn
    user_id: IntColumn
    group_id: IntColumn
    executable: IntColumn
    queue: IntColumn
    partition: IntColumn
    preceding_job: IntColumn
    think_time: IntColumn
    #: Requests as far as the file has more than the columns, one for each row; ``None``: it has not.
    requests: tuple[JobSpec, ...] | None = None
    #: Hostlist of the nodes on which each job ran, one for each row; empty: unknown.
    nodes: tuple[str, ...] | None = None
    #: Task of a job array that each job is, as ``17_3``, or component of a heterogeneous job, ``17+0``, one for each
    #: row; empty: of none. ``None``: none is.
    tasks: tuple[str, ...] | None = None
    #: Numbers of jobs that only hold their places when the workload begins, see `rota.workload.window`.
    carried: frozenset[int] = frozenset()
    #: What was found out in reading that its user should know, one sentence each.
    notes: tuple[str, ...] = ()
    #: What requests may have had and the file does not tell: of `UNTOLD`.
    untold: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check the workload, and convert columns: to int64 where that loses nothing, and read-only."""
        columns: list[NDArray[Any]] = [np.asarray(column) for column in self.columns()]
        if {(len(self.line),)} != {column.shape for column in columns}:
            raise ValueError("a workload's columns must be of one length")
        if self.requests is not None and len(self.requests) != len(self.line):
            raise ValueError("a workload needs one request a row")
        if any(not is_comment(line) or "\n" in line or line.endswith("\r") for line in self.header):
            raise ValueError("a header line must be one line that begins with a semicolon")
        if found := faults(columns):
            fault = min(found)
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
        nodes: tuple[str, ...] | None = None,
        tasks: tuple[str, ...] | None = None,
        notes: tuple[str, ...] = (),
        untold: frozenset[str] = frozenset(),
    ) -> Workload:
        """Make a workload from some columns. The others are -1; job numbers and lines count from 1 by default.

        Args:
            name: Name of the file without its folder.
            columns: Columns by attribute name, perhaps with ``line``.
            header: Comment lines.
            source: The file from which it was read.
            requests: Requests, one for each row, if the file has more than the columns.
            nodes: Hostlist of the nodes on which each job ran.
            tasks: Task of a job array that each job is.
            notes: What was found out in reading that its user should know.
            untold: What the file does not tell of requests.

        Raises:
            ValueError: as for the class, or there is no column.
            TypeError: there is no column of a given name.
        """
        arrays: dict[str, Any] = {key: np.asarray(values) for key, values in columns.items()}
        if not arrays:
            raise ValueError("a workload needs at least one column")
        count = len(next(iter(arrays.values())))
        for key in ("line", "job_number"):
            arrays.setdefault(key, np.arange(1, count + 1))
        unknown = np.full(count, UNKNOWN)
        arrays = dict.fromkeys(FIELD_NAMES, unknown) | arrays
        return cls(
            name=name,
            header=tuple(header),
            source=source,
            requests=requests,
            nodes=nodes,
            tasks=tasks,
            notes=notes,
            untold=untold,
            **arrays,
        )

    @classmethod
    def from_jobs(
        cls,
        jobs: Iterable[tuple[int, int, JobSpec]],
        *,
        name: str = "jobs",
        lines: Sequence[int] | None = None,
        source: Path | None = None,
    ) -> Workload:
        """Make a workload of requests. Jobs are numbered from 1; each task of an array is a job here.

        Args:
            jobs: Submit time in seconds after the beginning, run time in seconds, and request of each job.
            name: Name of the file without its folder.
            lines: Line of each job in the file.
            source: The file from which they were read.

        Raises:
            ValueError: as for the class, or there is no job.
        """
        rows = [
            (row if lines is None else lines[row - 1], submit, run, spec)
            for row, (submit, run, spec) in enumerate(jobs, start=1)
            for _ in range(count_tasks(spec.array, MOST_TASKS))
        ]
        if not rows:
            raise ValueError("a workload needs at least one job")
        line, submitted, ran, requests = zip(*rows, strict=True)
        nodes = np.array([max(one.min_nodes, 1) for one in requests])
        procs = np.array([one.num_cpus for one in requests])
        memory = np.array(
            [one.mem_per_cpu or float(one.mem_per_node) * nodes[i] / procs[i] for i, one in enumerate(requests)]
        )
        columns: dict[str, Any] = {
            "line": line,
            "submit_time": submitted,
            "run_time": ran,
            "requested_procs": procs,
            "allocated_procs": procs,
            "requested_time": [one.time_limit or UNKNOWN for one in requests],
            "requested_memory": np.where(memory > 0, np.minimum(np.ceil(memory * _KIB), LIMIT), UNKNOWN).astype(int),
            "status": np.ones(len(requests), np.int64),
            "user_id": numbered(one.user for one in requests),
            "group_id": numbered(one.account for one in requests),
            "queue": numbered(one.qos for one in requests),
            "partition": numbered(one.partition for one in requests),
        }
        users: list[int] = columns["user_id"]
        known = tuple(one._replace(user_id=max(user, 0)) for one, user in zip(requests, users, strict=True))
        return cls.build(name, columns, source=source, requests=known)

    def __len__(self) -> int:
        """Give the number of jobs."""
        return len(self.line)

    def columns(self) -> tuple[Column, ...]:
        """Give the eighteen columns, in the order of a job line."""
        return tuple(getattr(self, name) for name in FIELD_NAMES)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Workload:
        """Select jobs by a mask, or by row numbers in the given order."""
        kept = {name: getattr(self, name)[rows] for name in ("line", *FIELD_NAMES)}
        places = np.arange(len(self))[rows].tolist()
        requests, nodes, tasks = (
            None if one is None else tuple(one[row] for row in places)
            for one in (self.requests, self.nodes, self.tasks)
        )
        return dataclasses.replace(self, requests=requests, nodes=nodes, tasks=tasks, **kept)

    def number_of(self, task: str) -> int | None:
        """Give the number of the last run of a task, ``17_3``, or component, ``17+0``; ``None``: there is none."""
        rows = [row for row, name in enumerate(self.tasks or ()) if name == task]
        return int(self.job_number[rows[-1]]) if rows else None

    def with_columns(self, **columns: ArrayLike) -> Workload:
        """Replace some columns.

        Raises:
            ValueError: as for the class.
            TypeError: there is no column of a given name.
        """
        if not columns.keys() <= {"line", *FIELD_NAMES}:
            raise TypeError(f"no such columns: {', '.join(sorted(columns.keys() - {'line', *FIELD_NAMES}))}")
        arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
        return dataclasses.replace(self, **arrays)

    def whole_jobs(self) -> Workload:
        """Drop lines about parts of jobs (swapped out, checkpointed), so that each job is replayed once."""
        partial = partial_executions(self.status)
        return self.take(~partial) if partial.any() else self

    @property
    def withdrawn(self) -> NDArray[np.bool_]:
        """Mark the jobs that were withdrawn while they waited."""
        mask: NDArray[np.bool_] = (self.status == CANCELLED) & (self.run_time < 0) & (self.wait_time >= 0)
        return mask

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
        """The machine's number of processors: ``MaxProcs``, or ``MaxNodes``, which is all that older logs have."""
        return self.max_procs or self.max_nodes

    @property
    def unix_start_time(self) -> int | None:
        """Unix time of the log's second 0: ``UnixStartTime`` of the header."""
        return header_int(self.header, "UnixStartTime", least=0)


def _canonical(column: NDArray[Any]) -> NDArray[Any]:
    """Convert a checked column to int64, or to float64 if it has fractions; the result is read-only."""
    whole = column.dtype.kind in "iub" or bool((column == np.rint(column)).all())
    # A view, so that the caller's own array stays writable.
    canonical = np.ascontiguousarray(column, np.int64 if whole else np.float64).view()
    canonical.flags.writeable = False
    return canonical
