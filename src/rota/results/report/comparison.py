"""Comparison of several replays of one workload. The first is the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError
from rota.results.report import wording
from rota.results.report.distribution import size_classes, time_classes
from rota.results.report.groups import groupings
from rota.results.report.metrics import MEAN_SLOWDOWN, MEAN_WAIT, Metrics
from rota.results.report.promises import promises
from rota.results.report.run_names import telling_names
from rota.results.report.sameness import check_same_jobs, machine_rows, other_than_policy, policy_rows, setting_rows
from rota.results.report.tables import TOP, finished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.results.report.distribution import Classes
    from rota.results.report.groups import Grouping
    from rota.results.report.metrics import MetricRow
    from rota.results.report.promises import PromiseRow
    from rota.results.schedule import ReplayResult, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """What became of the jobs of a run, and how long it took to empty the machine."""

    name: str
    #: Number of jobs that ran to an end, that were refused, and all others.
    ran: int
    refused: int
    unfinished: int
    #: Number of faults of plugins, for each of which rota's default was used.
    faults: int
    #: Seconds from the last submission to the last end.
    drain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """Means of a class of jobs in all runs: wait in seconds, and bounded slowdown."""

    label: str
    jobs: int
    wait: MetricRow
    slowdown: MetricRow


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChange:
    """Waits of a user's jobs in the first two runs, in seconds."""

    user_id: int
    user: str
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
    user: str
    procs: int
    submit: int
    start: tuple[int, int]
    change: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs of one workload. Schedules are sorted by job number, so that row i is the same job in each."""

    names: tuple[str, ...]
    results: tuple[ReplayResult, ...]

    @cached_property
    def common(self) -> NDArray[np.intp]:
        """Rows of the jobs that all runs have run to an end: the figures are of these."""
        return np.flatnonzero(np.logical_and.reduce([finished(result.schedule) for result in self.results]))

    @cached_property
    def _others(self) -> list[str]:
        return other_than_policy(self.results, self.names)

    @property
    def is_alike(self) -> bool:
        """Whether policies alone differ, all ran the same jobs, and no plugin misbehaved: else nothing is marked."""
        ran = all(one.summary.jobs == len(self.common) and not one.summary.faults for one in self.results)
        return ran and not self._others

    @cached_property
    def figures(self) -> Metrics:
        """The figures."""
        return Metrics(self.results, self.common, alike=self.is_alike)

    def runs(self) -> list[RunRow]:
        """Say what became of the jobs in each run."""
        return [
            RunRow(
                name=name,
                ran=result.summary.jobs,
                refused=result.summary.refused,
                unfinished=result.summary.unfinished,
                faults=sum(result.summary.faults.values()),
                drain=_drain(result.schedule),
            )
            for name, result in zip(self.names, self.results, strict=True)
        ]

    def doubts(self) -> list[str]:
        """Say why the runs cannot be compared, or only in part: a sentence for each reason."""
        total, common = len(self.results[0].schedule), len(self.common)
        told = [
            f"{name}: {faults}"
            for name, result in zip(self.names, self.results, strict=True)
            if (faults := wording.faults(result))
        ]
        if any(result.summary.jobs != common for result in self.results):
            ran = "; ".join(f"{one.name}: {wording.count(one.ran)}" for one in self.runs())
            told.insert(
                0,
                f"These runs have not run the same jobs. Of {wording.count(total)} ran – {ran}. The figures are of the "
                f"{wording.count(common)} that all have run, and nothing is marked.",
            )
        return [*self._others, *told]

    def machines(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give what is counted of the machines in which the runs differ: label, and the text of each run."""
        return machine_rows(self.results)

    def policies(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the plugins in which the runs differ, and their files: label, and the text of each run."""
        return policy_rows(self.results)

    def settings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the settings in which the runs differ: key, and its value in each run; empty: not given."""
        return setting_rows(self.results)

    def by_size(self) -> list[ClassRow]:
        """Give mean wait and slowdown by number of processors."""
        return self._classes(size_classes(self.results[0].schedule.procs))

    def by_requested_time(self) -> list[ClassRow]:
        """Give mean wait and slowdown by requested time, as in the first run."""
        return self._classes(time_classes(self.results[0].schedule.time_limit))

    def groups(self) -> list[tuple[Grouping, list[ClassRow]]]:
        """Give mean wait and slowdown by partition, QOS, account and node type, as in the first run."""
        first = self.results[0]
        return [(one, self._classes(one.classes(first))) for one in groupings(first)]

    def promises(self) -> list[PromiseRow | None]:
        """Compare planned with actual starts in each run; ``None``: it planned nothing ahead."""
        return [next(reversed(promises(result.schedule, result.plans)), None) for result in self.results]

    def start_changes(self) -> list[StartChange]:
        """Compare the starts in each run with those in the first, which is included for equal indices."""
        changes = [self._moved(0, other)[1] for other in range(len(self.results))]
        return [
            StartChange(
                earlier=int((change < 0).sum()),
                later=int((change > 0).sum()),
                same=int((change == 0).sum()),
                mean_change=float(change.mean()) if len(change) else 0.0,
            )
            for change in changes
        ]

    def user_changes(self, one: int = 0, other: int = 1) -> list[UserChange]:
        """Give the changes of users from one run to another, the largest reduction of waits first."""
        both, change = self._moved(one, other)
        if not len(both):
            return []
        first, second = (self.results[run].schedule.wait[both] for run in (one, other))
        schedule = self.results[one].schedule
        names = schedule.user_names
        ids, row, who = np.unique(schedule.user_id[both], return_index=True, return_inverse=True)
        jobs, total = np.bincount(who), np.bincount(who, change)
        means = (np.bincount(who, first) / jobs, np.bincount(who, second) / jobs)
        return [
            UserChange(
                user_id=int(ids[i]),
                user=names[both[row[i]]],
                jobs=int(jobs[i]),
                mean_wait=(float(means[0][i]), float(means[1][i])),
                change=int(total[i]),
            )
            for i in np.lexsort((ids, total))
        ]

    def job_changes(self, one: int = 0, other: int = 1) -> tuple[list[JobChange], list[JobChange]]:
        """Give the jobs that one run started most earlier, and most later, than another."""
        both, change = self._moved(one, other)
        order = np.argsort(change, kind="stable")
        earlier = [int(i) for i in order[:TOP] if change[i] < 0]
        later = [int(i) for i in order[::-1][:TOP] if change[i] > 0]
        schedules = self.results[one].schedule, self.results[other].schedule
        return _job_rows(schedules, both, change, earlier), _job_rows(schedules, both, change, later)

    def _classes(self, classes: Classes) -> list[ClassRow]:
        return [
            ClassRow(
                label=label,
                jobs=int(members.sum()),
                wait=self.figures.of_class(MEAN_WAIT, members),
                slowdown=self.figures.of_class(MEAN_SLOWDOWN, members),
            )
            for label, members in zip(classes.labels, (mask[self.common] for mask in classes.members()), strict=True)
        ]

    def _moved(self, one: int, other: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Give the rows of jobs that both runs started, and the changes of their starts."""
        first, second = self.results[one].schedule.start, self.results[other].schedule.start
        both = np.flatnonzero((first >= 0) & (second >= 0))
        return both, second[both] - first[both]


def _job_rows(
    schedules: tuple[Schedule, Schedule], both: NDArray[np.intp], change: NDArray[np.int64], chosen: list[int]
) -> list[JobChange]:
    first, second = schedules
    names = first.user_names
    return [
        JobChange(
            job_id=int(first.job_id[row]),
            user=names[row],
            procs=int(first.procs[row]),
            submit=int(first.submit[row]),
            start=(int(first.start[row]), int(second.start[row])),
            change=int(change[i]),
        )
        for i, row in zip(chosen, both[chosen], strict=True)
    ]


def _drain(schedule: Schedule) -> int:
    """Give the seconds from the last submission to the last end; 0 if nothing has ended after it."""
    return max(int(schedule.end.max(initial=0)) - int(schedule.submit.max(initial=0)), 0)


def compare_results(
    results: Sequence[ReplayResult], names: Sequence[str] | None = None, folders: Sequence[str] | None = None
) -> Comparison:
    """Compare results.

    Args:
        results: At least two; the first is the reference.
        names: Names of the runs; by default made of what differs.
        folders: What tells runs apart beside that, see `telling_names`.

    Raises:
        InputError: there are fewer than two, they are of different workloads, or two have the same name.
    """
    if len(results) < 2:
        raise InputError("a comparison needs at least two results")
    called = telling_names(results, folders) if names is None else _checked(names, len(results))
    ordered = tuple(replace(result, schedule=_by_job(result.schedule)) for result in results)
    for result, name in zip(ordered[1:], called[1:], strict=True):
        check_same_jobs(ordered[0], result, called[0], name)
    return Comparison(names=called, results=ordered)


def _checked(names: Sequence[str], count: int) -> tuple[str, ...]:
    if len(names) != count:
        raise InputError(f"{len(names)} names for {count} runs: give one for each", field="--label")
    if len(set(names)) < count or not all(names):
        raise InputError("two runs have the same name, or one has none", field="--label")
    return tuple(names)


def _by_job(schedule: Schedule) -> Schedule:
    """Sort by job number."""
    return schedule.take(np.argsort(schedule.job_id, kind="stable"))
