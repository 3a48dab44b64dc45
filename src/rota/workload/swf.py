"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: a line of eighteen numbers for each job.

All lines are parsed by NumPy in C at once: a log of a quarter of a million jobs takes some 0.2 s. If that fails, lines
are parsed one by one to find the first wrong one. In detail:

- comments (``;``) and blank lines may be anywhere; comments are kept, and written at the top;
- lines may end in CR LF, and fields may be separated by any white space;
- ``10.0`` is read as ``10`` where a whole number is needed; times with fractions of a second are rounded;
- lines need not be in order of submission, nor job numbers consecutive, but job numbers must be unique.

Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import InputError
from rota.workload.checks import ColumnError, line_problem, value_problem
from rota.workload.fields import FIELD_NAMES, FIELDS, ROUNDED_DOWN, ROUNDED_UP, label
from rota.workload.files import packed, read_bytes, write_bytes
from rota.workload.header import body_start, comments, is_comment
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
        InputError: the file cannot be read, is not SWF, or has no jobs or a wrong one; with line and field if known.
    """
    lines = _lines(path)
    start = body_start(lines)
    header = comments(lines[:start], wrapped=True)
    body, numbers = lines[start:], np.arange(start + 1, len(lines) + 1)
    while body and not body[-1].strip():
        body.pop()
    table = _parse(body, _EXACT)
    if table is None or len(table) != len(body):
        header += comments(body)
        body, numbers = _job_lines(body, numbers)
        table = _parse_with_care(path, body, numbers)
    columns: dict[str, Any] = {name: table[name] for name in FIELD_NAMES}
    notes = _round_times(columns)
    try:
        return Workload(
            name=path.name, header=tuple(header), source=path, line=numbers[: len(body)], notes=notes, **columns
        )
    except ColumnError as error:
        raise _input_error(path, body, numbers, error.fault) from None


def _round_times(columns: dict[str, Any]) -> tuple[str, ...]:
    """Round times with fractions of a second, which are not unknown; say how many jobs have any."""
    rows = np.zeros(len(columns["run_time"]), bool)
    for names, rounded in ((ROUNDED_UP, np.ceil), (ROUNDED_DOWN, np.floor)):
        for name in names:
            column = columns[name]
            if column.dtype.kind != "f":
                continue
            with np.errstate(invalid="ignore"):  # of what is no time at all, which is told later
                fractions = (column % 1 > 0) & (column >= 0)
            if fractions.any():
                rows |= fractions
                columns[name] = np.where(fractions, rounded(column), column)
    if not rows.any():
        return ()
    return (f"{int(rows.sum()):,} jobs have times with fractions of a second: run times and limits are rounded up",)


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


def _parse_with_care(path: Path, lines: Sequence[str], numbers: IntColumn) -> NDArray[np.void]:
    """Parse lines that NumPy refused, or find out why it did.

    Raises:
        InputError: there are no jobs, or one is not eighteen numbers.
    """
    if not lines:
        raise InputError("no jobs in it: check that it is the right file, and whole", path=path)
    table = _parse(lines, _EXACT)
    if table is None:
        table = _parse(lines, _FLOATS)
    if table is not None:
        return table
    for row, line in enumerate(lines):
        problem = line_problem(line, first=row == 0)
        if problem:
            index, text = problem
            raise InputError(text, path=path, line=int(numbers[row]), field=None if index is None else label(index))
    raise InputError("not SWF", path=path)


def _job_lines(body: Sequence[str], numbers: IntColumn) -> tuple[list[str], IntColumn]:
    """Leave out comments and blank lines."""
    rows = [row for row, line in enumerate(body) if line.strip() and not is_comment(line)]
    return [body[row] for row in rows], numbers[rows]


def _input_error(path: Path, lines: Sequence[str], numbers: IntColumn, fault: Fault) -> InputError:
    """Make the error for a fault: with the line of the file, and the value as it is written there."""
    if fault.earlier is None:
        problem = value_problem(FIELDS[fault.field], lines[fault.row].split()[fault.field])
    else:
        number = lines[fault.row].split()[0]
        problem = f"job {number} is on line {numbers[fault.earlier]} already: give every job its own number"
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
