"""What is wrong with a job, if anything: values out of range, numbers used twice, lines that are no job lines.

The array checks look at whole columns and cost a millisecond or two a log; only when one fails is a value looked at by
itself. Both the reader, which knows lines, and `Workload`, which does not, word their messages here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.workload.fields import FIELDS, LIMIT, UNKNOWN, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rota.workload.fields import Column, Field, IntColumn

# Every text has one way to match only: no backtracking through a line of eighteen.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = re.compile(_NUMBER)
JOB_LINE = re.compile(rf"\s*(?:{_NUMBER}\s+){{{len(FIELDS) - 1}}}{_NUMBER}\s*")
#: Status codes of lines that tell of one stretch of a job that was swapped out, not of the job.
_PARTIAL_STATUS = (2, 3, 4)
_SHOWN_CHARS = 40


class Fault(NamedTuple):
    """The first value that is wrong."""

    #: Row of the job, from 0.
    row: int
    #: Place in `FIELDS`.
    field: int
    #: For a job number used twice, the row that had it first.
    earlier: int | None = None


class ColumnError(ValueError):
    """Columns that make no workload. ``fault`` says where; the reader turns it into a message with a line number."""

    def __init__(self, fault: Fault, value: object) -> None:
        problem = f"{value!r} is also that of row {fault.earlier}"
        if fault.earlier is None:
            problem = value_problem(FIELDS[fault.field], str(value))
        super().__init__(f"row {fault.row}: {label(fault.field)}: {problem}")
        self.fault = fault


def partial_executions(status: IntColumn) -> NDArray[np.bool_]:
    """Mark the lines that tell of part of a job only; the job as a whole has a line of its own."""
    return np.isin(status, _PARTIAL_STATUS)


def first_fault(columns: Sequence[Column]) -> Fault | None:
    """Find the first job, and in it the first field, whose value no log may have.

    Args:
        columns: all eighteen, of equal length, in the order of `FIELDS`.
    """
    faults = [
        Fault(int(rows[0]), index)
        for index, (field, column) in enumerate(zip(FIELDS, columns, strict=True))
        if (rows := _bad_rows(field, column)).size
    ]
    if faults:
        return min(faults, key=lambda fault: (fault.row, fault.field))
    return _repeated_number(columns[0], columns[10])


def _bad_rows(field: Field, column: Column) -> NDArray[np.intp]:
    """Find the rows whose value is wrong by itself."""
    if not len(column) or (column.dtype.kind == "i" and column.min() >= field.least and column.max() <= LIMIT):
        return np.empty(0, np.intp)
    bad = ~(np.abs(column) <= LIMIT)  # also true of nan
    bad |= column < field.least
    if field.fractional:
        bad |= (column > UNKNOWN) & (column < 0)
    else:
        bad |= column != np.rint(column)
    return np.flatnonzero(bad)


def _repeated_number(numbers: Column, status: Column) -> Fault | None:
    """Find the first job number that an earlier job has. A job's partial executions share its number by rights."""
    if (numbers[1:] > numbers[:-1]).all():
        return None
    whole = np.flatnonzero(~partial_executions(status.astype(np.int64)))
    _, first, inverse = np.unique(numbers[whole], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(whole)))
    if not again.size:
        return None
    return Fault(int(whole[again[0]]), 0, int(whole[first[inverse[again[0]]]]))


def value_problem(field: Field, text: str) -> str:
    """Say what is wrong with ``text`` as the value of ``field``; the caller has found that something is."""
    if not NUMBER.fullmatch(text):
        return f"{shown(text)} is not a number: correct it, or write -1 for unknown"
    value = float(text)
    if abs(value) > LIMIT:
        return f"{shown(text)} is too large: correct it, or write -1 for unknown"
    if not field.fractional and not value.is_integer():
        return f"{shown(text)} is not a whole number: round it"
    if field.least == 0:
        return f"{shown(text)} is negative: number the jobs from 1"
    return f"{shown(text)} is negative: correct it, or write -1 for unknown"


def line_problem(line: str, *, first: bool) -> tuple[int | None, str] | None:
    """Say what makes ``line`` no job line, ``None`` when it is one.

    Args:
        line: no comment and not blank.
        first: whether it is the first such line; if that is no numbers at all, the file is something else.

    Returns:
        The place of the field in `FIELDS`, ``None`` where the whole line is meant, and the problem.
    """
    if JOB_LINE.fullmatch(line):
        return None
    words = line.split()
    if first and not NUMBER.fullmatch(words[0]) and not (len(words) == len(FIELDS) and _any_number(words)):
        return None, f"not SWF: expected a comment (;) or a job of {len(FIELDS)} numbers, found {shown(line.strip())}"
    if len(words) != len(FIELDS):
        cure = "write -1 for each one missing" if len(words) < len(FIELDS) else "take out what does not belong"
        return None, f"{len(words)} field{'s' * (len(words) != 1)} instead of {len(FIELDS)}: {cure}"
    index = next(index for index, word in enumerate(words) if not NUMBER.fullmatch(word))
    return index, value_problem(FIELDS[index], words[index])


def _any_number(words: Iterable[str]) -> bool:
    return any(NUMBER.fullmatch(word) for word in words)


def shown(text: str) -> str:
    """Quote ``text`` for a message of one line: cut when long, escaped where it is not plain."""
    return ascii(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
