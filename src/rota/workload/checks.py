"""Checks of jobs: values out of range, job numbers used twice, malformed lines.

Whole columns are checked as arrays, in a millisecond or two for a log; single values only after a check has failed.
Both the reader, which knows line numbers, and `Workload`, which does not, take their messages from here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.model.counts import counted
from rota.workload.fields import FIELDS, UNKNOWN, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rota.model import InputError
    from rota.workload.fields import Column, Field, IntColumn

# Every text can match in one way only, so there is no backtracking.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = re.compile(_NUMBER)
JOB_LINE = re.compile(rf"\s*(?:{_NUMBER}\s+){{{len(FIELDS) - 1}}}{_NUMBER}\s*")
#: Status codes of lines about a part of a job's run between swaps, not about the whole job.
_PARTIAL_STATUS = (2, 3, 4)
_SHOWN_CHARS = 40


class Fault(NamedTuple):
    """The first wrong value of a job."""

    #: Row of the job, from 0.
    row: int
    #: Index in `FIELDS`.
    field: int
    #: The first row with the same job number, if the number is used twice.
    earlier: int | None = None


class ColumnError(ValueError):
    """Columns that are not a valid workload. The reader turns ``fault`` into a message with a line number."""

    def __init__(self, fault: Fault, value: object) -> None:
        problem = f"{value!r} is also that of row {fault.earlier}"
        if fault.earlier is None:
            problem = value_problem(FIELDS[fault.field], str(value))
        super().__init__(f"row {fault.row}: {label(fault.field)}: {problem}")
        self.fault = fault


def partial_executions(status: IntColumn) -> NDArray[np.bool_]:
    """Mark lines about a part of a job's run. The whole job has a line of its own."""
    return np.isin(status, _PARTIAL_STATUS)


def faults(columns: Sequence[Column]) -> list[Fault]:
    """Find the jobs with a wrong value, and the first such field of each.

    Args:
        columns: All eighteen columns, of equal length, in the order of `FIELDS`.
    """
    found: dict[int, Fault] = {}
    for index, (field, column) in enumerate(zip(FIELDS, columns, strict=True)):
        for row in _bad_rows(field, column).tolist():
            found.setdefault(row, Fault(row, index))
    return [*found.values()] or _repeated_numbers(columns[0], columns[10])


def left_out(wrong: Sequence[InputError], total: int) -> list[str]:
    """Say how many jobs are left out, and why the first is; nothing: none is.

    Args:
        wrong: What is wrong with each.
        total: The number of all jobs.

    Raises:
        InputError: they are more than half of all.
    """
    if not wrong:
        return []
    first = min(wrong, key=lambda error: error.line or 0)
    if len(wrong) * 2 > total:
        raise first
    return [f"warning: {counted(len(wrong), 'a job is', '{} jobs are')} left out, of {total:,} lines: {first}"]


def _bad_rows(field: Field, column: Column) -> NDArray[np.intp]:
    """Find the rows in which a field has a wrong value."""
    if not len(column) or (column.dtype.kind == "i" and column.min() >= field.least and column.max() <= field.most):
        return np.empty(0, np.intp)
    bad = ~(column <= field.most)  # true for nan
    bad |= column < field.least
    if field.fractional:
        bad |= (column > UNKNOWN) & (column < 0)
    else:
        bad |= column != np.rint(column)
    return np.flatnonzero(bad)


def _repeated_numbers(numbers: Column, status: Column) -> list[Fault]:
    """Find job numbers that are used again. Lines about parts of a job have its number and do not count."""
    if (numbers[1:] > numbers[:-1]).all():
        return []
    whole = np.flatnonzero(~partial_executions(status.astype(np.int64)))
    _, first, inverse = np.unique(numbers[whole], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(whole)))
    return [Fault(int(whole[row]), 0, int(whole[first[inverse[row]]])) for row in again]


def value_problem(field: Field, text: str) -> str:
    """Say what is wrong with the value of a field that is known to be wrong."""
    if not NUMBER.fullmatch(text):
        return f"{shown(text)} is not a number: correct it, or write -1 for unknown"
    value = float(text)
    if abs(value) > field.most:
        return f"{shown(text)} is too large: correct it, or write -1 for unknown"
    if not field.fractional and not value.is_integer():
        return f"{shown(text)} is not a whole number: round it"
    if field.least == 0:
        return f"{shown(text)} is negative: number the jobs from 1"
    return f"{shown(text)} is negative: correct it, or write -1 for unknown"


def line_problem(line: str, *, first: bool) -> tuple[int | None, str] | None:
    """Say why a line is no valid job line; ``None`` if it is one.

    Args:
        line: A line that is neither blank nor a comment.
        first: Whether it is the first such line. If that has no numbers at all, the file has another format.

    Returns:
        The index of the field in `FIELDS`, ``None`` if the whole line is wrong, and the problem.
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
    """Quote text for an error message of one line: shortened, and with special characters escaped."""
    return ascii(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
