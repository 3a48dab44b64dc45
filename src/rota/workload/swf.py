"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: one job a line, eighteen numbers each.

Reading hands all lines to NumPy's parser in C at once, which takes a log of a quarter of a million jobs in some 0.2 s.
It refuses what is not wholly numbers, but says so in its own words; then the lines are looked at one by one for the
first that is wrong. In detail:

- comments (``;``) and blank lines may be anywhere; comments are kept, and written at the top;
- lines may end in CR LF, and fields may be apart by any white space;
- ``10.0`` is read as ``10`` where a whole number belongs;
- lines need not be in order of submission, and job numbers need not be consecutive; but no two jobs may have the same.

Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import InputError
from rota.workload.checks import ColumnError, line_problem, value_problem
from rota.workload.fields import FIELD_NAMES, FIELDS, label
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
#: Whole numbers are parsed as such: that is exact, and twice as fast as parsing all as floats.
_EXACT = np.dtype([(field.name, np.float64 if field.fractional else np.int64) for field in FIELDS])
_FLOATS = np.dtype([(field.name, np.float64) for field in FIELDS])


def read_swf(path: Path) -> Workload:
    """Read a workload, gzip or plain.

    Raises:
        InputError: it cannot be read, is not SWF, has no jobs or a wrong one; with line and field where they are known.
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
    try:
        return Workload(name=path.name, header=tuple(header), source=path, line=numbers[: len(body)], **columns)
    except ColumnError as error:
        raise _input_error(path, body, numbers, error.fault) from None


def _lines(path: Path) -> list[str]:
    """Read the lines of a text file as Latin-1: that makes every byte a character, so nothing is lost or can fail."""
    data = read_bytes(path).removeprefix(_BYTE_ORDER_MARK)
    if b"\0" in data:
        raise InputError("not SWF: binary data", path=path)
    return data.decode("latin-1").split("\n")


def _parse(lines: Sequence[str], dtype: np.dtype[np.void]) -> NDArray[np.void] | None:
    """Parse all lines, ``None`` if one of them does not suit ``dtype``."""
    with warnings.catch_warnings():
        # NumPy warns of no lines at all, and of a fraction where a whole number belongs, which it would cut off.
        warnings.simplefilter("error")
        try:
            return np.loadtxt(lines, dtype, comments=None, ndmin=1)
        except (ValueError, Warning):
            return None


def _parse_with_care(path: Path, lines: Sequence[str], numbers: IntColumn) -> NDArray[np.void]:
    """Parse what did not parse at once, or say why not.

    Raises:
        InputError: no jobs, or one that is not eighteen numbers.
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
    """Word a fault in the user's terms: the line of the file, and the value as it is written there."""
    if fault.earlier is None:
        problem = value_problem(FIELDS[fault.field], lines[fault.row].split()[fault.field])
    else:
        number = lines[fault.row].split()[0]
        problem = f"job {number} is on line {numbers[fault.earlier]} already: give every job its own number"
    return InputError(problem, path=path, line=int(numbers[fault.row]), field=label(fault.field))


def write_swf(workload: Workload, path: Path) -> None:
    """Write a workload: the header as it was read, then one line a job, fields apart by one space.

    A name that ends in ``.gz`` is written as gzip. The same workload gives the same bytes; reading them gives the same
    workload. Nothing half-written is ever left.

    Raises:
        InputError: it cannot be written.
    """
    header = "".join(f"{line}\n" for line in workload.header)
    data = header.encode("utf-8", "surrogateescape") + _lines_of(workload)
    write_bytes(path, packed(data) if path.name.endswith(".gz") else data)


def _lines_of(workload: Workload) -> bytes:
    """Give the lines of the jobs. Arrow writes them, ten times as fast as Python puts text together."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({field.name: _cells(column) for field, column in zip(FIELDS, workload.columns(), strict=True)})
    lines = pa.BufferOutputStream()
    csv.write_csv(table, lines, csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"))
    data: bytes = lines.getvalue().to_pybytes()
    return data


def _cells(column: Column) -> pa.Array:
    """Give a column of numbers; one of fractions as text, the shortest that reads back the same, whole ones as such."""
    import pyarrow as pa

    if column.dtype.kind == "i":
        return pa.array(column)
    if not (column % 1).any():  # most logs have whole seconds, or -1
        return pa.array(column.astype(np.int64))
    return pa.array(map(_number, column.tolist()), pa.string())


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)
