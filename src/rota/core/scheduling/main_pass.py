"""Slurm's main pass: jobs in queue order, each started if it fits, with the blocking rule.

A job that must wait for resources blocks its partition: no later job of that partition is tried in this pass, and all
the partition's nodes leave the available set, so that partitions which share nodes with it wait as well. Partitions
with nodes of their own go on. Exceptions:

- A job that asks for nodes by name takes only these out of the available set, and blocks nothing.
- A job that could not start even if no other ran, since nodes are down, reserved or taken out, blocks nothing.
- A job that has waited for less than ``bf_min_age_reserve``, or has a priority below ``bf_min_prio_reserve``, blocks
  nothing either.

But a job always blocks its partition that asks for more nodes than are left of it: those that are up and not taken out.
A job in a reservation blocks that reservation alone. A job that a limit or licences hold back is passed over and blocks
nothing; with ``bf_licenses`` the pass ends at a job that waits for licences, and with ``assoc_limit_stop`` a limit
blocks as resources do.

The pass ends when it has looked at as many jobs, or started as many, as `PassOptions` allows. A job of a blocked
partition counts as looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from rota.core.limits.start_limits import LIMIT_REASONS
from rota.core.scheduling.pass_options import PassOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.jobs.runs import Runs
    from rota.core.scheduling.preemption import Preemption

_PARTITION = attrgetter("partition.name")
#: Why passes ended, in Slurm's words.
END_OF_QUEUE = "End of job queue"
HIT_QUEUE_DEPTH = "Hit default_queue_depth"
BLOCKED_ON_LICENSES = "Blocked on licenses"
HIT_MAX_JOB_START = "Hit sched_max_job_start"


@dataclass(slots=True)
class PassStatistics:
    """What ``sdiag`` says of the main passes."""

    cycles: int = 0
    #: Of the last pass: records in the queue, and how many of them were looked at.
    last_queue_length: int = 0
    last_depth: int = 0
    #: Records looked at in all passes.
    depth: int = 0
    jobs_started: int = 0
    #: How often passes ended for which reason.
    exits: Counter[str] = field(default_factory=Counter)

    @property
    def mean_depth(self) -> float:
        """Records looked at in a pass, on average."""
        return self.depth / self.cycles if self.cycles else 0.0


class MainPass:
    """Makes main passes, and keeps count of them.

    Args:
        cluster: Whose queue.
        runs: Starts the jobs.
        tell_pending: Called when a job must wait; ``None``: nobody is told.
        preemption: Has running jobs give way.

    Raises:
        InputError: an option of SchedulerParameters cannot be used.
    """

    __slots__ = ("_cluster", "_preemption", "_runs", "_tell_pending", "options", "statistics")

    def __init__(
        self, cluster: Cluster, runs: Runs, tell_pending: Callable[[], object] | None, preemption: Preemption
    ) -> None:
        self._cluster = cluster
        self._runs = runs
        self._tell_pending = tell_pending
        #: What is in force; whoever reads slurm.conf again sets it.
        self.options = PassOptions.read(cluster.state.config)
        self._preemption = preemption
        self.statistics = PassStatistics()

    def run(self, *, full: bool = False) -> None:
        """Start every job that is first in line and fits.

        Args:
            full: Look at the whole queue, whatever ``default_queue_depth`` is.
        """
        options = self.options
        if options.is_off:
            return
        state, waiting, book = self._cluster.state, self._cluster.queue, self._cluster.reservations
        pool, limit_stops = state.pool, state.settings.assoc_limit_stop
        queue = waiting.queued.snapshot() if limit_stops else waiting.candidates()
        length, avail = len(queue), pool.free
        reserved = bool(book.all)
        most, starts = None if full else options.most_jobs, options.sched_max_job_start
        of_partition = options.partition_job_depth
        is_bounded = most is not None or of_partition
        reason, depth, started, gone = END_OF_QUEUE, 0, 0, 0
        # Nodes taken out, partitions blocked, and what else has found no place: nor will any request like it.
        closed = 0
        blocked: set[str] = set()
        failed: set[Hashable] = set()
        seen: dict[str, int] = {}
        # Partitions of the jobs in the queue, once some job has found no place.
        waiting_in: set[str] | None = None
        for job in queue:
            if not job.sort_key or job.alloc:
                gone += 1
                continue
            if starts and started >= starts:
                reason = HIT_MAX_JOB_START
                break
            partition = job.partition
            if of_partition:
                seen[partition.name] = count = seen.get(partition.name, 0) + 1
                if count > of_partition:
                    continue
            if depth == most:
                reason = HIT_QUEUE_DEPTH
                break
            depth += 1
            if partition.name in blocked and not (reserved and job.spec.reservation):
                continue
            if reserved and job.spec.reservation in blocked:
                continue
            if job.start_limits and (excess := waiting.schedule_retest(job.held_back())) is not None:
                if excess.reason in waiting.planned_reasons:
                    reason = BLOCKED_ON_LICENSES
                    break
                if limit_stops and excess.reason in LIMIT_REASONS:
                    blocked.add(partition.name)
                    closed |= partition.nodes
                    avail = pool.without(avail, partition.nodes)
                continue
            resources = 0
            if reserved:  # what is closed to a job depends on how long it may run
                resources = book.select(job, pool.common(avail, pool.free))
            elif not failed or pool.class_of(job) not in failed:
                # A plugin that was told of a start may have made others.
                resources = pool.select(job, pool.common(avail, pool.free))
            while resources and self._runs.start(job, resources) is None:
                avail -= resources
                started += 1
                if not self._has_more(job) or (starts and started >= starts):
                    break
                room = pool.common(avail, pool.free)
                resources = book.select(job, room) if reserved else pool.select(job, room)
            if resources:
                continue
            if self._preemption.is_on:
                shut = closed | book.closed(job, state.now, job.time_limit)
                self._preemption.make_room(job, pool.without(pool.common(avail, pool.free), shut), shut)
            if self._tell_pending is not None:
                self._tell_pending()
            taken = partition.nodes
            if job.spec.reservation:
                blocked.add(job.spec.reservation)  # and nobody outside
                continue
            if self._blocks(job, closed):
                blocked.add(partition.name)
            else:
                taken = state.required_nodes(job)
                if not taken:
                    failed.add(pool.class_of(job))
            if taken:
                closed |= taken
                avail = pool.without(avail, taken)
            if not avail and not is_bounded:
                depth = length - gone  # Slurm looks at all that is left, in vain
                break
            if reserved or of_partition or starts:
                continue
            waiting_in = set(map(_PARTITION, queue)) if waiting_in is None else waiting_in
            if blocked >= waiting_in:  # nobody else can start; those that are left count as far as they may
                depth = length - gone
                if most is not None and depth > most:
                    reason, depth = HIT_QUEUE_DEPTH, most
                break
        self._count(reason, length, depth, started)

    @staticmethod
    def _has_more(job: Job) -> bool:
        """Whether a job that has just been started is an array with another task that may start."""
        return job.is_queued and job.held_back() is None

    def _blocks(self, job: Job, closed: int) -> bool:
        """Whether a job that has found no place holds back its partition; some nodes are closed to it."""
        options, reasons = self.options, self._cluster.reasons
        if not reasons.blocks_partition(job, closed):
            return False
        if not (options.bf_min_age_reserve or options.bf_min_prio_reserve) or reasons.lacks_partition_nodes(
            job, closed
        ):
            return True
        since = job.submit_time if job.eligible_time is None else job.eligible_time
        waited = self._cluster.state.now - since
        return job.priority >= options.bf_min_prio_reserve and waited >= options.bf_min_age_reserve

    def _count(self, reason: str, queue_length: int, depth: int, started: int) -> None:
        statistics = self.statistics
        statistics.cycles += 1
        statistics.last_queue_length, statistics.last_depth = queue_length, depth
        statistics.depth += depth
        statistics.jobs_started += started
        statistics.exits[reason] += 1
