"""How long jobs will run, as parts of their time limits, from what past jobs took.

The past of a job are the last runs of four groups: jobs of its user, account, name (without digits) and time limit;
all jobs of its user; all with its time limit; all jobs. A group counts the more the more runs it has, and leaves the
rest to the next one; what the last one leaves is spread evenly, from nothing to the time limit. Jobs that still run
count too: they take longer than they have so far. Without them a cluster on which long jobs have begun lately would
only know the short ones (Kaplan and Meier, 1958).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict, deque
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

    from rota.core.job import Job

#: Number of the last runs of a group that count, and of all jobs.
_OF_GROUP, _OF_ALL = 50, 200
#: Number of runs with which a group counts as much as all wider ones together.
_HALF = 10
#: What is assumed of a job of which nothing is known.
_ANYTHING = tuple(number / 20 for number in range(1, 21))
_DIGITS = re.compile(r"\d+")


class PastRun(NamedTuple):
    """A run of a job, ended or not."""

    user: str
    account: str
    name: str
    #: Seconds.
    time_limit: int
    #: Seconds that it took, or has taken so far.
    took: int
    has_ended: bool = True


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
        self._groups: defaultdict[Hashable, deque[tuple[float, bool]]] = defaultdict(lambda: deque(maxlen=_OF_GROUP))
        self._all: deque[tuple[float, bool]] = deque(maxlen=_OF_ALL)
        self._known: dict[Hashable, Distribution] = {}
        #: Number of ended runs.
        self.ended = 0
        for run in past:
            part = min(run.took / run.time_limit, 1.0), run.has_ended
            for group in _groups(run.user, run.account, run.name, run.time_limit):
                self._groups[group].append(part)
            self._all.append(part)
            self.ended += run.has_ended

    def of(self, job: Job) -> tuple[Hashable, Distribution]:
        """Give the narrowest group of a job, and the distribution of its run time."""
        groups = _groups(job.user_name, job.spec.account, job.spec.name, job.time_limit)
        found = self._known.get(groups[0])
        if found is None:
            found = Distribution(_pooled([*(self._groups.get(group, ()) for group in groups), self._all]))
            self._known[groups[0]] = found
        return groups[0], found


def _pooled(groups: Iterable[Collection[tuple[float, bool]]]) -> Iterator[Seen]:
    """Give the runs of groups, the narrowest first, with their weights; each is a part, and whether it has ended."""
    left = 1.0
    for group in groups:
        share = left * len(group) / (len(group) + _HALF)
        for part, has_ended in group:
            yield Seen(part, not has_ended, share / len(group))
        left -= share
    for part in _ANYTHING:
        yield Seen(part, False, left / len(_ANYTHING))


def _groups(user: str, account: str, name: str, time_limit: int) -> tuple[Hashable, ...]:
    return (user, account, _DIGITS.sub("", name), time_limit), user, time_limit


def job_key(job: Job) -> str:
    """Give the name of a job in all futures: ``17``, or ``17_3`` for a task of an array."""
    return str(job.job_id) if job.array is None else f"{job.array.job_id}_{job.task_id}"


class Draws:
    """The run times of one future, which do not depend on the order in which they are asked for.

    The jobs of a group are all quick or all slow: those of one user and name succeed and fail together, and a burst of
    them does not average out.

    Args:
        run_times: Their distributions.
        seed: Number of the future: the same one gives the same run times.
    """

    def __init__(self, run_times: RunTimes, seed: int) -> None:
        self._run_times = run_times
        self.seed = seed
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
            chance = self._chances[group] = Random(f"{self.seed}/{group}").random()  # noqa: S311 - no secrets
        part = distribution.at(chance, over=min(ran / job.time_limit, 1.0) if ran else -1.0)
        return max(round(part * job.time_limit), ran + 1)
