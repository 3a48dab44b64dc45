"""``PriorityUsageResetPeriod``: when usage is set to zero, in local time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DAY = 86400
#: Unix time begins on a Thursday, weeks of this option on a Sunday.
_DAYS_TO_SUNDAY = 3
_MONTHS = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}


def next_reset(period: str, after: int, utc_offset: Callable[[int], int]) -> int | None:
    """Give the next time at which usage is set to zero.

    Args:
        period: One of `rota.model.multifactor.RESET_PERIODS`. ``NOW`` has no next time: the caller resets usage once.
        after: Unix seconds: the last reset or, without one, when accounting began.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.

    Returns:
        Unix seconds of the local midnight at which the next day, week (Sunday), month, quarter or year begins.
    """
    if period in {"NONE", "NOW"}:
        return None
    day = (after + utc_offset(after)) // _DAY
    if period == "DAILY":
        day += 1
    elif period == "WEEKLY":
        day += 7 - (day - _DAYS_TO_SUNDAY) % 7
    else:
        day = _first_of_next(day, _MONTHS[period])
    # The offset at that midnight, which may differ from today's.
    midnight = day * _DAY - utc_offset(after)
    return day * _DAY - utc_offset(midnight)


def _first_of_next(day: int, months: int) -> int:
    """Give the first day of the next month, quarter or year, in days since 1970."""
    year, month = _civil(day)
    month += months - (month - 1) % months
    return _days(year + (month - 1) // 12, (month - 1) % 12 + 1)


def _civil(day: int) -> tuple[int, int]:
    """Convert days since 1970 to year and month (Gregorian calendar, with eras of 400 years that begin in March)."""
    era, of_era = divmod(day + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153 + 3
    return era * 400 + year + (month > 12), month - 12 * (month > 12)


def _days(year: int, month: int) -> int:
    """Give the first day of a month in days since 1970."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 + 12 * (month <= 2)) + 2) // 5
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
