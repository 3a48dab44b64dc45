"""Intervals of differences: what is drawn, and how wide they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.results.report.intervals import LEAST, WEEK, Bootstrap, interval_of_weeks

if TYPE_CHECKING:
    from results.conftest import MakeSchedule
    from rota.results.schedule import Schedule


def schedule_of(make_schedule: MakeSchedule, *, weeks: int, users: int, jobs: int = 3) -> Schedule:
    count = max(weeks, users) * jobs
    return make_schedule(
        [(n, n % users, n % weeks * WEEK, n % weeks * WEEK, n % weeks * WEEK + 9, 1, 9) for n in range(count)]
    )


@pytest.mark.parametrize(
    ("weeks", "users", "unit"),
    [(LEAST, 2, "weeks"), (LEAST, 50, "weeks"), (LEAST - 1, LEAST, "users"), (LEAST - 1, LEAST - 1, "")],
)
def test_weeks_are_drawn_and_else_users(make_schedule: MakeSchedule, weeks: int, users: int, unit: str) -> None:
    schedule = schedule_of(make_schedule, weeks=weeks, users=users)
    found = Bootstrap(schedule)
    assert found.unit == unit
    assert (found.of_means(schedule.wait, schedule.wait) is None) is (unit == "")


def test_the_interval_of_a_mean_is_as_wide_as_theory_says(make_schedule: MakeSchedule) -> None:
    """With one job a week the weeks are independent: ± 1.96 standard errors of the mean, about."""
    schedule = schedule_of(make_schedule, weeks=200, users=1, jobs=1)
    change = np.random.default_rng(5).normal(40, 100, 200)
    found = Bootstrap(schedule).of_means(np.zeros(200), change)
    assert found is not None
    error = change.std(ddof=1) / np.sqrt(200)
    assert found.low == pytest.approx(change.mean() - 1.96 * error, abs=0.4 * error)
    assert found.high == pytest.approx(change.mean() + 1.96 * error, abs=0.4 * error)
    assert found.excludes_none


def test_jobs_of_a_week_are_not_independent(make_schedule: MakeSchedule) -> None:
    """A hundred jobs that change alike in each week say no more than one of them."""
    one, many = (schedule_of(make_schedule, weeks=20, users=1, jobs=jobs) for jobs in (1, 100))
    by_week = np.random.default_rng(6).normal(0, 100, 20)
    alone = Bootstrap(one).of_means(np.zeros(20), by_week)
    crowd = Bootstrap(many).of_means(np.zeros(2000), by_week[np.arange(2000) % 20])
    assert alone is not None
    assert crowd is not None
    assert (crowd.low, crowd.high) == pytest.approx((alone.low, alone.high))


def test_the_interval_of_a_quantile_holds_the_change(make_schedule: MakeSchedule) -> None:
    schedule = schedule_of(make_schedule, weeks=20, users=1, jobs=50)
    waits = np.random.default_rng(8).exponential(100, len(schedule))
    for share in (0.5, 0.95):
        found = Bootstrap(schedule).of_quantiles(waits, 2 * waits, share)
        assert found is not None
        assert found.low < np.quantile(waits, share) < found.high
        same = Bootstrap(schedule).of_quantiles(waits, waits, share)
        assert same is not None
        assert not same.excludes_none


def test_weeks_of_a_machine() -> None:
    assert interval_of_weeks(np.zeros(LEAST - 1), np.ones(LEAST - 1)) is None
    found = interval_of_weeks(np.zeros(LEAST), np.full(LEAST, 0.25))
    assert found is not None
    assert (found.low, found.high) == (0.25, 0.25)
