"""Comparison of several replays of one workload. The first is the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError
from rota.results.report import wording
from rota.results.report.distribution import size_classes, time_classes
from rota.results.report.groups import groupings
from rota.results.report.metrics import Metrics
from rota.results.report.promises import promises
from rota.results.report.tables import TOP, finished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.results.report.distribution import Classes
    from rota.results.report.groups import Grouping
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
    mean_wait: tuple[float, ...]
    mean_bounded_slowdown: tuple[float, ...]


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

    @property
    def is_alike(self) -> bool:
        """Whether all runs have run the same jobs, and no plugin misbehaved: else nothing is marked."""
        return all(one.summary.jobs == len(self.common) and not one.summary.faults for one in self.results)

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
        return told

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
        ran = np.zeros(len(self.results[0].schedule), bool)
        ran[self.common] = True
        waits = [result.schedule.wait for result in self.results]
        slowdowns = [result.schedule.bounded_slowdown for result in self.results]
        return [
            ClassRow(
                label=label,
                jobs=int((members & ran).sum()),
                mean_wait=tuple(_mean(v, members & ran) for v in waits),
                mean_bounded_slowdown=tuple(_mean(v, members & ran) for v in slowdowns),
            )
            for label, members in zip(classes.labels, classes.members(), strict=True)
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
    """Name runs by what differs: scheduler, priority, settings, files. Without a difference, by the scheduler."""
    settings = [_settings(result) for result in results]
    same = set(settings[0]).intersection(*settings)
    columns = [
        [result.scheduler for result in results],
        [result.priority for result in results],
        [" ".join(one for one in mine if one not in same) for mine in settings],
        *(_files(results, role) for role in _roles(results)),
        [f"rota {result.provenance.version}" for result in results],
    ]
    telling = [columns[0], *(column for column in columns[1:] if len(set(column)) > 1)]
    return distinct([", ".join(filter(None, parts)) for parts in zip(*telling, strict=True)])


def _settings(result: ReplayResult) -> tuple[str, ...]:
    return result.provenance.settings or tuple(filter(None, [result.options]))


def _roles(results: Sequence[ReplayResult]) -> list[str]:
    """Name the kinds of files that were read, the workload excepted: it is the same."""
    return list(
        dict.fromkeys(one.role for result in results for one in result.provenance.files if one.role != "workload")
    )


def _files(results: Sequence[ReplayResult], role: str) -> list[str]:
    """Name the files of a kind, with the beginning of the hash where names do not tell them apart."""
    files = [[one for one in result.provenance.files if one.role == role] for result in results]
    names = [" ".join(PurePath(one.path).name for one in mine) for mine in files]
    hashes = [" ".join(one.sha256[:8] for one in mine) for mine in files]
    if len(set(hashes)) > len(set(names)):
        return [f"{name} {digest}".strip() for name, digest in zip(names, hashes, strict=True)]
    return names if len(set(hashes)) > 1 else [""] * len(results)


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
