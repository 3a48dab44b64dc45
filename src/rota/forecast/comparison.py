"""One queue under two policies: what becomes of it in the same futures.

A figure is compared over the jobs that start under both policies, and the difference is that of each future: the run
times in it are the same for both. Its interval is Student's over the futures; where all futures agree it is exact, and
of one future there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from rota.forecast.future import waiting_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.core import Engine
    from rota.core.job import Job
    from rota.forecast.future import Outcome

#: Seconds from now within which starts are counted.
WITHIN = (3_600, 6 * 3_600, 86_400, 7 * 86_400)
#: Figures that are compared future by future.
COMPARED = ("mean_wait", "median_wait", "max_wait", "makespan")
#: 97.5 % quantiles of Student's t distribution, by degrees of freedom from 1 on (its table in any textbook), and of the
#: normal distribution, which it tends to.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.960
#: Least number of futures for the interval of one job: the clock of a future is coarse, and a few may agree by chance.
_OF_JOB = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What becomes of jobs under one policy, on average over the futures. Times are seconds."""

    #: Of the jobs that start under both policies, from their submission; ``None``: there is none in some future.
    mean_wait: float | None
    median_wait: float | None
    max_wait: float | None
    #: Number of jobs that have started within each of the times `WITHIN`; ``None``: that is later than could be looked
    #: ahead, and some had not started by then.
    started_within: tuple[float | None, ...]
    #: Number of jobs that do not start, or later than could be looked ahead.
    not_started: float
    #: From now to the end of the last job; ``None``: that is later than could be looked ahead, or the two policies
    #: start different jobs, of which the last ends cannot be compared.
    makespan: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of a figure, on average over the futures, with its 95 % interval. Seconds."""

    mean: float
    #: ``None``: there are too few futures.
    low: float | None
    high: float | None

    @property
    def is_marked(self) -> bool:
        """Whether the interval excludes no change."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A job that starts sooner or later."""

    job: str
    name: str
    user: str
    #: Mean starts, Unix seconds.
    present: int
    other: int
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A queue under the present policy and another one."""

    jobs: int
    #: Up to when there was time to look in all futures, Unix seconds; ``None``: to the end.
    reached: int | None
    present: Figures
    other: Figures
    #: Changes of the figures `COMPARED` that both policies have.
    changes: Mapping[str, Change]
    #: Number of jobs that start under one policy in some future, and under the other in none: under the present one,
    #: and under the other one.
    lost: int
    gained: int
    #: By name of the group: number of jobs that start under both, mean waits under the two policies in seconds, and
    #: the change of these.
    groups: Mapping[str, tuple[int, float, float, Change]]
    #: All jobs that start under both, those with the largest difference first.
    differences: Sequence[Difference]


def compare(
    engine: Engine,
    futures: Sequence[tuple[Outcome, Outcome]],
    now: int,
    group: Callable[[Job], str] | None = None,
) -> Comparison:
    """Compare the outcomes of two policies.

    Args:
        engine: The engine as it is now.
        futures: The outcomes of the present policy and the other one.
        now: The time now, Unix seconds.
        group: Gives the group of a job; ``None``: there are none.
    """
    jobs = waiting_jobs(engine)
    figures = [_figures(jobs, pair, now) for pair in futures]
    reached = min((one.reached for pair in futures for one in pair if one.reached is not None), default=None)
    ahead = None if reached is None else reached - now
    ever = [{key for pair in futures for key in pair[side].starts} for side in (0, 1)]
    differences = []
    groups: dict[str, list[str]] = {}
    for key, job in jobs.items():
        pairs = [(one.starts[key], two.starts[key]) for one, two in futures if key in one.starts and key in two.starts]
        if not pairs:
            continue
        present, other = fmean(one for one, _ in pairs), fmean(two for _, two in pairs)
        line = engine.view.line(job)
        differences.append(
            Difference(
                job=key,
                name=line.name,
                user=line.user,
                present=round(present),
                other=round(other),
                change=_change([two - one for one, two in pairs], least=_OF_JOB),
            )
        )
        if group is not None:
            groups.setdefault(group(job), []).append(key)
    return Comparison(
        jobs=len(jobs),
        reached=reached,
        present=_as_far_as(_mean([one for one, _ in figures]), ahead),
        other=_as_far_as(_mean([two for _, two in figures]), ahead),
        changes=_changes(figures),
        lost=len(ever[0] - ever[1]),
        gained=len(ever[1] - ever[0]),
        groups={name: _group(jobs, keys, futures) for name, keys in sorted(groups.items())},
        differences=sorted(differences, key=lambda one: -abs(one.other - one.present)),
    )


def _group(
    jobs: Mapping[str, Job], keys: Sequence[str], futures: Sequence[tuple[Outcome, Outcome]]
) -> tuple[int, float, float, Change]:
    """Give the mean waits of some jobs, of those that start under both policies in each future; see `Comparison`."""
    waits = [
        tuple(fmean(outcome.starts[key] - jobs[key].submit_time for key in both) for outcome in pair)
        for pair in futures
        if (both := [key for key in keys if all(key in outcome.starts for outcome in pair)])
    ]
    present, other = (fmean(column) for column in zip(*waits, strict=True))
    return len(keys), present, other, _change([two - one for one, two in waits])


def _figures(jobs: Mapping[str, Job], pair: tuple[Outcome, Outcome], now: int) -> tuple[Figures, Figures]:
    """Give the figures of one future under both policies."""
    known = pair[0].starts.keys() & pair[1].starts.keys()
    same = pair[0].starts.keys() == pair[1].starts.keys() and all(one.reached is None for one in pair)
    one, two = (
        Figures(
            mean_wait=fmean(waits) if waits else None,
            median_wait=median(waits) if waits else None,
            max_wait=max(waits, default=None),
            started_within=tuple(sum(start <= now + within for start in outcome.starts.values()) for within in WITHIN),
            not_started=len(jobs) - len(outcome.starts),
            makespan=max(outcome.ends.values(), default=now) - now if same else None,
        )
        for outcome in pair
        for waits in [[outcome.starts[key] - jobs[key].submit_time for key in known]]
    )
    return one, two


def _mean(figures: Sequence[Figures]) -> Figures:
    """Give the means over the futures."""

    def mean(name: str) -> float | None:
        found = [getattr(one, name) for one in figures]
        return None if None in found else fmean(found)

    return Figures(
        mean_wait=mean("mean_wait"),
        median_wait=mean("median_wait"),
        max_wait=mean("max_wait"),
        started_within=tuple(map(fmean, zip(*(one.started_within for one in figures), strict=True))),
        not_started=fmean(one.not_started for one in figures),
        makespan=mean("makespan"),
    )


def _as_far_as(figures: Figures, ahead: int | None) -> Figures:
    """Leave out how many jobs start within times that are further than could be looked ahead; ``None``: to the end."""
    if ahead is None or not figures.not_started:
        return figures
    known = [count if within <= ahead else None for within, count in zip(WITHIN, figures.started_within, strict=True)]
    return replace(figures, started_within=tuple(known))


def _changes(figures: Sequence[tuple[Figures, Figures]]) -> dict[str, Change]:
    found = {}
    for name in COMPARED:
        pairs = [(getattr(one, name), getattr(two, name)) for one, two in figures]
        if all(None not in pair for pair in pairs):
            found[name] = _change([two - one for one, two in pairs])
    return found


def _change(values: Sequence[float], least: int = 2) -> Change:
    """Give the mean of some values with Student's interval, if there are so many."""
    mean, count = fmean(values), len(values)
    if count < least:
        return Change(mean=mean, low=None, high=None)
    freedom = count - 1
    factor = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL
    half = factor * stdev(values) / sqrt(count)
    return Change(mean=mean, low=mean - half, high=mean + half)
