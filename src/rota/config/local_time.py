"""Time zones, and the notation of points of time in a replay."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from time import localtime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rota.model import InputError
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A zone without summer time, as POSIX has it: ``EST5``, ``<+0530>-5:30``.
_POSIX = re.compile(r"(?:[A-Za-z]{3,}|<[\w+-]{3,}>)(?P<sign>[+-]?)(?P<hours>\d{1,2})(?::(?P<minutes>\d\d))?", re.ASCII)
#: Where the files of zones are, whose paths TZ may have.
_ZONES = "/usr/share/zoneinfo/"
#: Longest value of TZ that is looked up: no name of a file is longer.
_LONGEST = 255
#: A day after the beginning of the calendar, and a day before its end, so that local time exists everywhere.
_FIRST = (datetime(1, 1, 2, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
_LAST = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)


def utc_offset_of(zone: str) -> Callable[[int], int]:
    """Give a function from Unix time to the offset of local time from UTC, in seconds east.

    Beyond the calendar it is as at its ends.

    Raises:
        InputError: the time zone is unknown.
    """
    info = _zone(zone)

    def offset(time: int) -> int:
        moment = _EPOCH + timedelta(seconds=min(max(time, _FIRST), _LAST))
        delta = moment.astimezone(info).utcoffset() or timedelta()
        return round(delta.total_seconds())

    return offset


def utc_offset_by_variable(zone: str, otherwise: Callable[[int], int]) -> Callable[[int], int]:
    """Give the function of `utc_offset_of` for a value of the variable TZ.

    As for the C library, a name that is unknown is UTC, and no zone is further from that than 24:59. It opens files of
    zones only, since the value is a user's.

    Args:
        zone: The value: a name, or a zone without summer time as POSIX has it.
        otherwise: The function for a zone of POSIX with summer time.
    """
    name = zone.removeprefix(":").removeprefix(_ZONES)
    if len(name) > _LONGEST:
        return lambda _time: 0
    try:
        return utc_offset_of(name or "UTC")
    except InputError:
        pass
    if match := _POSIX.fullmatch(name):
        west = min(int(match["hours"]), 24) * 3600 + min(int(match["minutes"] or 0), 59) * 60
        return lambda _time: west if match["sign"] == "-" else -west
    return otherwise if any(letter.isdigit() for letter in name) else lambda _time: 0


def local_offsets_of(zone: str) -> Callable[[int], tuple[int, int]]:
    """Give a function from a local time, as seconds since 1970 began there, to its offsets from UTC, in seconds east.

    The two are equal, except: of a time that comes twice they are those of its first and its second coming, and of one
    that is left out the second is greater.

    Raises:
        InputError: the time zone is unknown.
    """
    info = _zone(zone)

    def offsets(local: int) -> tuple[int, int]:
        moment = (_EPOCH + timedelta(seconds=local)).replace(tzinfo=info)
        first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
        return round(first.total_seconds()), round(second.total_seconds())

    return offsets


def _zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise InputError(
            f"{zone!r} is no time zone: write one such as Europe/Stockholm or UTC", field="--time-zone"
        ) from None


def system_utc_offset(moment: int) -> int:
    """Give this system's local time minus UTC, in seconds, at a Unix time."""
    return localtime(moment).tm_gmtoff


def parse_moment(text: str, start: int, utc_offset: Callable[[int], int]) -> int:
    """Parse a point of time in a replay.

    Args:
        text: A date in local time, ``2022-01-01T12:00:00``, or the time since the log's start:
            ``days-hours[:minutes[:seconds]]``, ``[hours:]minutes:seconds`` or a number of seconds.
        start: Unix time of the log's second 0.
        utc_offset: See `utc_offset_of`.

    Returns:
        Unix seconds.

    Raises:
        InputError: the text is neither, or is not between 1970 and 9999.
    """
    text = text.strip()
    after = _seconds_after(text)
    moment = _date(text, utc_offset) if after is None else start + after
    if not 0 <= moment < _LAST:
        raise InputError(f"{text!r} is not from 1970 to 9999: write a moment of the log", field="time")
    return moment


def _seconds_after(text: str) -> int | None:
    """Parse the time since the log's start; ``None`` for other texts and for UNLIMITED."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_time_seconds(text)
    except ValueError:
        return None


def _date(text: str, utc_offset: Callable[[int], int]) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{text!r} is no moment: write a date such as 2022-01-01T12:00:00, or the time since the log's start "
            "such as 5-12:00:00 or 86400",
            field="time",
        ) from None
    local = (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(seconds=1)
    if moment.tzinfo is not None or not 0 <= local < _LAST:
        return local
    # Twice: the first offset may be from the other side of a daylight saving change.
    return local - utc_offset(local - utc_offset(local))
