"""The times of ``sacct``: Unix seconds (``SLURM_TIME_FORMAT=%s``), or local time without its offset from UTC.

When clocks are put back, an hour of local time comes twice. Which of the two is meant is found from the other times of
the job, and else it is the first. When they are put forward, an hour is left out: a time in it is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.config.local_time import local_offsets_of
from rota.workload.checks import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.workload.fields import IntColumn
    from rota.workload.sacct.table import Table

#: What stands for a time that is not known, or not yet.
_UNKNOWN = ("Unknown", "None", "", "N/A", "NaT")
_SHAPE = np.array([ord(one) for one in "0000-00-00T00:00:00"])
_DIGIT = np.isin(_SHAPE, ord("0"))
_DATE_TIME = 10
#: Changes of local time are at multiples of this, seconds.
_QUARTER = 900
#: Of Unix seconds up to the year 9999 or so.
_MOST_DIGITS = 12


class Times(NamedTuple):
    """A column of times, Unix seconds; -1: unknown. They differ where a local time comes twice."""

    first: IntColumn
    second: IntColumn

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which are known."""
        return self.first >= 0

    def chosen(self, least: IntColumn, exact: IntColumn) -> IntColumn:
        """Choose of times that come twice the one nearest to ``exact`` if that is known, else not before ``least``."""
        if (self.first == self.second).all():
            return self.first
        nearer = np.abs(self.second - exact) < np.abs(self.first - exact)
        return np.where(np.where(exact >= 0, nearer, self.first < least), self.second, self.first)


def read_times(table: Table, column: str, zone: str) -> Times:
    """Read a column; if the file does not have it, all are unknown.

    Args:
        table: The file.
        column: Name of the column.
        zone: Time zone of local times; empty: UTC.

    A job of which a text is no time, or no such local time, is left out.
    """
    texts = table.columns.get(column)
    if texts is None:
        unknown = np.full(len(table.lines), -1)
        return Times(unknown, unknown)
    array = np.array(texts)
    known = ~np.isin(array, _UNKNOWN)
    moments = np.full(len(array), -1)
    if not known.any():
        return Times(moments, moments)
    if _most_are_unix(array[known]):
        moments[known] = _unix(table, column, array, known)
        return Times(moments, moments)
    moments[known] = _local(table, column, array, known)
    if not zone:
        return Times(moments, moments)
    return _of_zone(table, column, moments, known, zone)


def _most_are_unix(texts: NDArray[np.str_]) -> bool:
    """Whether times are in Unix seconds: most of them, or the first of two kinds that are equally many."""
    digits = np.strings.isdecimal(texts)
    return bool(digits.sum() * 2 > len(digits) or (digits.sum() * 2 == len(digits) and digits[0]))


def _unix(table: Table, column: str, array: NDArray[np.str_], known: NDArray[np.bool_]) -> IntColumn:
    good = np.strings.isdecimal(array) & (np.strings.str_len(array) <= _MOST_DIGITS)
    for row in np.flatnonzero(known & ~good).tolist():
        table.leave_out(row, column, f"{shown(str(array[row]))} is no time: others are in Unix seconds")
    return np.where(good, array, "-1")[known].astype(np.int64)


def _local(table: Table, column: str, array: NDArray[np.str_], known: NDArray[np.bool_]) -> IntColumn:
    """Read local times as if they were UTC."""
    texts = array[known]
    letters = texts.astype(f"U{len(_SHAPE)}").view(np.uint32).reshape(len(texts), len(_SHAPE))
    as_shaped = np.where(_DIGIT, (letters >= ord("0")) & (letters <= ord("9")), letters == _SHAPE)
    as_shaped[:, _DATE_TIME] |= letters[:, _DATE_TIME] == ord(" ")
    good = as_shaped.all(axis=1)
    if texts.dtype.itemsize // 4 > len(_SHAPE):
        good &= np.strings.str_len(texts) == len(_SHAPE)
    if good.all():
        try:
            return texts.astype("datetime64[s]").astype(np.int64)
        except ValueError:  # there is no such date
            pass
    good &= np.array([_is_date(one) for one in texts.tolist()])
    for row in np.flatnonzero(known)[~good].tolist():
        problem = f"{shown(str(array[row]))} is no time: write 2026-10-01T12:00:00, Unix seconds or Unknown"
        table.leave_out(row, column, problem)
    moments = np.full(len(texts), -1)
    moments[good] = texts[good].astype("datetime64[s]").astype(np.int64)
    return moments


def _is_date(text: str) -> bool:
    try:
        np.datetime64(text)
    except ValueError:
        return False
    return True


def _of_zone(table: Table, column: str, local: IntColumn, known: NDArray[np.bool_], zone: str) -> Times:
    quarters, place = np.unique(local[known] // _QUARTER, return_inverse=True)
    offsets_of = local_offsets_of(zone)
    offsets = np.array([offsets_of(one * _QUARTER) for one in quarters.tolist()])[place]
    missing = offsets[:, 0] < offsets[:, 1]
    for row in np.flatnonzero(known)[missing].tolist():
        text = table.columns[column][row]
        problem = f"{text} does not exist in {zone}, whose clocks go forward then: another --time-zone?"
        table.leave_out(row, column, problem)
    first, second = local.copy(), local.copy()
    first[known] -= offsets[:, 0]
    second[known] -= offsets[:, 1]
    return Times(first, second)
