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
    """A limit on the usage of a TRES, or on the time for which jobs ran."""

    #: The limit, in minutes.
    limit: Limit
    #: Index of the TRES; -1: the time for which jobs ran.
    tres_index: int
    #: Function that gives the usage in seconds, without that of running jobs since the last period.
    seconds: Callable[[], float]


class _Run(NamedTuple):
    """A running job."""

    #: Limits that end it when they are reached.
    limits: frozenset[Limit]
    #: Usage of each TRES for each second, and as the last element 1 for the second itself.
    charge: Sequence[float]
    #: Since when it is charged, Unix seconds.
    start: int


class _Bound:
    """A limit, and the rate at which running jobs add to its usage."""

    __slots__ = ("begun", "jobs", "most", "rate", "used")

    def __init__(self, used: UsageLimit) -> None:
        self.used = used
        #: The limit in seconds.
        self.most = used.limit.most * _MINUTE
        #: Usage of all running jobs for each second.
        self.rate = 0.0
        #: Σ rate of a job · time since when it is not included in the recorded usage.
        self.begun = 0.0
        #: Number of running jobs that the limit ends.
        self.jobs = 0

    def add(self, run: _Run, since: int, sign: int = 1) -> None:
        """Add a running job, or remove it if ``sign`` is -1.

        Args:
            run: The job.
            since: Time since when its usage is not recorded, Unix seconds.
            sign: 1 or -1.
        """
        charge = sign * run.charge[self.used.tres_index]
        self.rate += charge
        self.begun += charge * since
        self.jobs += sign * (self.used.limit in run.limits)

    def seconds(self, now: int) -> float:
        """Give the usage in seconds, without decay since the last period."""
        return self.used.seconds() + self.rate * now - self.begun


class UsageForecast:
    """Forecasts when the running jobs of an association or QOS will have used up a limit.

    Args:
        clock: The engine's clock.
        timers: The engine's timers.
        keeper: The owner of the usage.
        name: Name of the ledger, and of the timer.
    """

    __slots__ = ("_bounds", "_clock", "_keeper", "_period", "_runs", "_timer", "_timers")

    def __init__(self, clock: Clock, timers: Timers, keeper: UsageKeeper, name: str) -> None:
        self._clock = clock
        self._timers = timers
        self._keeper = keeper
        self._timer = Timer(TimerKind.GROUP_MINUTES, name=name)
        self._bounds: dict[Limit, _Bound] = {}
        #: Running jobs by id.
        self._runs: dict[int, _Run] = {}
        #: The end of the last period of usage, Unix seconds.
        self._period = 0

    def watch(self, used: UsageLimit) -> None:
        """Add a limit, unless it is known."""
        if used.limit not in self._bounds:
            self._catch_up()
            bound = self._bounds[used.limit] = _Bound(used)
            for run in self._runs.values():
                bound.add(run, max(run.start, self._period))

    def add(self, job: CountedJob, limits: frozenset[Limit], charge: Sequence[float]) -> None:
        """Add a running job.

        Args:
            job: The job.
            limits: The limits that end it when they are reached.
            charge: Its usage of each TRES for each second, and as the last element 1 for the second itself.
        """
        self._catch_up()
        run = self._runs[job.job_id] = _Run(limits, charge, job.charged_since)
        for bound in self._bounds.values():
            bound.add(run, max(run.start, self._period))
        self.set_timer()

    def remove(self, job_id: int) -> None:
        """Remove a job that has ended or is suspended."""
        self._catch_up()
        run = self._runs.pop(job_id, None)
        if run is None:
            return  # it was suspended
        for bound in self._bounds.values():
            bound.add(run, max(run.start, self._period), -1)

    def _catch_up(self) -> None:
        """Adjust the sums when a period has ended, up to which the usage of running jobs is recorded."""
        usage = self._keeper.usage
        period = (usage.last_ran if usage is not None else None) or 0
        if period != self._period:
            self._period = period
            for bound in self._bounds.values():
                bound.begun = bound.rate * period

    def set_timer(self) -> None:
        """Set the timer to the time at which the first limit will be reached at the present rate."""
        if self._keeper.usage is not None:
            for bound in self._bounds.values():
                self._set_timer(bound, bound.seconds(self._clock.now))

    def _set_timer(self, bound: _Bound, seconds: float) -> None:
        if bound.jobs and bound.rate > 0:
            left = ceil((bound.most - seconds) / bound.rate)
            self._timers.set_sooner(self._clock.now + max(left, 1), self._timer)

    def used_up(self) -> list[int]:
        """Give the ids of the jobs that reached limits end, ascending; set the timer for the other limits."""
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
        """Give the usage in seconds if all running jobs ended now."""
        usage, now, seconds = self._keeper.usage, self._clock.now, bound.used.seconds()
        decay = 1.0 if usage is None else usage.decay
        for run in self._runs.values():
            ran = now - max(run.start, self._period)
            seconds += run.charge[bound.used.tres_index] * ran * decay**ran
        return seconds


def job_minutes_end(job: CountedJob, counts: Sequence[float], limits: Sequence[tuple[int, Limit]]) -> int | None:
    """Give the time at which a running job reaches a limit on its TRES minutes; ``None``: not before its end.

    Args:
        job: The job.
        counts: Number of each TRES that is allocated to it.
        limits: The limits, each with the index of its TRES.
    """
    # Slurm counts whole minutes of run time.
    ends = [ceil(limit.most / counts[tres_index]) * _MINUTE for tres_index, limit in limits if counts[tres_index] > 0]
    end = job.effective_start + min(ends, default=0)
    return end if ends and end < (job.end_time or 0) else None
