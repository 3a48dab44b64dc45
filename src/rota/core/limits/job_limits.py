"""The limits on the jobs of one association and QOS.

There are two kinds. A limit that the request alone exceeds, such as that of the time limit, keeps the job out of the
queue (`JobLimits.exceeded_alone`). A limit that depends on running jobs holds the job back (`JobLimits.holds_back`).
This is tested in every pass; the cost is proportional to the number of limits.

Source of the rules: Slurm's pages on resource limits and QOS, and a real Slurm's answers.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Generic

from rota.core.limits.context import J, LimitContext
from rota.core.limits.ledger import Entry, Ledger
from rota.core.limits.start_limits import Excess, Limit
from rota.core.limits.usage_enforcement import UsageForecast, job_minutes_end
from rota.core.timers import Timer, TimerKind
from rota.model.tres import NODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.limits.inputs import CountedJob
    from rota.core.limits.usage_enforcement import UsageLimit

_MINUTE = 60


class JobQuantity(Enum):
    """The quantity of a job that is compared with a limit."""

    #: TRES of the job.
    JOB = "job"
    #: TRES of each node.
    NODE = "node"
    #: TRES minutes for its time limit.
    MINUTES = "minutes"
    #: TRES of the job, with the limit as lower bound.
    LEAST = "least"


class JobLimits(Generic[J]):
    """The limits on the jobs of one association, QOS and partition QOS, in Slurm's order."""

    __slots__ = (
        "_context",
        "_counted",
        "_full",
        "ends",
        "jobs",
        "jobs_before_wall",
        "ledgers",
        "max_wall",
        "min_priority",
        "minutes",
        "nodes",
        "per_job",
        "run_minutes",
        "submit",
        "tres",
        "used",
    )

    def __init__(self, context: LimitContext[J]) -> None:
        self._context = context
        #: Cached limit on the number of running jobs that is reached, and the context's version for which it is valid.
        self._full: Excess | None = None
        self._counted = -1
        #: Ledgers in which the jobs are counted.
        self.ledgers: list[Ledger] = []
        #: Limits on the number of live jobs, and of running jobs.
        self.submit: list[tuple[Ledger, Limit]] = []
        self.jobs: list[tuple[Ledger, Limit]] = []
        #: Limits on the TRES of running jobs: counts of all TRES in use, index of the TRES, limit.
        self.tres: list[tuple[list[float], int, Limit]] = []
        #: Limits on the number of different nodes.
        self.nodes: list[tuple[Ledger, Limit]] = []
        #: Limits on the TRES minutes that running jobs may still use: ledger, index of the TRES, limit.
        self.run_minutes: list[tuple[Ledger, int, Limit]] = []
        #: Limits on usage.
        self.used: list[tuple[Ledger, UsageLimit]] = []
        #: Limits on usage that end running jobs when they are reached; and limits on a job's TRES minutes that do, each
        #: with the index of the TRES.
        self.ends: frozenset[Limit] = frozenset()
        self.minutes: list[tuple[int, Limit]] = []
        #: Limits on each job: quantity, index of the TRES, limit.
        self.per_job: list[tuple[JobQuantity, int, Limit]] = []
        #: Limit on time limits.
        self.max_wall: Limit | None = None
        #: Number of limits in `jobs` with precedence over ``max_wall``.
        self.jobs_before_wall = 0
        #: Smallest priority with which a job blocks others; ``None``: any.
        self.min_priority: int | None = None

    @property
    def can_hold_back(self) -> bool:
        """Whether there are limits that can hold back a queued job."""
        return bool(self.jobs) or self.depends_on_tres or self.max_wall is not None

    @property
    def depends_on_tres(self) -> bool:
        """Whether there are limits that can hold back a queued job for the TRES that it would get."""
        return bool(self.tres or self.nodes or self.used or self.run_minutes or self.per_job)

    def exceeded_alone(self, job: J, *, alone: bool = False) -> Excess | None:
        """Give the limit that a job exceeds whatever other jobs are running; ``None``: there is none.

        Args:
            job: The job, or one of its queue records.
            alone: Whether limits on all jobs together are tested as well, as if no other job were running; and those
                on the TRES of each node, as if it had no more nodes than it needs.
        """
        if self.max_wall is not None and job.time_limit > self.max_wall.most:
            return Excess(self.max_wall, 0, job.time_limit)
        if not self.per_job and not alone:
            return None
        counts = self._context.asked(job)
        excess = (self._excess_alone(counts, job.time_limit) if alone else None) or self._excess_per_job(
            counts, job.time_limit, by_node=alone
        )
        if excess is not None and any(
            own is JobQuantity.LEAST and limit is excess.limit for own, _, limit in self.per_job
        ):
            # Whole nodes or cores are more than it asks for.
            return self._excess_per_job(self._context.at_best(job), job.time_limit, by_node=alone)
        return excess

    def _excess_alone(self, counts: Sequence[float], time_limit: int) -> Excess | None:
        """Test the limits on all jobs together as if there were no other job."""
        minutes = time_limit / _MINUTE
        asked = [
            *((counts[index], limit) for _, index, limit in self.tres),
            *((counts[NODE], limit) for _, limit in self.nodes),
            *((counts[index] * minutes, limit) for _, index, limit in self.run_minutes),
        ]
        if self._context.safe:
            asked += [
                ((counts[one.tres_index] if one.tres_index >= 0 else 1) * minutes, one.limit) for _, one in self.used
            ]
        return next((Excess(limit, 0, count) for count, limit in asked if count > limit.most), None)

    def holds_back_all(self) -> bool | None:
        """Whether all jobs are held back, as the number of running jobs is reached; ``None``: it depends on the job."""
        if self.max_wall is None and self.jobs and self._excess_jobs() is not None:
            return True
        return None if self.depends_on_tres or self.max_wall is not None else False

    def holds_back(self, job: J, resources: int) -> Excess | None:
        """Give the limit that a pending job would exceed if it started now; ``None``: there is none.

        Args:
            job: The job, or one of its queue records.
            resources: The resource set that it would start on, which may be more than it requests; 0: test what it
                requests.
        """
        if (excess := self.excess_before_selection(job)) is not None:
            return excess
        context = self._context
        if not resources:
            refused = context.refused.get(job.job_id) if context.refused else None
            if not (self.tres or self.nodes or self.used or self.run_minutes):
                return (refused or self.exceeded_alone(job)) if self.per_job else None
            counts = context.asked(job)
            excess = self._excess_tres(counts, job.time_limit) or self._excess_nodes(counts[NODE], 0)
            return excess or refused or (self.exceeded_alone(job) if self.per_job else None)
        if not self.depends_on_tres:
            return None
        counts, nodes = context.counts(job, resources), context.nodes_of(resources)
        excess = self._excess_tres(counts, job.time_limit) or self._excess_nodes(counts[NODE], nodes)
        return excess or self._excess_per_job(counts, job.time_limit)

    def excess_before_selection(self, job: J) -> Excess | None:
        """Give the limit on the number of jobs or on time limits that a job would exceed; ``None``: there is none.

        Those on the number of jobs have precedence, except those of a QOS after the one on time limits.
        """
        excess = self._excess_jobs() if self.jobs else None
        if self.max_wall is None or job.time_limit <= self.max_wall.most:
            return excess
        before = (limit for _, limit in self.jobs[: self.jobs_before_wall])
        comes_first = excess is not None and excess.limit in before
        return excess if comes_first else Excess(self.max_wall, 0, job.time_limit)

    def excess_when_planned(self, job: J, resources: int) -> Excess | None:
        """Give the limit on TRES that a job would exceed if it got planned resources now; ``None``: there is none.

        As in Slurm's backfill all planned nodes count, also those that other jobs of the same owner are on.
        """
        counts = self._context.counts(job, resources)
        excess = self._excess_tres(counts, job.time_limit)
        for ledger, limit in self.nodes:
            if excess is None and (used := ledger.nodes.bit_count()) + counts[NODE] > limit.most:
                excess = Excess(limit, used, counts[NODE])
        return excess or self._excess_per_job(counts, job.time_limit)

    def _excess_nodes(self, asked: float, nodes: int) -> Excess | None:
        """Give the limit on different nodes that a job would exceed.

        Args:
            asked: Number of nodes that it requests.
            nodes: Bitmap of its nodes; 0: not selected yet.
        """
        for ledger, limit in self.nodes:
            used = ledger.nodes.bit_count()
            new = (nodes & ~ledger.nodes).bit_count() if nodes else max(asked - used, 0)
            if used + new > limit.most:
                return Excess(limit, used, new)
        return None

    def _excess_jobs(self) -> Excess | None:
        if self._counted != self._context.version:
            self._counted = self._context.version
            full = (Excess(limit, ledger.jobs, 1) for ledger, limit in self.jobs if ledger.jobs >= limit.most)
            self._full = next(full, None)
        return self._full

    def _excess_per_job(self, counts: Sequence[float], time_limit: int, *, by_node: bool = True) -> Excess | None:
        for own, index, limit in self.per_job:
            asked = counts[index]
            if own is JobQuantity.LEAST:
                if asked < limit.most:
                    return Excess(limit, 0, asked)
                continue
            if own is JobQuantity.MINUTES:
                asked *= time_limit / _MINUTE
            elif own is JobQuantity.NODE:
                if not by_node:
                    continue
                asked /= max(counts[NODE], 1)
            if asked > limit.most:
                return Excess(limit, 0, asked)
        return None

    def _excess_tres(self, counts: Sequence[float], time_limit: int) -> Excess | None:
        for used, index, limit in self.tres:
            if used[index] + counts[index] > limit.most:
                return Excess(limit, used[index], counts[index])
        for ledger, one in self.used:
            if (excess := self._excess_usage(ledger, one, counts, time_limit)) is not None:
                return excess
        for ledger, index, limit in self.run_minutes:
            minutes_left = ledger.minutes_left(index, self._context.clock.now)
            asked = counts[index] * time_limit / _MINUTE
            if minutes_left + asked > limit.most:
                return Excess(limit, minutes_left, asked)
        return None

    def _excess_usage(self, ledger: Ledger, one: UsageLimit, counts: Sequence[float], time_limit: int) -> Excess | None:
        used, asked = one.seconds() / _MINUTE, 0.0
        if self._context.safe:
            asked = time_limit / _MINUTE
            if one.tres_index >= 0:
                used += ledger.minutes_left(one.tres_index, self._context.clock.now)
                asked *= counts[one.tres_index]
        if used + asked <= one.limit.most and used < one.limit.most:
            return None
        return Excess(one.limit, used, asked)

    # ---- start and end of jobs --------------------------------------------------------------------------------

    def forecast_usage(self, ledger: Ledger) -> None:
        """Forecast the usage of a ledger, if its limits end running jobs."""
        context = self._context
        if ledger.forecast is None and not context.safe:
            ledger.forecast = UsageForecast(context.clock, context.timers, context.keeper, ledger.name)

    def end_running_jobs(self) -> None:
        """End running jobs when limits on usage are reached, since ``safe`` is not enforced."""
        self.ends = frozenset(one.limit for _, one in self.used)
        self.minutes = [(tres_index, limit) for own, tres_index, limit in self.per_job if own is JobQuantity.MINUTES]
        for ledger, one in self.used:
            if ledger.forecast is not None:
                ledger.forecast.watch(one)

    def started(self, job: J) -> None:
        """Count a job that has started, and set the timers that end it."""
        context = self._context
        entry = Entry(self.ledgers, context.counts(job, job.alloc), job.alloc_nodes, job.expected_end)
        context.running[job.job_id] = entry
        for ledger in self.ledgers:
            ledger.add(entry)
        self.resume(job)
        context.version += 1

    def resume(self, job: J) -> None:
        """Set the timers that end a running job when a limit on usage is reached."""
        context = self._context
        entry = context.running.get(job.job_id)
        if entry is None:
            return  # no limit depends on running jobs
        for ledger in entry.ledgers:
            if ledger.forecast is not None:
                factor = context.usage_factor(job)
                ledger.forecast.add(job, self.ends, [count * factor for count in (*entry.counts, 1.0)])
        if self.minutes and (end := job_minutes_end(job, entry.counts, self.minutes)) is not None:
            context.timers.set(max(end, context.clock.now + 1), _minutes_of(job))

    def pause(self, job: J) -> None:
        """Remove the timers that would end a job, as it is suspended."""
        for ledger in self.ledgers:
            if ledger.forecast is not None:
                ledger.forecast.remove(job.job_id)
        self._context.timers.cancel(_minutes_of(job))

    def ended(self, job: J) -> None:
        """Remove a job that has ended from the counts."""
        context = self._context
        entry = context.running.pop(job.job_id, None)
        if entry is None:
            return
        for ledger in entry.ledgers:
            ledger.add(entry, -1)
            if ledger.forecast is not None:
                ledger.forecast.remove(job.job_id)
        context.timers.cancel(_minutes_of(job))
        context.version += 1


def _minutes_of(job: CountedJob) -> Timer:
    return Timer(TimerKind.JOB_MINUTES, job.job_id, job.restart_count)
