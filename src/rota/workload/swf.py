"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: a line of eighteen numbers for each job.

All lines are parsed by NumPy in C at once: a log of a quarter of a million jobs takes some 0.2 s. If that fails, lines
are parsed one by one to find the wrong ones. One odd line or value costs its job, and not the file: see
`rota.workload.checks.left_out`. In detail:

- comments (``;``) and blank lines may be anywhere; comments are kept, and written at the top;
- lines may end in CR LF, and fields may be separated by any white space;
- ``10.0`` is read as ``10`` where a whole number is needed; times with fractions of a second are rounded;
- lines need not be in order of submission, nor job numbers consecutive; of two jobs with one number the second gets
  another.

What is not as it should be is told in the workload's notes.

Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import InputError
from rota.model.counts import counted
from rota.workload.checks import faults, left_out, line_problem, value_problem
from rota.workload.fields import FIELD_NAMES, FIELDS, ROUNDED_DOWN, ROUNDED_UP, label
from rota.workload.files import packed, read_bytes, write_bytes
from rota.workload.header import body_start, comments, header_notes, is_comment
from rota.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from rota.workload.checks import Fault
    from rota.workload.fields import Column, IntColumn

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: Whole numbers are parsed as integers, which is exact and twice as fast as parsing floats.
_EXACT = np.dtype([(field.name, np.float64 if field.fractional else np.int64) for field in FIELDS])
_FLOATS = np.dtype([(field.name, np.float64) for field in FIELDS])


def read_swf(path: Path) -> Workload:
    """Read a workload, gzip or plain.

    Raises:
        InputError: the file cannot be read, is not SWF, or has no jobs or mostly wrong ones; with line and field if
            known.
    """
    lines = _lines(path)
    start = body_start(lines)
    header = comments(lines[:start], wrapped=True)
    body, numbers = lines[start:], np.arange(start + 1, len(lines) + 1)
    while body and not body[-1].strip():
        body.pop()
    table = _parse(body, _EXACT)
    wrong: list[InputError] = []
    if table is None or len(table) != len(body):
        header += comments(body)
        body, numbers = _job_lines(body, numbers)
        table, rows = _parse_with_care(path, body, numbers, wrong)
        body, numbers = [body[row] for row in rows], numbers[rows]
    numbers = numbers[: len(body)]
    columns: dict[str, Any] = {name: table[name] for name in FIELD_NAMES}
    notes = _round_times(columns, path, numbers)
    total = len(wrong) + len(body)
    found = {fault.row: fault for fault in faults([*columns.values()])}
    again = {row for row, fault in found.items() if fault.earlier is not None}
    if found and not again:
        wrong += [_input_error(path, body, numbers, fault) for fault in found.values()]
        kept = np.setdiff1d(np.arange(len(body)), [*found])
        columns, numbers = {name: column[kept] for name, column in columns.items()}, numbers[kept]
        again = {fault.row for fault in faults([*columns.values()])}
    notes = [*header_notes(path, lines), *left_out(wrong, total), *notes]
    notes += _number_again(columns, sorted(again), path, numbers)
    notes += _out_of_order(columns["submit_time"], path, numbers)
    return Workload(name=path.name, header=tuple(header), source=path, line=numbers, notes=tuple(notes), **columns)


def _number_again(columns: dict[str, Any], rows: Sequence[int], path: Path, numbers: IntColumn) -> list[str]:
    """Give jobs with the number of another a new one; tell of it."""
    if not rows:
        return []
    column = columns["job_number"].copy()
    first, free = int(column[rows[0]]), int(column.max()) + 1
    column[rows] = np.arange(free, free + len(rows))
    columns["job_number"] = column
    place = InputError(f"{first} is the first of them, and {free} here", path=path, line=int(numbers[rows[0]]))
    one = "a line has the number of another job: it is a job of its own"
    several = "{} lines have the numbers of other jobs: each is a job of its own"
    return [f"warning: {counted(len(rows), one, several)}: {place}"]


def _out_of_order(submit: IntColumn, path: Path, numbers: IntColumn) -> list[str]:
    """Tell of submit times that go back."""
    rows = np.flatnonzero(submit[1:] < submit[:-1]) + 1
    if not len(rows):
        return []
    several = "{} jobs were submitted before those on the lines above them: all are taken in the order of time"
    one = "a job was submitted before that on the line above it: all are taken in the order of time"
    return [f"{counted(len(rows), one, several)}; the first: {path}:{numbers[rows[0]]}: {label(1)}"]


