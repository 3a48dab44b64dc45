"""How long jobs will run, as parts of their time limits, from what past jobs took.

The past of a job are the last runs of four groups: jobs of its user, account, name (without digits) and time limit;
all jobs of its user; all with its time limit; all jobs. A run counts once, in the narrowest group. A group of *n* runs
counts *n* to ten against all wider ones together, and what the last one leaves is left to what is known of any job: so
the next job is drawn from Pólya's urn (Blackwell and MacQueen, "Ferguson distributions via Pólya urn schemes", Annals
of Statistics 1, 1973), one urn filled from another as by Teh, Jordan, Beal and Blei ("Hierarchical Dirichlet
Processes", JASA 101, 2006). Few runs leave much to ignorance, and make the distribution wide; many make it theirs.

Ignorance is half of it about how much of the time limit a job uses, which is about even in many logs (Mu'alem and
Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates", IEEE TPDS 12, 2001), and half about the
order of magnitude of its run time, from a second on, even in the logarithm (Jeffreys, "An invariant form for the prior
probability in estimation problems", 1946): jobs that fail at once are as many in all logs. Without a time limit only
the order of magnitude is left.

Jobs that still run count too: they take longer than they have so far. Without them a cluster on which long jobs have
begun lately would only know the short ones (Kaplan and Meier, 1958; with such a prior Susarla and Van Ryzin,
"Nonparametric Bayesian Estimation of Survival Curves from Incomplete Observations", JASA 71, 1976).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict, deque
from itertools import accumulate
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from rota.model import YEAR

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

    from rota.core.job import Job

#: Number of the last runs of a group that count, and of all jobs.
_OF_GROUP, _OF_ALL = 50, 200
#: Number of runs with which a group counts as much as all wider ones together.
_HALF = 10
#: Number of parts, evenly spaced, for each half of ignorance.
_PARTS = 10
_DIGITS = re.compile(r"\d+")
_NORMAL = NormalDist()


class PastRun(NamedTuple):
    """A run of a job, ended or not."""

    user: str
    account: str
    name: str
    #: Seconds.
    time_limit: int
    #: Seconds that it took, or has taken so far.
    took: int
    #: When it ended, Unix seconds; ``None``: it still runs.
    end: int | None = 0


class Learned(NamedTuple):
    """From what run times are learned."""

    #: Number of jobs that have ended.
    jobs: int
    #: When the first and the last of them ended, Unix seconds; ``None``: there is none.
    first_end: int | None
    last_end: int | None


class _Run(NamedTuple):
    """A run in its groups."""

    #: Each run has another one.
    number: int
    part: float
    runs_on: bool


class Seen(NamedTuple):
    """A run, as a part of its time limit."""

    part: float
    #: Whether it still runs: it takes longer than that.
    runs_on: bool
    weight: float


class Distribution:
    """A distribution of parts of the time limit, from 0 to 1: the product-limit estimate of Kaplan and Meier.

    Args:
        seen: The runs, with weights that sum up to 1. The longest one has ended.
    """

    def __init__(self, seen: Iterable[Seen]) -> None:
        at_risk = surviving = 1.0
        parts: list[float] = []
        weights: list[float] = []
        for part, runs_on, weight in sorted(seen):
            if not runs_on and at_risk > 0:
                parts.append(part)
                weights.append(surviving * min(weight / at_risk, 1.0))
                surviving -= weights[-1]
            at_risk -= weight  # what still runs leaves its weight to those that take longer
        self._parts, self._up_to = tuple(parts), tuple(accumulate(weights))

    def at(self, chance: float, *, over: float = -1.0) -> float:
        """Give the quantile of a probability, among the runs that take longer than ``over``; by default among all."""
        known = bisect_right(self._parts, over)
        before = self._up_to[known - 1] if known else 0.0
        place = bisect_right(self._up_to, before + chance * (self._up_to[-1] - before))
        return max(self._parts[min(place, len(self._parts) - 1)], over)


class RunTimes:
    """Distributions of run times.

    Args:
        past: Past and present runs, oldest first.
    """

    def __init__(self, past: Iterable[PastRun]) -> None:
        self._groups: defaultdict[Hashable, deque[_Run]] = defaultdict(lambda: deque(maxlen=_OF_GROUP))
        self._all: deque[_Run] = deque(maxlen=_OF_ALL)
        self._known: dict[Hashable, Distribution] = {}
        ends: list[int] = []
        taught: set[Hashable] = set()
        for number, run in enumerate(past):
            seen = _Run(number, min(run.took / run.time_limit, 1.0), run.end is None)
            groups = _groups(run.user, run.account, run.name, run.time_limit)
            for group in groups:
                self._groups[group].append(seen)
            self._all.append(seen)
            if run.end is not None:
                ends.append(run.end)
                taught.add(groups[0])
        self.learned = Learned(len(ends), min(ends, default=None), max(ends, default=None))
        #: Correlation of the luck of all jobs in a future, see `Draws`.
        self.common = 1 / (len(taught) + 1)

    def of(self, job: Job) -> tuple[Hashable, Distribution]:
        """Give the narrowest group of a job, and the distribution of its run time."""
        groups = _groups(job.user_name, job.spec.account, job.spec.name, job.time_limit)
        found = self._known.get(groups[0])
        if found is None:
            runs = [*(self._groups.get(group, ()) for group in groups), self._all]
            found = self._known[groups[0]] = Distribution(_pooled(runs, job.time_limit))
        return groups[0], found


def _pooled(groups: Iterable[Collection[_Run]], time_limit: int) -> Iterator[Seen]:
    """Give the runs of groups, the narrowest first, with their weights; then what is known of any job."""
    left = 1.0
    counted: set[int] = set()
    for group in groups:
        runs = [run for run in group if run.number not in counted]
        counted.update(run.number for run in runs)
        share = left * len(runs) / (len(runs) + _HALF)
        for run in runs:
            yield Seen(run.part, run.runs_on, share / len(runs))
        left -= share
    parts = _anything(time_limit)
    for part in parts:
        yield Seen(part, False, left / len(parts))


def _anything(time_limit: int) -> list[float]:
    """Give what is assumed of a job of which nothing is known, as parts of its time limit in seconds."""
    steps = [number / _PARTS for number in range(1, _PARTS + 1)]
    magnitudes = [time_limit ** (step - 1) for step in steps]
    return magnitudes if time_limit >= YEAR else steps + magnitudes


def _groups(user: str, account: str, name: str, time_limit: int) -> tuple[Hashable, ...]:
    return (user, account, _DIGITS.sub("", name), time_limit), user, time_limit


def job_key(job: Job) -> str:
    """Give the name of a job in all futures: ``17``, or ``17_3`` for a task of an array."""
    return str(job.job_id) if job.array is None else f"{job.array.job_id}_{job.task_id}"


class Draws:
    """The run times of one future, which do not depend on the order in which they are asked for.

    The jobs of a group are all quick or all slow: those of one user and name succeed and fail together, and a burst of
    them does not average out. What holds for all groups is not known either, as long as few have taught it: they have a
    part of their luck in common. After *n* groups the correlation is 1 in *n* + 1, that of two normal observations to
    come after *n* others whose mean is all that is known (Gelman et al., "Bayesian Data Analysis", 3.2).

    Args:
        run_times: Their distributions.
        seed: Number of the future: the same one gives the same run times.
    """

    def __init__(self, run_times: RunTimes, seed: int) -> None:
        self._run_times = run_times
        self.seed = seed
        self._common = _luck(f"{seed}") * sqrt(run_times.common)
        self._own = sqrt(1 - run_times.common)
        #: The quantile of each group.
        self._chances: dict[Hashable, float] = {}

    def run_time(self, job: Job, ran: int = 0) -> int:
        """Draw the run time of a job, seconds.

        Args:
            job: The job.
            ran: Seconds that it has run so far.
        """
        group, distribution = self._run_times.of(job)
        chance = self._chances.get(group)
        if chance is None:
            luck = self._common + self._own * _luck(f"{self.seed}/{group}")
            chance = self._chances[group] = _NORMAL.cdf(luck)
        part = distribution.at(chance, over=min(ran / job.time_limit, 1.0) if ran else -1.0)
        return max(round(part * job.time_limit), ran + 1)


def _luck(what: str) -> float:
    """Draw from the normal distribution."""
    return Random(what).gauss(0, 1)  # noqa: S311 - no secrets
