"""Intervals of differences between runs: a bootstrap over weeks or users.

The jobs of a week wait in one queue, and those of a user are alike: single jobs are not independent, and to draw them
would give intervals that are far too small. So whole weeks of submission are drawn with replacement or, if the log has
fewer than `LEAST` of them, users. The same weeks are drawn for both runs. The interval holds 95 % of the differences of
`DRAWS` such logs (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: the percentile interval).
With fewer than `LEAST` users as well there is no interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.schedule import Schedule

    Numbers = NDArray[np.int64] | NDArray[np.float64]

#: Least number of weeks or users to draw from.
LEAST = 8
#: Number of logs that are drawn.
DRAWS = 400
WEEK = 7 * 86400
#: Least share of the drawn logs in which there have to be jobs, else they are too few for an interval.
_ENOUGH = 0.95
_SEED = 20_090_201
_BOUNDS = (0.025, 0.975)
#: Differences smaller than this are of the arithmetic.
_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """95 % of the differences are within it."""

    low: float
    high: float

    @property
    def excludes_none(self) -> bool:
        """Whether no difference at all is outside of it."""
        return self.low > _TINY or self.high < -_TINY


class Bootstrap:
    """Draws weeks or users of a log.

    Args:
        schedule: The jobs.
    """

    def __init__(self, schedule: Schedule) -> None:
        #: What is drawn: ``weeks`` or ``users``; empty: there are too few of either.
        self.unit = ""
        #: How many of them there are.
        self.count = 0
        self._place = np.zeros(len(schedule), np.int64)
        first = int(schedule.submit.min(initial=np.iinfo(np.int64).max))
        weeks, by_week = np.unique((schedule.submit - first) // WEEK, return_inverse=True)
        users, by_user = np.unique(schedule.user_id, return_inverse=True)
        for unit, found, place in (("weeks", weeks, by_week), ("users", users, by_user)):
            if len(found) >= LEAST:
                self.unit, self.count, self._place = unit, len(found), place.astype(np.int64)
                break
        self._times = _draw(self.count)

    def of_means(self, one: Numbers, other: Numbers, rows: NDArray[np.intp] | None = None) -> Interval | None:
        """Give the interval of the change of a mean, over jobs.

        Args:
            one: A value for each job in one run.
            other: Those of the same jobs in the other run.
            rows: Rows of these jobs in the schedule; ``None``: all.
        """
        if not self.unit:
            return None
        drawn = self.means(other, rows) - self.means(one, rows)
        drawn = drawn[np.isfinite(drawn)]
        return interval_of(drawn) if len(drawn) >= _ENOUGH * DRAWS else None

    def of_quantiles(self, one: Numbers, other: Numbers, share: float) -> Interval | None:
        """Give the interval of the change of a quantile, over jobs."""
        return interval_of(self._quantiles(other, share) - self._quantiles(one, share)) if self.unit else None

    def means(self, values: Numbers, rows: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Give the mean over jobs in each drawn log.

        Args:
            values: A value for each job.
            rows: Rows of these jobs in the schedule; ``None``: all.
        """
        return self.means_by(values, np.zeros(len(values), np.intp), rows)[:, 0]

    def means_by(
        self, values: Numbers, group: NDArray[np.intp], rows: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Give the same by group, from 0: a row for each drawn log, NaN for a group that is not in it."""
        count, groups = self.count, int(group.max(initial=0)) + 1
        cell = (self._place if rows is None else self._place[rows]) * groups + group
        jobs = np.bincount(cell, minlength=count * groups).reshape(count, groups)
        sums = np.bincount(cell, values.astype(np.float64), count * groups).reshape(count, groups)
        drawn = self._times @ jobs
        means = np.full(drawn.shape, np.nan)
        np.divide(self._times @ sums, drawn, out=means, where=drawn > 0)
        return means

    def _quantiles(self, values: Numbers, share: float) -> NDArray[np.float64]:
        order = np.argsort(values, kind="stable")
        place, ordered = self._place[order], values[order].astype(np.float64)
        found = np.zeros(len(self._times))
        for row, times in enumerate(self._times):
            reached = np.cumsum(times[place])
            found[row] = ordered[np.searchsorted(reached, share * reached[-1])]
        return found


def interval_of_weeks(one: Numbers, other: Numbers) -> Interval | None:
    """Give the interval of the change of a mean over weeks; ``None`` if there are too few.

    Args:
        one: Values by week in one run.
        other: Those of the same weeks in the other run.
    """
    drawn = means_of_weeks(other - one)
    return None if drawn is None else interval_of(drawn)


def means_of_weeks(values: Numbers) -> NDArray[np.float64] | None:
    """Give the mean over weeks in each drawn log; ``None`` if there are too few."""
    return _draw(len(values)) @ values / len(values) if len(values) >= LEAST else None


def _draw(count: int) -> NDArray[np.int64]:
    """Give how often each of ``count`` units is in each drawn log."""
    if not count:
        return np.zeros((DRAWS, 0), np.int64)
    return np.random.default_rng(_SEED).multinomial(count, np.full(count, 1 / count), DRAWS)


def interval_of(drawn: NDArray[np.float64]) -> Interval:
    """Give the bounds within which 95 % of drawn values are."""
    low, high = np.quantile(drawn, _BOUNDS).tolist()
    return Interval(low=low, high=high)
