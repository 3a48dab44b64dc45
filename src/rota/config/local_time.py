"""Local time, and how moments are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rota.model import InputError
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A day before the calendar ends, so that there is local time everywhere.
_LAST = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)


def utc_offset_of(zone: str) -> Callable[[int], int]:
    """Give the function that says what local time is: seconds east of UTC, at a Unix time.

    Raises:
        InputError: there is no such time zone.
    """
    try:
        info = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise InputError(
            f"{zone!r} is no time zone: write one such as Europe/Stockholm or UTC", field="--time-zone"
        ) from None

    def offset(time: int) -> int:
        delta = (_EPOCH + timedelta(seconds=time)).astimezone(info).utcoffset() or timedelta()
        return round(delta.total_seconds())

    return offset


def parse_moment(text: str, start: int, utc_offset: Callable[[int], int]) -> int:
    """Read a moment of a replay.

    Args:
        text: ``2022-01-01T12:00:00`` in local time, or how long after the log's start:
            ``days-hours[:minutes[:seconds]]``, ``[hours:]minutes:seconds`` or, plain, seconds.
        start: Unix time of the log's second 0.
        utc_offset: See `utc_offset_of`.

    Returns:
        Unix seconds.

    Raises:
        InputError: neither, or not from 1970 to 9999.
    """
    text = text.strip()
    after = _seconds_after(text)
    moment = _date(text, utc_offset) if after is None else start + after
    if not 0 <= moment < _LAST:
        raise InputError(f"{text!r} is not from 1970 to 9999: write a moment of the log", field="time")
    return moment


def _seconds_after(text: str) -> int | None:
    """Read how long after the log's start; ``None``: it is no such thing, as UNLIMITED is not."""
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
    # Twice: the first offset may be that of the other side of a change of the clocks.
    return local - utc_offset(local - utc_offset(local))