def _round_times(columns: dict[str, Any], path: Path, numbers: IntColumn) -> list[str]:
    """Round times with fractions of a second, which are not unknown; say how many jobs have any."""
    first: dict[int, int] = {}
    for names, rounded in ((ROUNDED_UP, np.ceil), (ROUNDED_DOWN, np.floor)):
        for name in names:
            column = columns[name]
            if column.dtype.kind != "f":
                continue
            with np.errstate(invalid="ignore"):  # of what is no time at all, which is told later
                fractions = (column % 1 > 0) & (column >= 0)
            if fractions.any():
                for row in np.flatnonzero(fractions).tolist():
                    first[row] = min(first.get(row, len(FIELDS)), FIELD_NAMES.index(name))
                columns[name] = np.where(fractions, rounded(column), column)
    if not first:
        return []
    row = min(first)
    count = counted(len(first), "a job has times", "{} jobs have times")
    place = f"{path}:{numbers[row]}: {label(first[row])}"
    return [f"{count} with fractions of a second: run times and limits are rounded up; the first: {place}"]


def _lines(path: Path) -> list[str]:
    """Read the lines of a file as Latin-1: every byte is a character, so decoding cannot fail and loses nothing."""
    data = read_bytes(path).removeprefix(_BYTE_ORDER_MARK)
    if b"\0" in data:
        raise InputError("not SWF: binary data", path=path)
    return data.decode("latin-1").split("\n")


def _parse(lines: Sequence[str], dtype: np.dtype[np.void]) -> NDArray[np.void] | None:
    """Parse all lines; ``None`` if a line does not fit ``dtype``."""
    with warnings.catch_warnings():
        # NumPy warns if there are no lines, and if it would cut off a fraction.
        warnings.simplefilter("error")
        try:
            return np.loadtxt(lines, dtype, comments=None, ndmin=1)
        except (ValueError, Warning):
            return None


def _parse_with_care(
    path: Path, lines: Sequence[str], numbers: IntColumn, wrong: list[InputError]
) -> tuple[NDArray[np.void], Sequence[int]]:
    """Parse lines that NumPy refused. Give the jobs, and which lines these are; say what is wrong with the others.

    Raises:
        InputError: there are no jobs, or not one is eighteen numbers.
    """
    if not lines:
        raise InputError("no jobs in it: check that it is the right file, and whole", path=path)
    rows: Sequence[int] = range(len(lines))
    if (table := _parse_any(lines)) is not None:
        return table, rows
    rows = []
    for row, line in enumerate(lines):
        if (problem := line_problem(line, first=row == 0)) is None:
            rows.append(row)
            continue
        index, text = problem
        field = None if index is None else label(index)
        wrong.append(InputError(text, path=path, line=int(numbers[row]), field=field))
        if row == 0 and index is None and "SWF" in text:
            raise wrong[0]
    table = _parse_any([lines[row] for row in rows]) if rows else None
    if table is None:
        raise wrong[0] if wrong else InputError("not SWF", path=path)
    return table, rows


def _parse_any(lines: Sequence[str]) -> NDArray[np.void] | None:
    """Parse all lines as whole numbers or, if some are none, as fractions."""
    table = _parse(lines, _EXACT)
    return _parse(lines, _FLOATS) if table is None else table


def _job_lines(body: Sequence[str], numbers: IntColumn) -> tuple[list[str], IntColumn]:
    """Leave out comments and blank lines."""
    rows = [row for row, line in enumerate(body) if line.strip() and not is_comment(line)]
    return [body[row] for row in rows], numbers[rows]


def _input_error(path: Path, lines: Sequence[str], numbers: IntColumn, fault: Fault) -> InputError:
    """Make the error for a fault: with the line of the file, and the value as it is written there."""
    problem = value_problem(FIELDS[fault.field], lines[fault.row].split()[fault.field])
    return InputError(problem, path=path, line=int(numbers[fault.row]), field=label(fault.field))


def write_swf(workload: Workload, path: Path) -> None:
    """Write a workload: the header as it was read, then a line for each job, with single spaces.

    The file is gzip if its name ends in ``.gz``. The same workload gives the same bytes, and reading them gives the
    same workload. The file is replaced atomically.

    Raises:
        InputError: the file cannot be written.
    """
    header = "".join(f"{line}\n" for line in workload.header)
    data = header.encode("utf-8", "surrogateescape") + _lines_of(workload)
    write_bytes(path, packed(data) if path.name.endswith(".gz") else data)


def _lines_of(workload: Workload) -> bytes:
    """Format the lines of all jobs with Arrow, which is ten times as fast as Python."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({field.name: _cells(column) for field, column in zip(FIELDS, workload.columns(), strict=True)})
    lines = pa.BufferOutputStream()
    csv.write_csv(table, lines, csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"))
    data: bytes = lines.getvalue().to_pybytes()
    return data


def _cells(column: Column) -> pa.Array:
    """Convert a column: fractions to the shortest text that reads back the same, whole numbers without a point."""
    import pyarrow as pa

    if column.dtype.kind == "i":
        return pa.array(column)
    if not (column % 1).any():  # most logs have whole seconds, or -1
        return pa.array(column.astype(np.int64))
    return pa.array(map(_number, column.tolist()), pa.string())


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)
