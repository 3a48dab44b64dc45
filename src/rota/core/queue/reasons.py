"""Reasons: why a job is pending.

The reason of a job that cannot be considered is known when it is parked. Why a job in the queue waits is found by
passes, and kept until another finds something else, as in Slurm:

- The main pass writes why a job that it reaches does not start. Of a job behind others that block its partition it
  writes `Priority`, but only over `None` and `Resources`.
- A backfill cycle tests the limits of associations and QOS on all jobs, and removes such a reason if there is no such
  limit any more.
- Both test the limits of partitions first, those of a job's partitions by tier and as requested: each writes its reason
  over that of the one before, and one that lets the job run removes it. Lists of accounts and QOS are heeded when the
  main pass comes to the job.
- When a job is submitted, the number of jobs, time limits, and the nodes that are there are tested.
- A job has one reason, also in several partitions.

So a job which waits for a licence may be shown with `Priority`, and one that a limit has held back with that limit
until somebody looks again. If the scheduler makes no main pass, the reason is derived when it is asked for: it is what
a main pass would find.

Over 400 lines: each rule of a pass is beside what is said of it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from rota.core.job import Job, QueueRecord, Why
from rota.core.limits.start_limits import LIMIT_REASONS
from rota.core.queue.obstacles import HELD
from rota.core.sorted_jobs import queue_key
from rota.model import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.core.accounts.charging import Accounts
    from rota.core.limits.start_limits import Excess
    from rota.core.queue.job_queue import JobQueue
    from rota.core.queue.reservations import Reservations
    from rota.core.state import ClusterState

TOO_FEW = Why(
    Reason.RESOURCES, "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
)
MAINTENANCE = Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, Reserved for maintenance")
#: Reasons of limits that a scheduler tests, and removes.
_LIMITS = LIMIT_REASONS | {Reason.QOS_USAGE_THRESHOLD, Reason.JOB_ARRAY_TASK_LIMIT}
#: Reasons of limits of partitions.
_OF_PARTITION = frozenset(
    {
        Reason.PARTITION_DOWN,
        Reason.PARTITION_INACTIVE,
        Reason.PARTITION_CONFIG,
        Reason.PARTITION_NODE_LIMIT,
        Reason.PARTITION_TIME_LIMIT,
        Reason.MAX_MEM_PER_LIMIT,
    }
)
#: Reasons that do not go away because time passes.
_FOR_EVER = (
    _OF_PARTITION
    | {
        Reason.ACCOUNT_NOT_ALLOWED,
        Reason.QOS_NOT_ALLOWED,
        Reason.BAD_CONSTRAINTS,
        Reason.DEPENDENCY_NEVER_SATISFIED,
    }
    | {one for one in LIMIT_REASONS if one.name.endswith(("_PER_JOB", "_PER_NODE"))}
)
#: Reasons of jobs that cannot start unless somebody changes something.
_STUCK = _FOR_EVER | HELD | {Reason.NODE_DOWN, Reason.REQ_NODE_NOT_AVAIL}
#: Obstacles that only the main pass finds, when it comes to the job in that partition.
FOUND_LATE = frozenset({Reason.ACCOUNT_NOT_ALLOWED, Reason.QOS_NOT_ALLOWED, Reason.BAD_CONSTRAINTS})


def is_excluded(job: Job) -> bool:
    """Whether this is a record of a queued job in a partition whose list of accounts excludes it.

    Backfill finds that only when it starts the job: until then it plans for it there.
    """
    is_one = type(job) is QueueRecord and job.obstacle is Reason.ACCOUNT_NOT_ALLOWED
    return is_one and job.units > 0 and job.whole.is_queued


class Reasons:
    """Gives the reasons of pending jobs."""

    def __init__(
        self,
        *,
        state: ClusterState,
        queue: JobQueue,
        accounts: Accounts,
        reservations: Reservations,
    ) -> None:
        self._state = state
        self._queue = queue
        self._accounts = accounts
        self._reservations = reservations
        #: Whether passes find why jobs wait; else it is derived.
        self.are_found = True
        queue.limits_tested = self.limits_tested

    def derive(self) -> None:
        """Derive reasons from now on, as no main passes are made."""
        self.are_found = False
        self._queue.limits_tested = None
        for job_id in self._queue.late:
            self._queue.late_for_deadline(self._state.jobs[job_id])

    # ---- what passes find -------------------------------------------------------------------------------------

    def submitted(self, job: Job) -> None:
        """Write why a new job cannot start even if no other ran, which Slurm tests at once.

        It tests limits on the number of jobs and on time limits, and which nodes are there.
        """
        if not self.are_found or not job.is_queued:
            return
        for record in job.by_tier or (job,):
            if not record.sort_key:
                continue
            if record.limits is not None and (excess := record.limits.excess_before_selection(record)) is not None:
                job.reason = excess.reason
            elif self._reservations.all and self._reservations.maintains_all(record):
                job.reason, job.details = MAINTENANCE.reason, MAINTENANCE
            elif self.lacks_available_nodes(record, 0) and not self._waits_for_idle_nodes(record, 0):
                job.details = why = self._not_available(record, 0)
                job.reason = why.reason

    def pass_begins(self) -> None:
        """Write the reasons that Slurm finds when a pass or a cycle begins.

        What has happened to jobs since the last one is noticed, and the limits of partitions are tested.
        """
        self._queue.untested.clear()
        for job in self._queue.mixed.values():
            for record in job.by_tier:
                reason = record.obstacle
                if reason in _OF_PARTITION:
                    job.reason = reason
                elif job.reason in _OF_PARTITION:
                    job.reason = Reason.NONE
                    self._queue.behind = None

    def limits_tested(self, job: Job, excess: Excess | None) -> None:
        """Write what a scheduler has found of the limits on a job in the queue; licences are not among them."""
        if excess is not None and excess.reason in _LIMITS:
            job.reason = excess.reason
        elif job.reason in _LIMITS:
            job.reason = Reason.NONE
            self._queue.behind = None

    def with_excluded(self, queue: Iterable[Job]) -> list[Job]:
        """Add the records in partitions whose lists exclude jobs of the queue, for backfill: see `is_excluded`."""
        records = chain.from_iterable(job.records for job in self._queue.mixed.values())
        found = [*filter(is_excluded, records)]
        return sorted((*queue, *found), key=queue_key) if found else [*queue]

    def excluded(self, record: Job) -> Reason:
        """Write and give why a job does not start in a partition whose list of accounts excludes it."""
        self._queue.behind = None  # other records of the job may be anywhere
        reason = Reason.ACCOUNT_NOT_ALLOWED
        record.reason, record.details = reason, Why(reason, self._not_permitted(record, reason))
        return reason

    def is_shut_out(self, record: QueueRecord, taken: int) -> bool:
        """Write why a job can never run in the partition to which the main pass has come; say whether it blocks it.

        Args:
            record: A record that is not in the queue, of a job that is.
            taken: Bitmap of the nodes set aside for jobs before it.
        """
        reason = record.obstacle
        self._queue.behind = None  # other records of the job may be anywhere
        if self.lacks_partition_nodes(record, taken):
            record.reason, record.details = TOO_FEW.reason, TOO_FEW
            return True
        if reason is None or reason is Reason.BAD_CONSTRAINTS:
            record.reason, record.details = Reason.RESOURCES, None
        else:
            record.reason, record.details = reason, Why(reason, self._not_permitted(record, reason))
        return False

    def does_not_fit(self, job: Job, taken: int) -> bool:
        """Write why a job that the main pass has reached does not fit; say whether it blocks its partition.

        Args:
            job: A queued job.
            taken: Bitmap of the nodes set aside for jobs before it.
        """
        if type(job) is QueueRecord:
            self._queue.behind = None  # other records of the job may be anywhere
        if self.lacks_partition_nodes(job, taken):
            job.reason, job.details = TOO_FEW.reason, TOO_FEW
            return True
        if self._reservations.all and self._reservations.maintains_all(job):
            job.reason, job.details = MAINTENANCE.reason, MAINTENANCE
            return False
        if self.lacks_available_nodes(job, taken) and not self._waits_for_idle_nodes(job, taken):
            job.details = why = self._not_available(job, taken)
            job.reason = why.reason
            return False
        blocks = (job.limits is None and not job.spec.required_nodes) or not self._lets_others_by(job)
        # With --prefer it is tested again without, and is then behind itself.
        job.reason, job.details = Reason.PRIORITY if blocks and job.spec.prefer else Reason.RESOURCES, None
        return blocks

    def _waits_for_idle_nodes(self, job: Job, taken: int) -> bool:
        """Whether some nodes that a job could use are not idle: Slurm then looks no further.

        For a job that needs whole nodes these are all nodes with jobs, for others those that others have as a whole.
        """
        part, state, book = job.partition, self._state, self._reservations
        usable = part.nodes & ~(state.down | taken)
        if book.all:
            usable &= ~book.closed(job, state.now, job.time_limit)
        whole = _takes_whole_nodes(job)
        return any(other.alloc_nodes & usable and (whole or _takes_whole_nodes(other)) for other in state.holding())

    def exceeds_reservation(self, job: Job) -> bool:
        """Whether the main pass passes a job by, as its reservation has fewer nodes of its partition than it needs.

        In a FLEX reservation backfill may start it.
        """
        needs = job.tested_nodes.bit_count() or self._state.pool.least_nodes(job)
        return (self._reservations.nodes_of(job) & job.partition.nodes).bit_count() < needs

    def waits_for_preferred(self, job: Job, resources: int, taken: int) -> bool:
        """Whether the main pass blocks a job's partition, as the nodes that it prefers are in use.

        Slurm first tries it as if it required them, and only where that does not block its partition as it is.

        Args:
            job: A queued job with preferred features.
            resources: What it would get, on whichever nodes.
            taken: Bitmap of the nodes set aside for jobs before it.
        """
        spec = job.spec._replace(constraint=job.spec.prefer, prefer="")
        preferring = Job(job.job_id, spec, job.submit_time, job.partition, job.units)
        if self._state.pool.suffices(preferring, resources):
            return False
        return not self._lets_others_by(job) and not self.lacks_available_nodes(preferring, taken)

    def _lets_others_by(self, job: Job) -> bool:
        """Whether a job does not block its partition: its priority is too low, or it asks for all its nodes by name."""
        if job.limits is not None and job.priority < job.min_priority:
            return True
        required = job.spec.required_nodes
        return bool(required) and self._state.required_nodes(job).bit_count() >= max(job.spec.min_nodes, 1)

    def may_go_away(self) -> bool:
        """Whether some job waits for something that may come though no job is submitted, starts or ends any more.

        No job runs. Then one that cannot start on the nodes that are up never does, if no reservation keeps it waiting.
        """
        has_reservations = bool(self._reservations.all)
        stuck = _FOR_EVER | HELD if has_reservations else _STUCK
        return any(job.reason not in stuck or job.spec.deadline for job in self._queue.parked.values()) or any(
            job.spec.deadline
            or (
                (has_reservations or not self.lacks_available_nodes(job, 0))
                and ((excess := job.held_back()) is None or excess.reason not in _FOR_EVER or job.spec.time_min)
            )
            for job in self._queue.queued
        )

    def is_stuck(self, job: Job) -> bool:
        """Whether a pending job cannot start unless somebody changes something."""
        return self.of(job) in _STUCK

    # ---- all jobs ---------------------------------------------------------------------------------------------

    def of(self, job: Job) -> Reason:
        """Give the reason of a job."""
        return self.why(job).reason

    def of_all(self) -> Iterator[tuple[Job, Reason]]:
        """Give the reasons of all pending jobs, in less time than one by one.

        Jobs come in queue order. If one is behind a job that blocks its partition, so are all later ones of that
        partition, which need not be looked for again.
        """
        behind: set[str] = set()
        for job in self._queue.waiting():
            yield job, self.why(job, behind).reason
        for job in self._queue.parked.values():
            yield job, self.of(job)

    def why(self, job: Job, behind: set[str] | None = None) -> Why:
        """Give the reason of a job, with the details that ``squeue`` shows.

        Args:
            job: The job.
            behind: Partitions in which this job and later ones are known to be behind one that blocks them; those that
                are found out are added.
        """
        if (shown := self._queue.untested.get(job.job_id)) is not None:
            return Why(shown)
        if not job.is_queued:
            return Why(job.reason, "" if job.records else self._not_permitted(job))
        if self.are_found:
            details = job.details
            return details if details is not None and details.reason is job.reason else Why(job.reason)
        records = [one for one in job.whole.records or (job,) if one.sort_key]
        excesses = [one.held_back() for one in records]
        for record, excess in zip(records, excesses, strict=True):
            if excess is None and (why := self._why_queued(record, behind)).reason is not Reason.PRIORITY:
                return why
        return Why(Reason.PRIORITY if None in excesses else next(filter(None, excesses)).reason)

    def _not_permitted(self, job: Job, reason: Reason | None = None) -> str:
        """Give the sentence about the list of a partition that excludes a job; empty: none does.

        Args:
            job: The job, or one of its queue records.
            reason: Why it is excluded; ``None``: the job's reason.
        """
        part, accounts, reason = job.partition, self._accounts, reason or job.reason
        if reason is Reason.QOS_NOT_ALLOWED:
            what, allowed, denied, qos = "QOS", part.allow_qos, part.deny_qos, accounts.qos_of(job)
            own = qos.name if qos else ""
        elif reason is Reason.ACCOUNT_NOT_ALLOWED:
            what, allowed, denied = "account", part.allow_accounts, part.deny_accounts
            own = accounts.account_of(job)
        else:
            return ""
        how = f"allows {','.join(allowed)} not {own}" if allowed else f"denies {','.join(denied)} including {own}"
        return f"Job's {what} not permitted to use this partition ({part.name} {how})"

    def _why_queued(self, job: Job, behind: set[str] | None) -> Why:
        """Say why a job in the queue that no limit holds back would not start in a main pass."""
        partition = "" if job.spec.reservation else job.partition.name
        if self._reservations.maintains_all(job):
            return MAINTENANCE
        is_behind, taken = (True, 0) if behind and partition in behind else self._ahead(job)
        # A record may come before other jobs of its partition that are asked about later.
        if is_behind and behind is not None and partition and job is job.whole and not job.records:
            behind.add(partition)
        if not is_behind and self.lacks_partition_nodes(job, taken):
            return TOO_FEW
        if self.lacks_available_nodes(job, taken):
            return self._not_available(job, taken)
        return Why(Reason.PRIORITY if is_behind else Reason.RESOURCES)

    def _not_available(self, job: Job, taken: int) -> Why:
        """Give the reason of a job that could not start now even if no other ran."""
        state = self._state
        if away := (state.down | taken) & (state.required_nodes(job) or job.partition.nodes):
            return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, UnavailableNodes:", away)
        return Why(Reason.REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail, May be reserved for other job")

    def _ahead(self, job: Job) -> tuple[bool, int]:
        """Determine whether jobs before a queued one block it in the main pass.

        Returns:
            Whether they do; if not, the bitmap of the nodes that the main pass has set aside for them.
        """
        stops = LIMIT_REASONS if self._state.settings.assoc_limit_stop else frozenset()
        mine = job.spec.reservation or job.partition.name
        blocked: set[str] = set()
        taken = 0
        for one in self._queue.queued:
            if one is job:
                break
            excess = one.held_back() if one.start_limits else None
            if excess is not None and excess.reason in self._queue.planned_reasons:
                return True, 0
            partition, reservation = one.partition, one.spec.reservation
            if job.spec.reservation not in {"", reservation}:
                continue
            if (reservation or partition.name) in blocked or not partition.nodes & job.partition.nodes:
                continue
            if excess is not None and excess.reason not in stops:
                continue
            if reservation:
                blocked.add(reservation)
            elif excess is not None or self.blocks_partition(one, taken):
                blocked.add(partition.name)
                taken |= partition.nodes
            else:
                taken |= self._state.required_nodes(one)
            if mine in blocked:
                return True, 0
        return False, taken

    # ---- rules of the main pass -------------------------------------------------------------------------------

    def blocks_partition(self, job: Job, taken: int) -> bool:
        """Whether a job that does not fit blocks its partition.

        It does not if it asks for all its nodes by name, if its priority is too low, or if it could not start even if
        no other job ran, unless it asks for more nodes than exist.

        Args:
            job: A queued job without reservation.
            taken: Bitmap of the nodes set aside for jobs before it.
        """
        if self.lacks_partition_nodes(job, taken):
            return True
        return not self._lets_others_by(job) and not self.lacks_available_nodes(job, taken)

    def lacks_partition_nodes(self, job: Job, taken: int) -> bool:
        """Whether a job needs more nodes of its partition than are up and not set aside, unless it names them all."""
        left = (job.partition.nodes & ~(self._state.down | taken)).bit_count()
        least = max(job.spec.min_nodes, 1)
        return left < least and self._state.required_nodes(job).bit_count() < least

    def lacks_available_nodes(self, job: Job, taken: int) -> bool:
        """Whether a job could not start now even if no other ran, as nodes are down, reserved or set aside.

        Nodes that it asks for by name are not set aside for it.
        """
        state, book = self._state, self._reservations
        closed = taken and taken & ~state.required_nodes(job)
        if book.all:
            closed |= book.closed(job, state.now, job.time_limit)
        return bool(closed or state.down) and not state.pool.could_start(job, state.pool.without(state.pool.up, closed))


def _takes_whole_nodes(job: Job) -> bool:
    return job.spec.exclusive or job.partition.exclusive
