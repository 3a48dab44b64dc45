"""The figures by which runs are compared, over the jobs that all of them have run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rota.results.report import steps, wording
from rota.results.report.intervals import WEEK, Bootstrap, Interval, interval_of_weeks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.results.schedule import ReplayResult, Schedule

    Numbers = NDArray[np.int64] | NDArray[np.float64]

#: Ratios outside of this cannot be read with two decimals; then only the difference is shown.
_READABLE = (0.01, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure; ``say`` formats it."""

    key: str
    label: str
    say: Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of a figure to the first run's."""

    value: float
    #: ``None``: there are too few weeks and users, or the figure is that of a single job or end.
    interval: Interval | None
    #: Whether it is marked: the interval excludes no difference, and the runs have run the same jobs.
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """A figure of all runs."""

    metric: Metric
    values: tuple[float, ...]
    #: Differences to the first run; that of the first is ``None``.
    differences: tuple[Difference | None, ...]
    #: Ratios to the first run; ``None`` where that says nothing: to 0, or too small or large to be read.
    ratios: tuple[float | None, ...]


def say_difference(metric: Metric, one: Difference) -> str:
    """Format a difference with its interval: ``−00:05:00 (−00:09:00 to −00:02:00)``."""
    text = _signed(metric, one.value)
    if one.interval is None:
        return text
    return f"{text} ({_signed(metric, one.interval.low)} to {_signed(metric, one.interval.high)})"


def _signed(metric: Metric, value: float) -> str:
    """Format with a sign, none for what is shown as 0."""
    text = metric.say(abs(value))
    return text if text == metric.say(0) else f"{'−' if value < 0 else '+'}{text}"


class Metrics:
    """Computes the figures.

    Args:
        results: The runs; row i is the same job in each.
        common: Rows of the jobs that all have run to an end.
        alike: Whether these are all that any of them has run; else nothing is marked.
    """

    def __init__(self, results: Sequence[ReplayResult], common: NDArray[np.intp], *, alike: bool) -> None:
        self._results = results
        self._jobs = [result.schedule.take(common) for result in results]
        self._alike = alike
        self._bootstrap = Bootstrap(self._jobs[0])

    @property
    def unit(self) -> str:
        """What intervals are made of: ``weeks`` or ``users``; empty: there are none."""
        return self._bootstrap.unit

    def rows(self) -> list[MetricRow]:
        """Give all figures, in the order in which they are shown."""
        waits = [jobs.wait for jobs in self._jobs]
        slowdowns = [jobs.bounded_slowdown for jobs in self._jobs]
        duration, decimal = wording.duration, wording.decimal
        return [
            self._mean("mean_wait_s", "Mean wait", duration, waits),
            self._quantile("median_wait_s", "Median wait", duration, waits, 0.5),
            self._quantile("p95_wait_s", "95th percentile wait", duration, waits, 0.95),
            self._row("max_wait_s", "Longest wait", duration, [float(one.max(initial=0)) for one in waits]),
            self._mean("mean_bounded_slowdown", "Mean bounded slowdown", decimal, slowdowns),
            self._quantile("median_bounded_slowdown", "Median bounded slowdown", decimal, slowdowns, 0.5),
            self._utilisation(),
            self._row("makespan_s", "Makespan", duration, [float(one.summary.makespan_s) for one in self._results]),
        ]

    def _mean(self, key: str, label: str, say: Callable[[float], str], values: Sequence[Numbers]) -> MetricRow:
        means = [float(one.mean()) if len(one) else 0.0 for one in values]
        return self._row(key, label, say, means, [self._bootstrap.of_means(values[0], one) for one in values])

    def _quantile(
        self, key: str, label: str, say: Callable[[float], str], values: Sequence[Numbers], share: float
    ) -> MetricRow:
        found = [float(np.quantile(one, share)) if len(one) else 0.0 for one in values]
        intervals = [self._bootstrap.of_quantiles(values[0], one, share) for one in values]
        return self._row(key, label, say, found, intervals)

    def _utilisation(self) -> MetricRow:
        """Compare utilisation from the first to the last submission: after that the machine only empties."""
        weeks = [weekly_utilisation(result)[0] for result in self._results]
        widths = np.diff(_week_edges(self._results[0].schedule))
        values = [float((one * widths).sum() / max(widths.sum(), 1)) for one in weeks]
        whole = widths == WEEK
        intervals = [interval_of_weeks(weeks[0][whole], one[whole]) for one in weeks]
        label = "Utilisation until the last submission"
        return self._row("utilisation", label, wording.percent, values, intervals)

    def _row(
        self,
        key: str,
        label: str,
        say: Callable[[float], str],
        values: Sequence[float],
        intervals: Sequence[Interval | None] | None = None,
    ) -> MetricRow:
        first, *others = values
        found = [None] * len(others) if intervals is None else intervals[1:]
        return MetricRow(
            metric=Metric(key=key, label=label, say=say),
            values=tuple(values),
            differences=(
                None,
                *(
                    Difference(
                        value=value - first,
                        interval=one,
                        is_marked=self._alike and one is not None and one.excludes_none,
                    )
                    for value, one in zip(others, found, strict=True)
                ),
            ),
            ratios=tuple(ratio(value, first) for value in values),
        )


def ratio(value: float, first: float) -> float | None:
    """Give the ratio to a first value; ``None`` where that says nothing: to 0, or too small or large to be read."""
    found = value / first if first else 0.0
    return found if _READABLE[0] <= found < _READABLE[1] else None


def _week_edges(schedule: Schedule) -> NDArray[np.int64]:
    """Divide the time from the first to the last submission into weeks, of which the last may be shorter."""
    if not len(schedule):
        return np.array([0, 1], np.int64)
    first, last = int(schedule.submit.min()), int(schedule.submit.max())
    last = max(last, first + 1)
    return np.append(np.arange(first, last, WEEK, dtype=np.int64), last)


def weekly_utilisation(result: ReplayResult) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give the utilisation of each week from the first to the last submission, and the weeks' lengths in seconds."""
    edges = _week_edges(result.schedule)
    busy = steps.binned(steps.busy_processors(result.schedule), edges).mean
    return busy / max(result.machine_procs, 1), np.diff(edges)
