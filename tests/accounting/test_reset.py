"""PriorityUsageResetPeriod, against the standard library's calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import next_reset
from rota.model.multifactor import RESET_PERIODS

PERIODS = [period for period in RESET_PERIODS if period not in {"NONE", "NOW"}]
#: The last Sunday of March 2024, 2:00 in Central Europe: from then on it is 3:00.
SUMMER = int(datetime(2024, 3, 31, 1, tzinfo=UTC).timestamp())
#: The last Sunday of October 2024, 3:00: from then on it is 2:00.
WINTER = int(datetime(2024, 10, 27, 1, tzinfo=UTC).timestamp())


def _central_europe(time: int) -> int:
    return 7200 if SUMMER <= time < WINTER else 3600


def _utc(*civil: int) -> int:
    return int(datetime(*civil, tzinfo=UTC).timestamp())  # type: ignore[misc, arg-type] # not the time zone


def _begins(day: datetime, period: str) -> bool:
    """Whether the period begins with this day, from Slurm's description of it."""
    return {
        "DAILY": True,
        "WEEKLY": day.strftime("%A") == "Sunday",
        "MONTHLY": day.day == 1,
        "QUARTERLY": day.day == 1 and day.month in {1, 4, 7, 10},
        "YEARLY": (day.day, day.month) == (1, 1),
    }[period]


@given(time=st.integers(0, _utc(2106, 1, 1)), hours=st.integers(-12, 14), period=st.sampled_from(PERIODS))
def test_the_first_midnight_with_which_a_period_begins(time: int, hours: int, period: str) -> None:
    local = datetime.fromtimestamp(time, UTC) + timedelta(hours=hours)
    day = local.replace(hour=0, minute=0, second=0) + timedelta(days=1)
    while not _begins(day, period):
        day += timedelta(days=1)
    assert next_reset(period, time, lambda _: hours * 3600) == int(day.timestamp()) - hours * 3600


@pytest.mark.parametrize("period", ["NONE", "NOW"])
def test_what_does_not_come_again(period: str) -> None:
    assert next_reset(period, 0, lambda _: 0) is None


@pytest.mark.parametrize(
    ("period", "after", "expected"),
    [
        # Midnight is 23:00 UTC in winter and 22:00 UTC in summer: the day of the change has 23 hours, or 25.
        ("DAILY", _utc(2024, 3, 30, 12), _utc(2024, 3, 30, 23)),
        ("DAILY", _utc(2024, 3, 30, 23), _utc(2024, 3, 31, 22)),
        ("DAILY", _utc(2024, 10, 26, 22), _utc(2024, 10, 27, 23)),
        ("WEEKLY", _utc(2024, 3, 27), _utc(2024, 3, 30, 23)),
        ("WEEKLY", _utc(2024, 3, 30, 23), _utc(2024, 4, 6, 22)),
        ("MONTHLY", _utc(2024, 3, 15), _utc(2024, 3, 31, 22)),
        ("QUARTERLY", _utc(2024, 8, 1), _utc(2024, 9, 30, 22)),
        ("YEARLY", _utc(2024, 7, 1), _utc(2024, 12, 31, 23)),
    ],
)
def test_midnight_is_the_clocks_that_changes_in_between(period: str, after: int, expected: int) -> None:
    assert next_reset(period, after, _central_europe) == expected
