"""The figures by which runs are compared, over the jobs that all of them have run."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    #: Whether it is marked: the interval excludes no difference, the runs differ in their policies alone, and it is
    #: larger than the error of the model.
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
    #: The error of the model: by how much the first run misses the figure as recorded; ``None``: that is not known.
    error: float | None = None


def say_difference(metric: Metric, one: Difference) -> str:
    """Format a difference with its interval: ``−00:05:00 (−00:09:00 to −00:02:00)``."""
    text = say_signed(metric, one.value)
    return text if one.interval is None else f"{text} ({say_interval(metric, one.interval)})"


def say_interval(metric: Metric, one: Interval) -> str:
    """Format an interval: ``−00:09:00 to −00:02:00``."""
    return f"{say_signed(metric, one.low)} to {say_signed(metric, one.high)}"


def say_signed(metric: Metric, value: float) -> str:
    """Format with a sign, none for what is shown as 0."""
    text = metric.say(abs(value))
    return text if text == metric.say(0) else f"{'−' if value < 0 else '+'}{text}"


class Metrics:
    """Computes the figures.

    Args:
        results: The runs; row i is the same job in each.
        common: Rows of the jobs that all have run to an end.
        alike: Whether these are all that any of them has run, and policies alone differ; else nothing is marked.

    Where the first run is of a described machine, it is a model of what was recorded, and no difference that is smaller
    than its error is marked. Where only processors are known, its policy need not be that of the record.
    """

    def __init__(self, results: Sequence[ReplayResult], common: NDArray[np.intp], *, alike: bool) -> None:
        self._results = results
        self._jobs = [result.schedule.take(common) for result in results]
        self._alike = alike
        self._bootstrap = Bootstrap(self._jobs[0])
        self._model = modelled(results[0], self._jobs[0])

    @property
    def unit(self) -> str:
        """What intervals are made of: ``weeks`` or ``users``; empty: there are none."""
        return self._bootstrap.unit

    @property
    def is_modelled(self) -> bool:
        """Whether the error of the model is known."""
        return self._model is not None

    def rows(self) -> list[MetricRow]:
        """Give all figures, in the order in which they are shown."""
        duration, makespans = wording.duration, [float(one.summary.makespan_s) for one in self._results]
        return [
            self._mean(MEAN_WAIT),
            self._quantile("median_wait_s", "Median wait", duration, _wait, 0.5),
            self._quantile("p95_wait_s", "95th percentile wait", duration, _wait, 0.95),
            self._row(_LONGEST_WAIT, [_longest(jobs) for jobs in self._jobs], error=self._error(_longest)),
            self._mean(MEAN_SLOWDOWN),
            self._quantile("median_bounded_slowdown", "Median bounded slowdown", wording.decimal, _slowdown, 0.5),
            self._utilisation(),
            self._row(Metric(key="makespan_s", label="Makespan", say=duration), makespans),
        ]

    def of_class(self, metric: Metric, members: NDArray[np.bool_]) -> MetricRow:
        """Give `MEAN_WAIT` or `MEAN_SLOWDOWN` of some of the jobs.

        Args:
            metric: Which of them.
            members: A mask over the jobs that all runs have run to an end.
        """
        return self._mean(metric, members)

    def _mean(self, metric: Metric, members: NDArray[np.bool_] | None = None) -> MetricRow:
        of = _MEANS[metric.key]
        rows = None if members is None else np.flatnonzero(members)
        values = [of(jobs) if rows is None else of(jobs)[rows] for jobs in self._jobs]
        means = [float(one.mean()) if len(one) else 0.0 for one in values]
        intervals = [self._bootstrap.of_means(values[0], one, rows) for one in values]
        error = self._error(lambda jobs: float(of(jobs).mean()), members)
        return self._row(metric, means, intervals, error=error)

    def _quantile(
        self, key: str, label: str, say: Callable[[float], str], of: Callable[[Schedule], Numbers], share: float
    ) -> MetricRow:
        values = [of(jobs) for jobs in self._jobs]
        found = [float(np.quantile(one, share)) if len(one) else 0.0 for one in values]
        intervals = [self._bootstrap.of_quantiles(values[0], one, share) for one in values]
        error = self._error(lambda jobs: float(np.quantile(of(jobs), share)))
        return self._row(Metric(key=key, label=label, say=say), found, intervals, error=error)

    def _error(self, figure: Callable[[Schedule], float], members: NDArray[np.bool_] | None = None) -> float | None:
        """Give by how much the first run misses a figure of the record, over jobs whose recorded waits are known."""
        if self._model is None:
            return None
        recorded, replayed, known = self._model
        if members is not None:
            rows = np.flatnonzero(members[known])
            recorded, replayed = recorded.take(rows), replayed.take(rows)
        return abs(figure(replayed) - figure(recorded)) if len(recorded) else None

    def _utilisation(self) -> MetricRow:
        """Compare utilisation from the first to the last submission: after that the machine only empties."""
        weeks = [weekly_utilisation(result)[0] for result in self._results]
        widths = np.diff(_week_edges(self._results[0].schedule))
        values = [float((one * widths).sum() / max(widths.sum(), 1)) for one in weeks]
        whole = widths == WEEK
        intervals = [interval_of_weeks(weeks[0][whole], one[whole]) for one in weeks]
        metric = Metric(key="utilisation", label="Utilisation until the last submission", say=wording.percent)
        return self._row(metric, values, intervals)

    def _row(
        self,
        metric: Metric,
        values: Sequence[float],
        intervals: Sequence[Interval | None] | None = None,
        *,
        error: float | None = None,
    ) -> MetricRow:
        first, *others = values
        found = [None] * len(others) if intervals is None else intervals[1:]
        return MetricRow(
            metric=metric,
            values=tuple(values),
            differences=(
                None,
                *(
                    Difference(
                        value=value - first,
                        interval=one,
                        is_marked=self._alike
                        and one is not None
                        and one.excludes_none
                        and abs(value - first) > (error or 0.0),
                    )
                    for value, one in zip(others, found, strict=True)
                ),
            ),
            ratios=tuple(ratio(value, first) for value in values),
            error=error,
        )


def _wait(jobs: Schedule) -> Numbers:
    return jobs.wait


def _slowdown(jobs: Schedule) -> Numbers:
    return jobs.bounded_slowdown


def _longest(jobs: Schedule) -> float:
    return float(jobs.wait.max(initial=0))


MEAN_WAIT = Metric(key="mean_wait_s", label="Mean wait", say=wording.duration)
MEAN_SLOWDOWN = Metric(key="mean_bounded_slowdown", label="Mean bounded slowdown", say=wording.decimal)
_LONGEST_WAIT = Metric(key="max_wait_s", label="Longest wait", say=wording.duration)
_MEANS: dict[str, Callable[[Schedule], Numbers]] = {MEAN_WAIT.key: _wait, MEAN_SLOWDOWN.key: _slowdown}


def model_errors(result: ReplayResult, jobs: Schedule) -> dict[str, float | None]:
    """Give by how much a run misses `MEAN_WAIT` and `MEAN_SLOWDOWN` as recorded, by their keys; ``None``: not known."""
    model = modelled(result, jobs)
    if model is None:
        return dict.fromkeys(_MEANS)
    recorded, replayed, _ = model
    return {key: abs(float(of(replayed).mean()) - float(of(recorded).mean())) for key, of in _MEANS.items()}


def modelled(result: ReplayResult, jobs: Schedule) -> tuple[Schedule, Schedule, NDArray[np.intp]] | None:
    """Give the jobs of a run as recorded and as replayed, and their rows; ``None``: it is no model of the record.

    It is one if it is of a described machine, and the waits of most jobs are known.
    """
    known = np.flatnonzero(jobs.compared)
    if not any(one.role == "config" for one in result.provenance.files) or len(known) * 2 <= len(jobs):
        return None
    replayed = jobs.take(known)
    recorded = replayed.recorded_wait
    if recorded is None:
        return None
    start = replayed.submit + recorded
    return replace(replayed, start=start, end=start + replayed.run), replayed, known


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
