"""One queue under two policies: what becomes of it in the same futures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from rota.forecast.future import waiting_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.core import Engine
    from rota.core.job import Job
    from rota.forecast.future import Outcome

#: Seconds from now within which starts are counted.
WITHIN = (3_600, 6 * 3_600, 86_400, 7 * 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What becomes of jobs under one policy, on average over the futures. Times are seconds."""

    #: Of the jobs that start under both policies, from their submission.
    mean_wait: float
    median_wait: float
    max_wait: float
    #: Number of jobs that have started within each of the times `WITHIN`.
    started_within: tuple[float, ...]
    #: Number of jobs that do not start, or later than could be looked ahead.
    not_started: float
    #: From now to the end of the last job; ``None``: that is later than could be looked ahead.
    makespan: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A job that starts sooner or later."""

    job: str
    name: str
    user: str
    #: Mean starts, Unix seconds.
    present: int
    other: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A queue under the present policy and another one."""

    jobs: int
    #: Up to when there was time to look in all futures, Unix seconds; ``None``: to the end.
    reached: int | None
    present: Figures
    other: Figures
    #: By name of the group: number of jobs, and mean waits under the two policies in seconds.
    groups: Mapping[str, tuple[int, float, float]]
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
    both = [present.starts.keys() & other.starts.keys() for present, other in futures]
    figures = [
        [_figures(jobs, pair[side], known, now) for pair, known in zip(futures, both, strict=True)] for side in (0, 1)
    ]
    reached = [one.reached for pair in futures for one in pair if one.reached is not None]
    differences = []
    groups: dict[str, list[tuple[float, float]]] = {}
    for key, job in jobs.items():
        pairs = [
            (one.starts[key], two.starts[key]) for (one, two), known in zip(futures, both, strict=True) if key in known
        ]
        if not pairs:
            continue
        present, other = fmean(one for one, _ in pairs), fmean(two for _, two in pairs)
        line = engine.view.line(job)
        differences.append(
            Difference(job=key, name=line.name, user=line.user, present=round(present), other=round(other))
        )
        if group is not None:
            groups.setdefault(group(job), []).append((present - job.submit_time, other - job.submit_time))
    return Comparison(
        jobs=len(jobs),
        reached=min(reached, default=None),
        present=_mean(figures[0]),
        other=_mean(figures[1]),
        groups={
            name: (len(waits), fmean(one for one, _ in waits), fmean(two for _, two in waits))
            for name, waits in sorted(groups.items())
        },
        differences=sorted(differences, key=lambda one: -abs(one.other - one.present)),
    )


def _figures(jobs: Mapping[str, Job], outcome: Outcome, known: set[str], now: int) -> Figures:
    waits = [outcome.starts[key] - jobs[key].submit_time for key in known] or [0]
    return Figures(
        mean_wait=fmean(waits),
        median_wait=median(waits),
        max_wait=max(waits),
        started_within=tuple(sum(start <= now + within for start in outcome.starts.values()) for within in WITHIN),
        not_started=len(jobs) - len(outcome.starts),
        makespan=None if outcome.reached is not None else max(outcome.ends.values(), default=now) - now,
    )


def _mean(figures: Sequence[Figures]) -> Figures:
    spans = [one.makespan for one in figures]
    return Figures(
        mean_wait=fmean(one.mean_wait for one in figures),
        median_wait=fmean(one.median_wait for one in figures),
        max_wait=fmean(one.max_wait for one in figures),
        started_within=tuple(map(fmean, zip(*(one.started_within for one in figures), strict=True))),
        not_started=fmean(one.not_started for one in figures),
        makespan=None if None in spans else fmean(span for span in spans if span is not None),
    )
