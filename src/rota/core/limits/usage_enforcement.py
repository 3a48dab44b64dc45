"""Usage enforcement: running jobs are ended when a limit on usage is reached.

If limits are enforced without ``safe``, Slurm checks running jobs every 30 seconds. It ends those whose association or
QOS has used up its ``GrpTRESMins`` or ``GrpWall``, or that have used up their own ``MaxTRESMinsPerJob``. Here they end
in the second in which the limit is reached.

A `UsageForecast` holds the rate at which the running jobs of one association or QOS add to its usage. When a job
starts, it computes when the first limit will be reached at this rate, and sets a timer. Since usage decays and jobs may
end earlier, the timer may be too early; then the time is computed again. Without such limits nothing is done.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from rota.core.timers import Timer, TimerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.limits.inputs import Clock, CountedJob, UsageKeeper
    from rota.core.limits.start_limits import Limit
    from rota.core.timers import Timers

_MINUTE = 60


class UsageLimit(NamedTuple):
    """A limit of TRES minutes used so far, or of the minutes that jobs ran."""

    limit: Limit
    #: TRES; -1: time that jobs ran.
    tres_index: int
    #: Gives the seconds used, but for what running jobs have used since the last period.
    seconds: Callable[[], float]


class _Run(NamedTuple):
    """A running job."""

    #: Limits that end it when they are used up.
    limits: frozenset[Limit]
    #: What it uses each second: TRES by their places, and at the end the second itself.
    charge: Sequence[float]
    #: Unix seconds.
    start: int


class _Bound:
    """One limit, and what the running jobs add to what is used of it."""

    __slots__ = ("begun", "jobs", "most", "rate", "used")

    def __init__(self, used: UsageLimit) -> None:
        self.used = used
        #: Seconds.
        self.most = used.limit.most * _MINUTE
        #: A second, of all jobs; and Σ of it · since when that is not part of what is used, which makes the rest up.
        self.rate = 0.0
        self.begun = 0.0
        #: How many jobs it would end.
        self.jobs = 0

    def add(self, run: _Run, since: int, sign: int = 1) -> None:
        """Count a running job, or with -1 no more."""
        charge = sign * run.charge[self.used.tres_index]
        self.rate += charge
        self.begun += charge * since
        self.jobs += sign * (self.used.limit in run.limits)

    def seconds(self, now: int) -> float:
        """Give what is used, as if nothing faded within a period."""
        return self.used.seconds() + self.rate * now - self.begun


class UsageForecast:
    """Watches what the running jobs of one association or QOS use.

    Args:
        clock: Knows the time.
        timers: Where it sets its timer.
        keeper: Knows what has been used.
        name: Of the ledger that it is for: its timer has the same.
    """

    __slots__ = ("_bounds", "_clock", "_keeper", "_period", "_runs", "_timer", "_timers")

    def __init__(self, clock: Clock, timers: Timers, keeper: UsageKeeper, name: str) -> None:
        self._clock = clock
        self._timers = timers
        self._keeper = keeper
        self._timer = Timer(TimerKind.GROUP_MINUTES, name=name)
        self._bounds: dict[Limit, _Bound] = {}
        #: By job id.
        self._runs: dict[int, _Run] = {}
        #: The end of the last period of usage, Unix seconds.
        self._period = 0

    def watch(self, used: UsageLimit) -> None:
        """Watch a limit, from now on if not yet."""
        if used.limit not in self._bounds:
            self._catch_up()
            bound = self._bounds[used.limit] = _Bound(used)
            for run in self._runs.values():
                bound.add(run, max(run.start, self._period))

    def add(self, job: CountedJob, limits: frozenset[Limit], charge: Sequence[float]) -> None:
        """Count a running job.

        Args:
            job: The job.
            limits: Those of the limits watched that end it.
            charge: What it uses each second: TRES by their places, and at the end the second itself.
        """
        self._catch_up()
        run = self._runs[job.job_id] = _Run(limits, charge, job.charged_since)
        for bound in self._bounds.values():
            bound.add(run, max(run.start, self._period))
        self.set_timer()

    def remove(self, job_id: int) -> None:
        """Count a job no more."""
        self._catch_up()
        run = self._runs.pop(job_id, None)
        if run is None:
            return  # it is suspended
        for bound in self._bounds.values():
            bound.add(run, max(run.start, self._period), -1)

    def _catch_up(self) -> None:
        """Take note that what jobs have used is part of the usage, up to the end of another period."""
        usage = self._keeper.usage
        period = (usage.last_ran if usage is not None else None) or 0
        if period != self._period:
            self._period = period
            for bound in self._bounds.values():
                bound.begun = bound.rate * period

    def set_timer(self) -> None:
        """Set the timer to when the first limit is used up at the present pace."""
        if self._keeper.usage is not None:
            for bound in self._bounds.values():
                self._set_timer(bound, bound.seconds(self._clock.now))

    def _set_timer(self, bound: _Bound, seconds: float) -> None:
        if bound.jobs and bound.rate > 0:
            left = ceil((bound.most - seconds) / bound.rate)
            self._timers.set_sooner(self._clock.now + max(left, 1), self._timer)

    def used_up(self) -> list[int]:
        """Give the ids of the jobs that a limit ends which is used up, ascending; set the timer for the others."""
        self._catch_up()
        found: set[int] = set()
        for bound in self._bounds.values():
            seconds = self._exact(bound)
            if seconds < bound.most:
                self._set_timer(bound, seconds)
            else:
                found.update(job_id for job_id, run in self._runs.items() if bound.used.limit in run.limits)
        return sorted(found)

    def _exact(self, bound: _Bound) -> float:
        """Give what would be used if all running jobs ended now."""
        usage, now, seconds = self._keeper.usage, self._clock.now, bound.used.seconds()
        decay = 1.0 if usage is None else usage.decay
        for run in self._runs.values():
            ran = now - max(run.start, self._period)
            seconds += run.charge[bound.used.tres_index] * ran * decay**ran
        return seconds


def job_minutes_end(job: CountedJob, counts: Sequence[float], limits: Sequence[tuple[int, Limit]]) -> int | None:
    """Give when a running job has used up a limit of its own, Unix seconds; ``None``: not before its end.

    Args:
        job: The job.
        counts: What it has been given, by the places of TRES.
        limits: Limits of TRES minutes of each job, with the places of these TRES.
    """
    # Slurm counts whole minutes that it has run.
    ends = [ceil(limit.most / counts[tres_index]) * _MINUTE for tres_index, limit in limits if counts[tres_index] > 0]
    end = job.effective_start + min(ends, default=0)
    return end if ends and end < (job.end_time or 0) else None
