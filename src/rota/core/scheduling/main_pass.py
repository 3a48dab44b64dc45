"""Slurm's main pass: jobs are tested in queue order, and each that fits is started.

A job that has to wait for resources blocks its partition: no later job of the partition is tested in this pass, and all
nodes of the partition are removed from the available set, also for partitions that share these nodes. Other partitions
are not affected. Exceptions:

- A job that requests nodes by name removes only these from the available set, and does not block its partition.
- A job that could not start even if no other were running, because nodes are down, reserved or removed, does not block.
- A job that has waited for less than ``bf_min_age_reserve``, or has a priority below ``bf_min_prio_reserve``, does not
  block.

In any case a job blocks its partition if it requests more nodes than are up and not removed. Otherwise a job in a
reservation blocks only that reservation; if others have all its nodes, only these are removed. One that needs more
nodes than its reservation has in its partition is passed by, as backfill may start it if the reservation is FLEX. A job
that a start limit holds back is skipped and does not block. But with ``bf_licenses`` the pass ends at a job that waits
for licences, and with ``assoc_limit_stop`` a job that a limit of an association or QOS holds back blocks its partition.
A job that cannot end by its deadline any more ends when the pass comes to it. A job whose preferred nodes are in use
(``--prefer``) waits like any other: backfill may start it on other nodes.

A job that names no reservation is tested in each ``MAGNETIC`` one that it may use, before all that are in none.

The pass writes why each job that it comes to does not start: see `rota.core.queue.reasons`.

The pass ends when it has tested or started as many jobs as `PassOptions` allows. Jobs of blocked partitions count as
tested.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import chain, dropwhile, islice, takewhile
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from rota.core.job import QueueRecord
from rota.core.limits.licenses import LicensesWanted
from rota.core.limits.start_limits import LIMIT_REASONS
from rota.core.queue.job_queue import LimitTest
from rota.core.queue.reasons import FOUND_LATE, MAINTENANCE, TOO_FEW
from rota.core.scheduling.pass_options import PassOptions
from rota.core.sorted_jobs import key_in_reservation, queue_key
from rota.model import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator

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


class _Held(Enum):
    """What comes of a job that a start limit holds back."""

    #: Others are tested.
    WAITS = "waits"
    #: Its partition is blocked.
    BLOCKS = "blocks"
    #: The pass ends.
    ENDS = "ends"


@dataclass(slots=True)
class PassStatistics:
    """The statistics of main passes that ``sdiag`` shows."""

    #: Number of passes.
    cycles: int = 0
    #: Number of entries in the queue, and of those tested, in the last pass.
    last_queue_length: int = 0
    last_depth: int = 0
    #: Number of entries tested in all passes.
    depth: int = 0
    jobs_started: int = 0
    #: Number of passes by the reason of their end.
    exits: Counter[str] = field(default_factory=Counter)

    @property
    def mean_depth(self) -> float:
        """Mean number of entries tested in a pass."""
        return self.depth / self.cycles if self.cycles else 0.0


class MainPass:
    """Makes main passes, and counts them.

    Args:
        cluster: The cluster whose queue is tested.
        runs: Starts the jobs.
        tell_pending: Function that is called for each job that has to wait; ``None``: none is.
        preemption: Preempts running jobs.

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
        #: The options in force, to be set when slurm.conf is read again.
        self.options = PassOptions.read(cluster.state.config)
        self._preemption = preemption
        self.statistics = PassStatistics()

    def run(self, *, full: bool = False) -> None:
        """Make a pass.

        Args:
            full: Whether to test the whole queue, regardless of ``default_queue_depth``.
        """
        options = self.options
        if options.is_off:
            return
        state, waiting, book = self._cluster.state, self._cluster.queue, self._cluster.reservations
        pool = state.pool
        queue: Collection[Job] = waiting.queued.hand_out()
        if waiting.mixed or waiting.untested:
            self._cluster.reasons.pass_begins()
        if waiting.mixed:
            queue = self._with_shut_out(queue)
        behind, entered, waiting.behind, waiting.entered = waiting.behind, waiting.entered, (), []
        reserved, test = bool(book.all), LimitTest(waiting)
        attracted = [*book.attracted(queue, attracting)] if reserved and (attracting := book.attracting()) else []
        length, avail = len(queue) + len(attracted), pool.free
        most, starts = None if full else options.most_jobs, options.sched_max_job_start
        of_partition = options.partition_job_depth
        reason, depth, started, gone = END_OF_QUEUE, 0, 0, 0
        # Nodes removed, partitions and reservations blocked, and request classes of which a job did not fit.
        closed = 0
        blocked: set[str] = set()
        failed: set[Hashable] = set()
        seen: dict[str, int] = {}
        last: tuple[int, ...] = ()  # key of the job behind which no other can start; (): there is none
        # Partitions of the jobs in the queue; computed when a job does not fit, and other partitions are not blocked.
        waiting_in: set[str] | None = None
        left = self._with_attracted(queue, attracted) if attracted else iter(queue)
        for job in left:
            if not job.sort_key or job.alloc:
                gone += 1
                if waiting.mixed and self._blocks_shut_out(job, blocked, closed):
                    blocked.add(job.partition.name)
                    closed |= job.partition.nodes
                    avail = pool.without(avail, job.partition.nodes)
                continue
            if starts and started >= starts:
                reason = HIT_MAX_JOB_START
                break
            if reserved and job.spec.reservation and self._cluster.reasons.exceeds_reservation(job):
                continue
            partition = job.partition
            if of_partition:
                seen[partition.name] = count = seen.get(partition.name, 0) + 1
                if count > of_partition:
                    if job.reason is Reason.NONE:
                        job.reason = Reason.PRIORITY
                    continue
            if depth == most:
                reason = HIT_QUEUE_DEPTH
                break
            if job.array is not None and job.array.throttle:
                if job.array.holds_back_all():
                    job.reason = Reason.JOB_ARRAY_TASK_LIMIT
                    continue
                if job.reason is Reason.JOB_ARRAY_TASK_LIMIT:
                    job.reason = Reason.NONE
            depth += 1
            if partition.name in blocked and not (reserved and job.spec.reservation):
                if (known := job.reason) is Reason.NONE or known is Reason.RESOURCES:
                    job.reason = Reason.PRIORITY
                continue
            if reserved and job.spec.reservation in blocked:
                job.reason = Reason.PRIORITY
                continue
            if waiting.late and waiting.misses_deadline(job):
                continue
            if job.start_limits and (held := self._held_back(job, test, closed)) is not None:
                if held is _Held.ENDS:
                    reason = BLOCKED_ON_LICENSES
                    break
                if held is _Held.BLOCKS:
                    blocked.add(partition.name)
                    closed |= partition.nodes
                    avail = pool.without(avail, partition.nodes)
                continue
            resources = 0
            if reserved:  # the nodes reserved against a job depend on its time limit
                resources = book.select(job, pool.common(avail, pool.free))
            elif not failed or pool.class_of(job.view) not in failed:
                # A plugin may have started other jobs when it was told of a start.
                resources = pool.select(job, pool.common(avail, pool.free))
            if resources and job.spec.prefer and self._cluster.reasons.waits_for_preferred(job, resources, closed):
                resources = 0
            while resources and self._runs.start(job, resources) is None:
                avail -= resources
                started += 1
                told = job  # plugins have been told of it, and may have done anything
                if told.alloc or not told.sort_key or (starts and started >= starts):
                    break
                if job.start_limits and self._held_back(job, test, closed) is not None:  # other tasks of an array
                    break
                room = pool.common(avail, pool.free)
                resources = book.select(job, room) if reserved else pool.select(job, room)
            if resources:
                continue
            if self._preemption.is_on and self._preemption.preemption_class(job) is not None:
                shut = closed | book.closed(job, state.now, job.time_limit)
                self._preemption.make_room(job, pool.without(pool.common(avail, pool.free), shut), shut)
            if self._tell_pending is not None:
                self._tell_pending()
            if job.limits is not None and job.limits.depends_on_tres and self._is_beyond_limit(job, closed):
                continue
            taken = partition.nodes
            blocks = self._blocks(job, closed)
            if job.spec.reservation and job.details is not TOO_FEW:
                if blocks:
                    blocked.add(job.spec.reservation)
                elif job.details is MAINTENANCE:
                    taken = book.nodes_of(job)
                    closed |= taken
                    avail = pool.without(avail, taken)
                continue
            if blocks:
                blocked.add(partition.name)
            else:
                taken = state.required_nodes(job)
                if not taken:
                    failed.add(pool.class_of(job.view))
            may_end = not (reserved or of_partition or starts)
            if may_end and waiting_in is None and len(blocked) < len(state.partitions):
                # If those of then and those of what has entered since are blocked, there can be no others.
                if behind and not waiting.mixed:
                    waiting_in = waiting.behind_in.union(map(_PARTITION, entered))
                if waiting_in is None or not blocked >= waiting_in:
                    waiting_in = set(map(_PARTITION, queue))
            # If no other job can start, the others count as tested, up to the bound.
            if may_end and (waiting_in is None or blocked >= waiting_in):
                tested, depth = depth, length - gone
                if is_cut := most is not None and depth > most:
                    reason, depth = HIT_QUEUE_DEPTH, most
                others: Iterable[Job] = islice(left, depth - tested)
                if behind and not is_cut and waiting.behind is not None:  # else it is written of all of them anew
                    others = takewhile(partial(_is_not_behind, behind), others) if job.sort_key < behind else ()
                    if entered:
                        others = chain(others, (one for one in entered if one.sort_key > job.sort_key))
                for other in others:
                    known = other.reason
                    if (known is Reason.NONE or known is Reason.RESOURCES) and not other.alloc:
                        other.reason = Reason.PRIORITY
                if not is_cut:
                    last, waiting.behind_in = job.sort_key, blocked
                break
            if taken:
                closed |= taken
                avail = pool.without(avail, taken)
        if waiting.behind is not None:
            waiting.behind = last or None
        if waiting.behind is None:
            waiting.entered = []
        if waiting.mixed:
            waiting.changed = True  # a cycle finds other reasons
        self._count(reason, length, depth, started)

    @staticmethod
    def _with_attracted(queue: Collection[Job], attracted: list[tuple[Job, str]]) -> Iterator[Job]:
        """Give the jobs of a queue, and before those that are in no reservation the attracted ones.

        These name the reservation until the next job is asked for, or none any more, and for good if they have started.
        """
        named = takewhile(_names_reservation, queue)
        first = [(job.sort_key, job, "") for job in named]
        first += [(key_in_reservation(job), job, name) for job, name in attracted]
        first.sort(key=itemgetter(0))
        for _, job, name in first:
            whole = job.whole
            if not name or whole.alloc or not job.sort_key:
                yield job
                continue
            before = whole.spec
            whole.spec, whole.is_attracted = before._replace(reservation=name), True
            try:
                yield job
            finally:
                if not whole.alloc:
                    whole.spec, whole.is_attracted = before, False
        yield from dropwhile(_names_reservation, queue)

    def _with_shut_out(self, queue: Collection[Job]) -> list[Job]:
        """Add the partitions in which jobs of the queue can never run: that is found when the pass comes to them."""
        records = chain.from_iterable(job.records for job in self._cluster.queue.mixed.values())
        return sorted((*queue, *(one for one in records if one.obstacle in FOUND_LATE)), key=queue_key)

    def _blocks_shut_out(self, job: Job, blocked: set[str], closed: int) -> bool:
        """Whether a record in such a partition blocks it; why it waits is written."""
        if type(job) is not QueueRecord or job.obstacle not in FOUND_LATE or not job.whole.is_queued:
            return False
        if job.partition.name not in blocked:
            return self._cluster.reasons.is_shut_out(job, closed)
        if job.reason is Reason.NONE or job.reason is Reason.RESOURCES:
            job.reason = Reason.PRIORITY
        return False

    def _held_back(self, job: Job, test: LimitTest, closed: int) -> _Held | None:
        """Say what comes of a job that a start limit holds back, and write why; ``None``: none does.

        As in Slurm, a limit that is known to hold it back is tested first; then whether its partition has enough nodes,
        its licences, and all limits.
        """
        reasons, waiting = self._cluster.reasons, self._cluster.queue
        excess = test.holds(job)
        is_known = job.reason in LIMIT_REASONS
        if is_known:
            reasons.limits_tested(job, excess)
        lacks_licenses = any(type(one) is LicensesWanted and one.holds_back_all() for one in job.start_limits)
        is_limit = excess is not None and excess.reason is not Reason.LICENSES
        if not (is_limit and is_known):
            if excess is None and not lacks_licenses:
                return None
            if reasons.lacks_partition_nodes(job, closed):
                reasons.does_not_fit(job, closed)
                return _Held.BLOCKS
            if lacks_licenses:
                job.reason = Reason.LICENSES
                return _Held.ENDS if Reason.LICENSES in waiting.planned_reasons else _Held.WAITS
            reasons.limits_tested(job, excess)
        stops = self._cluster.state.settings.assoc_limit_stop and job.reason in LIMIT_REASONS
        return _Held.BLOCKS if stops else _Held.WAITS

    def _is_beyond_limit(self, job: Job, closed: int) -> bool:
        """Whether a job that does not fit would exceed a limit on the nodes planned last; if so, that is why it waits.

        Slurm compares the limits with the processors found then, and others pass a job that a limit holds back.
        """
        policy, reasons, nodes = self._cluster.policy, self._cluster.reasons, job.tested_nodes
        if not nodes or reasons.lacks_partition_nodes(job, closed):
            return False
        excess = policy.excess_on(job, nodes)
        if excess is not None:
            reasons.limits_tested(job, excess)
        return excess is not None

    def _blocks(self, job: Job, closed: int) -> bool:
        """Whether a job that does not fit blocks its partition.

        Args:
            job: The job, or one of its queue records.
            closed: Bitmap of the nodes removed so far.
        """
        options, reasons = self.options, self._cluster.reasons
        if not reasons.does_not_fit(job, closed):
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


def _names_reservation(job: Job) -> bool:
    return bool(job.spec.reservation)


def _is_not_behind(key: tuple[int, ...], job: Job) -> bool:
    """Whether a job that was in the queue when the pass began is in front of a key, or has left it."""
    return job.alloc != 0 or job.sort_key <= key
