"""Comparison of several replays of one workload. The first is the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError
from rota.results.report import wording
from rota.results.report.distribution import size_classes, time_classes
from rota.results.report.tables import TOP, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.results.report.distribution import Classes
    from rota.results.schedule import ReplayResult, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure by which runs are compared; ``say`` formats it."""

    key: str
    label: str
    better: str
    say: Callable[[float], str]
    compute: Callable[[ReplayResult], float]


def _wait_quantile(share: float) -> Callable[[ReplayResult], float]:
    def compute(result: ReplayResult) -> float:
        wait = result.schedule.wait[finished(result.schedule)]
        return float(np.quantile(wait, share)) if len(wait) else 0.0

    return compute


def _median_slowdown(result: ReplayResult) -> float:
    slowdown = result.schedule.bounded_slowdown[finished(result.schedule)]
    return float(np.median(slowdown)) if len(slowdown) else 0.0


#: Metrics of ``rota compare``, in this order. ``better`` is ``low`` or ``high``.
METRICS = tuple(
    Metric(key=key, label=label, better=better, say=say, compute=compute)
    for key, label, better, say, compute in (
        ("mean_wait_s", "Mean wait", "low", wording.duration, lambda r: r.summary.mean_wait_s),
        ("median_wait_s", "Median wait", "low", wording.duration, _wait_quantile(0.5)),
        ("p95_wait_s", "95th percentile wait", "low", wording.duration, _wait_quantile(0.95)),
        ("max_wait_s", "Longest wait", "low", wording.duration, lambda r: r.summary.max_wait_s),
        ("mean_bounded_slowdown", "Mean bounded slowdown", "low", wording.decimal,
         lambda r: r.summary.mean_bounded_slowdown),
        ("median_bounded_slowdown", "Median bounded slowdown", "low", wording.decimal, _median_slowdown),
        ("utilisation", "Utilisation", "high", wording.percent, lambda r: r.summary.utilisation),
        ("makespan_s", "Makespan", "low", wording.duration, lambda r: r.summary.makespan_s),
        ("us_per_job", "Replay, µs a job", "low", wording.decimal, lambda r: r.summary.us_per_job),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """A metric of all runs."""

    metric: Metric
    values: tuple[float, ...]
    #: Ratio of each value to that of the first run; ``None`` if that is 0.
    ratios: tuple[float | None, ...]
    #: Indices of the runs with the best value; empty if all are equal.
    best: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """Means of a class of jobs in all runs: wait in seconds, and bounded slowdown."""

    label: str
    jobs: int
    mean_wait: tuple[float, ...]
    mean_bounded_slowdown: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChange:
    """Waits of a user's jobs in the first two runs, in seconds."""

    user_id: int
    jobs: int
    mean_wait: tuple[float, float]
    #: Sum of the changes of all waits in seconds; negative: shorter in the second run.
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChange:
    """How many jobs started at another time than in the first run, and the change."""

    earlier: int
    later: int
    same: int
    #: Mean change in seconds, over jobs that both runs started; negative: earlier.
    mean_change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A job whose start differs in the first two runs. Times are Unix seconds, ``change`` is seconds."""

    job_id: int
    user_id: int
    procs: int
    submit: int
    start: tuple[int, int]
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs of one workload. Schedules are sorted by job number, so that row i is the same job in each."""

    names: tuple[str, ...]
    results: tuple[ReplayResult, ...]

    def metrics(self) -> list[MetricRow]:
        """Give all metrics."""
        return [self._metric(metric) for metric in METRICS]

    def by_size(self) -> list[ClassRow]:
        """Give mean wait and slowdown by number of processors."""
        return self._classes(size_classes(self.results[0].schedule.procs))

    def by_requested_time(self) -> list[ClassRow]:
        """Give mean wait and slowdown by requested time, as in the first run."""
        return self._classes(time_classes(self.results[0].schedule.time_limit))

    def start_changes(self) -> list[StartChange]:
        """Compare the starts in each run with those in the first, which is included for equal indices."""
        changes = [self._moved(other)[1] for other in range(len(self.results))]
        return [
            StartChange(
                earlier=int((change < 0).sum()),
                later=int((change > 0).sum()),
                same=int((change == 0).sum()),
                mean_change=float(change.mean()) if len(change) else 0.0,
            )
            for change in changes
        ]

    def user_changes(self) -> list[UserChange]:
        """Give the changes of users in the first two runs, the largest reduction of waits first."""
        both, change = self._moved(1)
        if not len(both):
            return []
        first, second = (result.schedule.wait[both] for result in self.results[:2])
        ids, who = np.unique(self.results[0].schedule.user_id[both], return_inverse=True)
        jobs, total = np.bincount(who), np.bincount(who, change)
        means = (np.bincount(who, first) / jobs, np.bincount(who, second) / jobs)
        return [
            UserChange(
                user_id=int(ids[i]),
                jobs=int(jobs[i]),
                mean_wait=(float(means[0][i]), float(means[1][i])),
                change=int(total[i]),
            )
            for i in np.lexsort((ids, total))
        ]

    def job_changes(self) -> tuple[list[JobChange], list[JobChange]]:
        """Give the jobs that the second run started most earlier, and most later, than the first."""
        both, change = self._moved(1)
        order = np.argsort(change, kind="stable")
        earlier = [int(i) for i in order[:TOP] if change[i] < 0]
        later = [int(i) for i in order[::-1][:TOP] if change[i] > 0]
        return self._job_rows(both, change, earlier), self._job_rows(both, change, later)

    def _metric(self, metric: Metric) -> MetricRow:
        values = tuple(metric.compute(result) for result in self.results)
        best = min(values) if metric.better == "low" else max(values)
        winners = frozenset(i for i, value in enumerate(values) if value == best)
        return MetricRow(
            metric=metric,
            values=values,
            ratios=tuple(value / values[0] if values[0] else None for value in values),
            best=winners if len(winners) < len(values) else frozenset(),
        )

    def _classes(self, classes: Classes) -> list[ClassRow]:
        masks = [finished(result.schedule) for result in self.results]
        waits = [result.schedule.wait for result in self.results]
        slowdowns = [result.schedule.bounded_slowdown for result in self.results]
        return [
            ClassRow(
                label=label,
                jobs=int(members.sum()),
                mean_wait=tuple(_mean(v, members & ran) for v, ran in zip(waits, masks, strict=True)),
                mean_bounded_slowdown=tuple(_mean(v, members & ran) for v, ran in zip(slowdowns, masks, strict=True)),
            )
            for label, members in zip(classes.labels, classes.members(), strict=True)
        ]

    def _moved(self, other: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Give the rows of jobs that both the first and another run started, and the changes of their starts."""
        first, second = self.results[0].schedule.start, self.results[other].schedule.start
        both = np.flatnonzero((first >= 0) & (second >= 0))
        return both, second[both] - first[both]

    def _job_rows(self, both: NDArray[np.intp], change: NDArray[np.int64], chosen: list[int]) -> list[JobChange]:
        first, second = self.results[0].schedule, self.results[1].schedule
        return [
            JobChange(
                job_id=int(first.job_id[row]),
                user_id=int(first.user_id[row]),
                procs=int(first.procs[row]),
                submit=int(first.submit[row]),
                start=(int(first.start[row]), int(second.start[row])),
                change=int(change[i]),
            )
            for i, row in zip(chosen, both[chosen], strict=True)
        ]


def compare_results(results: Sequence[ReplayResult], names: Sequence[str] | None = None) -> Comparison:
    """Compare results.

    Args:
        results: At least two; the first is the reference.
        names: Names of the runs; by default made of what differs.

    Raises:
        InputError: there are fewer than two, or they are of different workloads.
    """
    if len(results) < 2:
        raise InputError("a comparison needs at least two results")
    called = tuple(names) if names is not None else _telling_names(results)
    ordered = tuple(replace(result, schedule=_by_job(result.schedule)) for result in results)
    for result, name in zip(ordered[1:], called[1:], strict=True):
        _check_same_workload(ordered[0], result, called[0], name)
    return Comparison(names=called, results=ordered)


def _by_job(schedule: Schedule) -> Schedule:
    """Sort by job number."""
    return schedule.take(np.argsort(schedule.job_id, kind="stable"))


def _check_same_workload(first: ReplayResult, other: ReplayResult, first_name: str, name: str) -> None:
    """Compare job numbers and submit times: equal file names do not suffice."""
    ours, theirs = first.schedule, other.schedule
    if len(ours) != len(theirs):
        why = f"{len(theirs)} jobs against {len(ours)}"
    elif not np.array_equal(ours.job_id, theirs.job_id):
        row = int(np.argmax(ours.job_id != theirs.job_id))
        why = f"job {theirs.job_id[row]} against job {ours.job_id[row]}"
    elif not np.array_equal(ours.submit, theirs.submit):
        row = int(np.argmax(ours.submit != theirs.submit))
        why = f"job {ours.job_id[row]} submitted at {theirs.submit[row]} against {ours.submit[row]}"
    else:
        return
    raise InputError(f"{name} is of another workload than {first_name}: {why}")


def _telling_names(results: Sequence[ReplayResult]) -> tuple[str, ...]:
    """Name runs by scheduler and, if these are equal, by priority and options; numbered if all are equal."""
    parts = [(result.scheduler, result.priority, result.options) for result in results]
    telling = [0, *(i for i in (1, 2) if len({part[i] for part in parts}) > 1)]
    return distinct([", ".join(part[i] for i in telling if part[i]) for part in parts])


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that occur more than once: ``a``, ``b``, ``a (2)``."""
    seen: Counter[str] = Counter()
    called = []
    for name in names:
        seen[name] += 1
        called.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return tuple(called)


def _mean(values: NDArray[np.int64] | NDArray[np.float64], members: NDArray[np.bool_]) -> float:
    return float(values[members].mean()) if members.any() else 0.0
