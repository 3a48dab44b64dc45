"""Points of time and durations, as Slurm's commands print them.

``SLURM_TIME_FORMAT`` sets how points of time are printed: ``standard`` (also if it is empty) is
``2026-11-21T02:43:00``; ``relative`` is short for days near today; any other text is a format of ``strftime``, in which
``%s`` is the Unix time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- local time without a zone
#: Offsets from UTC change at whole quarters of an hour only.
_QUARTER = 900
#: The first moment that cannot be shown.
_LAST = (datetime(9999, 12, 30, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Clock:
    """Formats points of time.

    Args:
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
        style: The value of ``SLURM_TIME_FORMAT``; empty: standard.
    """

    def __init__(self, now: int, utc_offset: Callable[[int], int], style: str = "") -> None:
        self.now = now
        self._utc_offset = utc_offset
        self._style = "" if style == "standard" else style
        self._offsets: dict[int, int] = {}
        self._dates: dict[int, str] = {}

    def offset(self, time: int) -> int:
        """Give local time minus UTC in seconds, at a Unix time."""
        quarter = time // _QUARTER
        found = self._offsets.get(quarter)
        if found is None:
            found = self._offsets[quarter] = self._utc_offset(quarter * _QUARTER)
        return found

    def local(self, time: int) -> datetime:
        """Give local time, without a zone."""
        time = min(max(time, 0), _LAST)
        return _EPOCH + timedelta(seconds=time + self.offset(time))

    def moment(self, time: int) -> str:
        """Format a point of time."""
        if self._style:
            return self._styled(time)
        if not 0 <= time < _LAST:
            return f"{self.local(time):%Y-%m-%dT%H:%M:%S}"
        day, second = divmod(time + self.offset(time), 86400)
        date = self._dates.get(day)
        if date is None:
            date = self._dates[day] = f"{_EPOCH + timedelta(days=day):%Y-%m-%dT}"
        minute, second = divmod(second, 60)
        return f"{date}{minute // 60:02}:{minute % 60:02}:{second:02}"

    def _styled(self, time: int) -> str:
        local = self.local(time)
        if self._style == "relative":
            return self._relative(local)
        style = self._style.replace("%s", str(time))
        try:
            return local.replace(tzinfo=timezone(timedelta(seconds=self.offset(time)))).strftime(style)[:255]
        except (ValueError, UnicodeError, MemoryError):
            return "#" * 19

    def _relative(self, local: datetime) -> str:
        days = (local.date() - self.local(self.now).date()).days
        if abs(days) > 365:
            return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"
        if days < -1 or days > 6:
            return f"{local.day} {_MONTHS[local.month - 1]} {local:%H:%M}"
        if not days:
            return f"{local:%H:%M:%S}"
        word = {-1: "Ystday", 1: "Tomorr"}.get(days, _DAYS[local.weekday()])
        return f"{word} {local:%H:%M}"

    def heading(self) -> str:
        """Give the time now as it stands above long listings: ``Sat Nov 21 02:43:00 2026``."""
        local = self.local(self.now)
        return f"{_DAYS[local.weekday()]} {_MONTHS[local.month - 1]} {local.day:02} {local:%H:%M:%S %Y}"


def duration(seconds: int) -> str:
    """Format ``[days-][hours:]minutes:seconds`` like squeue: ``0:09``, ``1:40:00``, ``2-00:00:00``."""
    minutes, second = divmod(max(seconds, 0), 60)
    if minutes < 60:
        return f"{minutes}:{second:02}"
    hours, minute = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}:{minute:02}:{second:02}"
    return f"{hours // 24}-{hours % 24:02}:{minute:02}:{second:02}"


def full_duration(seconds: int) -> str:
    """Format ``[days-]hours:minutes:seconds`` like scontrol and sacct: ``00:00:09``, ``2-00:00:00``."""
    minutes, second = divmod(max(seconds, 0), 60)
    hours, minute = divmod(minutes, 60)
    if hours < 24:
        return f"{hours:02}:{minute:02}:{second:02}"
    return f"{hours // 24}-{hours % 24:02}:{minute:02}:{second:02}"
