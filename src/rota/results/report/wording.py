"""Times, durations and numbers as people read them. ``js/format.js`` says the same in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.results.schedule import ReplayResult

_DAY = 86400
#: Seconds below which a time is not meant as a date: no log is as old as 1980.
_SMALL_TIMES = 10 * 365 * _DAY
#: Points of priority below which tenths are told.
_SMALL_POINTS = 100


@dataclass(frozen=True, slots=True)
class Clock:
    """How to say a Unix time: as a date in UTC or, for a log that tells no date, as days from its beginning."""

    dated: bool

    def __call__(self, seconds: int) -> str:
        """Say a time: ``2000-04-25 22:00:03`` or ``day 3 04:05:06``, where day 0 is the first."""
        if self.dated:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        days, rest = divmod(seconds, _DAY)
        return f"day {days} {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def clock_of(result: ReplayResult) -> Clock:
    """Choose the clock: days when the log has no origin and its times are small, or no jobs."""
    latest = int(result.schedule.submit.max(initial=0))
    return Clock(dated=latest > 0 and (result.origin != 0 or latest >= _SMALL_TIMES))


def duration(seconds: float) -> str:
    """Say a duration as Slurm does, ``1-02:03:04`` for a day, two hours, three minutes and four seconds."""
    whole = round(abs(seconds))
    sign = "−" if seconds < 0 and whole else ""
    days, rest = divmod(whole, _DAY)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{sign}{days}-{text}" if days else f"{sign}{text}"


def count(number: float) -> str:
    """Say a whole number, with thin spaces between thousands."""
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def decimal(number: float) -> str:
    """Say a number to two places, thousands apart."""
    return f"{number:,.2f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def percent(share: float) -> str:
    """Say a share of 1 in per cent."""
    return f"{share * 100:.2f} %"


def points(number: float) -> str:
    """Say a part of a priority: to a tenth where it is small and not whole."""
    small = abs(number) < _SMALL_POINTS and not float(number).is_integer()
    text = f"{abs(number):,.1f}" if small else f"{abs(number):,.0f}"
    sign = "−" if number < 0 and text.strip("0.") else ""
    return sign + text.replace(",", "\N{NARROW NO-BREAK SPACE}")


def policy(result: ReplayResult) -> str:
    """Name what ran: scheduler, priority and options, as far as they say anything."""
    return ", ".join(part for part in (result.scheduler, result.priority, result.options) if part)
