"""Formats of times, durations and numbers in pages; ``js/format.js`` has the same for the browser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.results.schedule import ReplayResult

_DAY = 86400
#: Times below this number of seconds are no dates: no log is that old.
_SMALL_TIMES = 10 * 365 * _DAY
#: From then on Python has no dates.
_YEAR_10000 = 253_402_300_800
#: Priority points below this number are shown with tenths.
_SMALL_POINTS = 100


@dataclass(frozen=True, slots=True)
class Clock:
    """Formats Unix times: as a date in UTC or, for a log without a date, as days since its beginning."""

    dated: bool

    def __call__(self, seconds: int) -> str:
        """Format a time: ``2000-04-25 22:00:03`` or ``day 3 04:05:06``, where day 0 is the first.

        What is later than any date, as an odd log may have it, are days since 1970.
        """
        if self.dated and seconds < _YEAR_10000:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        days, rest = divmod(seconds, _DAY)
        return f"day {days} {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def clock_of(result: ReplayResult) -> Clock:
    """Choose the format of times: days if the log has no origin and small times, or no jobs."""
    latest = int(result.schedule.submit.max(initial=0))
    return Clock(dated=latest > 0 and (result.origin != 0 or latest >= _SMALL_TIMES))


def duration(seconds: float) -> str:
    """Format a duration as Slurm does: ``1-02:03:04`` is a day, two hours, three minutes and four seconds."""
    whole = round(abs(seconds))
    sign = "−" if seconds < 0 and whole else ""
    days, rest = divmod(whole, _DAY)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{sign}{days}-{text}" if days else f"{sign}{text}"


def count(number: float) -> str:
    """Format a whole number, with commas between thousands."""
    return f"{number:,.0f}"


def decimal(number: float) -> str:
    """Format a number with two decimals, and commas between thousands."""
    return f"{number:,.2f}"


def percent(share: float) -> str:
    """Format a fraction in per cent."""
    return f"{share * 100:.2f} %"


def points(number: float) -> str:
    """Format priority points: with a tenth if the number is small and not whole."""
    small = abs(number) < _SMALL_POINTS and not float(number).is_integer()
    text = f"{abs(number):,.1f}" if small else f"{abs(number):,.0f}"
    return f"−{text}" if number < 0 and text.strip("0.") else text


def faults(result: ReplayResult) -> str:
    """Say how often plugins misbehaved; empty: never."""
    counts = "; ".join(f"{function} {count(number)}×" for function, number in result.summary.faults.items())
    return f"Plugins misbehaved, and rota’s own FIFO took their place: {counts}." if counts else ""


def policy(result: ReplayResult) -> str:
    """Name the policy: scheduler, priority and options, as far as they are known."""
    return ", ".join(part for part in (result.scheduler, result.priority, result.options) if part)
