"""Points of time as users write them in Slurm's commands.

::

    16:30  4:30:00PM  1121  112126-16:30  11/21  11.21.26  2026-11-21  2026-11-21T16:30:00
    now  now-2hours  now+90  today  tomorrow  midnight  noon  fika  teatime  1795228980 with uts before it
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- local time
_NOW = re.compile(r"now(?:\s*(?P<sign>[+-])\s*(?P<count>\d{1,10})\s*(?P<unit>[a-z]*))?", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?\s*(?P<half>[ap]m)?", re.IGNORECASE | re.ASCII
)
_DATES = (
    re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})", re.ASCII),
    re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})(?:/(?P<year>\d{2}|\d{4}))?", re.ASCII),
    re.compile(r"(?P<month>\d{1,2})\.(?P<day>\d{1,2})(?:\.(?P<year>\d{2}|\d{4}))?", re.ASCII),
    re.compile(r"(?P<month>\d{2})(?P<day>\d{2})(?P<year>\d{2})?", re.ASCII),
)
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SCALE = {"": 1, **_UNITS, **{f"{name}s": scale for name, scale in _UNITS.items()}}
_WORDS = {"midnight": 0, "noon": 12, "fika": 15, "teatime": 16}


def parse_slurm_time(text: str, now: int, utc_offset: Callable[[int], int], *, past: bool = False) -> int:
    """Parse a point of time into Unix seconds.

    Args:
        text: What the user has written.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
        past: Whether a time of day is that of today; else it is the next one.

    Raises:
        UsageError: the text is no point of time.
    """
    word = text.strip()
    match = _NOW.fullmatch(word)
    if match is not None:
        scale = _SCALE.get((match["unit"] or "").lower())
        if scale is None:
            raise _error(text)
        return now + int(match["count"] or 0) * scale * (-1 if match["sign"] == "-" else 1)
    if re.fullmatch(r"uts\d{1,12}", word, re.ASCII):
        return int(word[3:])
    try:
        local = _local(word, _EPOCH + timedelta(seconds=now + utc_offset(now)), past=past)
    except (ValueError, OverflowError):
        raise _error(text) from None
    seconds = (local - _EPOCH) // timedelta(seconds=1)
    # Twice: the first offset may be from the other side of a daylight saving change.
    return seconds - utc_offset(seconds - utc_offset(seconds))


def _error(text: str) -> UsageError:
    return UsageError(f"Invalid time specification (pos=0): {text}\n")


def _local(word: str, now: datetime, *, past: bool) -> datetime:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    name = word.lower()
    if name in {"today", "tomorrow"}:
        return today if name == "today" else today + timedelta(days=1)
    if name in _WORDS:
        return _next(today + timedelta(hours=_WORDS[name]), now, past=past)
    if (match := _CLOCK.fullmatch(word)) is not None:
        return _next(today + _time_of_day(match), now, past=past)
    for form in _DATES:
        match = form.match(word)
        if match is None:
            continue
        rest = word[match.end() :]
        if rest and (rest[0] not in "T- " or _CLOCK.fullmatch(rest[1:]) is None):
            continue
        year = int(match["year"] or now.year)
        day = datetime(year + 2000 if year < 100 else year, int(match["month"]), int(match["day"]))  # noqa: DTZ001
        clock = _CLOCK.fullmatch(rest[1:]) if rest else None
        return day + (_time_of_day(clock) if clock else timedelta())
    raise ValueError(word)


def _next(time: datetime, now: datetime, *, past: bool) -> datetime:
    return time if past or time >= now else time + timedelta(days=1)


def _time_of_day(match: re.Match[str]) -> timedelta:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["half"]:
        if hour > 12:
            raise ValueError(match[0])
        hour = hour % 12 + 12 * (match["half"].lower() == "pm")
    if hour > 24 or minute > 59 or second > 59:
        raise ValueError(match[0])
    return timedelta(hours=hour, minutes=minute, seconds=second)
