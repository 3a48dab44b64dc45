"""Preemption: running jobs are stopped for a job with precedence.

``PreemptType`` determines which: jobs in partitions of a lower ``PriorityTier`` (``preempt/partition_prio``), or of QOS
that the job's QOS may preempt (``preempt/qos``). ``PreemptMode`` of cluster, partition or QOS determines what happens
to them: they are cancelled, or requeued if they allow it.

Candidates are sorted by tier or priority of the QOS, lowest first, then by number of nodes, then by submit time. They
are removed one by one until the job fits. Then, ``preempt_reorder_count`` times, this is repeated with the last one
removed in front and the others sorted by how many of the job's nodes they hold, as fewer may suffice. Of the jobs
removed only those that hold some of the job's nodes are preempted.

Source: Slurm's preemption page, and observation of a real Slurm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.core.jobs.runs import SIGTERM
from rota.core.jobs.transitions import Trigger
from rota.core.timers import Timer, TimerKind
from rota.model import JobState, Reason
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.jobs.runs import Runs
    from rota.model import ClusterConfig

_TYPES = ("preempt/none", "preempt/partition_prio", "preempt/qos")
_OFF, _CANCEL, _REQUEUE = "OFF", "CANCEL", "REQUEUE"
#: Default of ``requeue_delay``, in seconds.
_REQUEUE_DELAY = 120
_MODES = (_OFF, _CANCEL, _REQUEUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionOptions:
    """Preemption options in slurm.conf."""

    type: str
    mode: str
    #: ``preempt_reorder_count``, ``preempt_strict_order`` and ``preempt_youngest_first`` of SchedulerParameters.
    reorders: int
    keeps_order: bool
    youngest_first: bool
    #: ``PreemptExemptTime`` in seconds.
    exempt_time: int

    @classmethod
    def read(cls, config: ClusterConfig) -> PreemptionOptions:
        """Read slurm.conf.

        Raises:
            InputError: a value cannot be used.
        """
        kind = config.get("PreemptType", _TYPES[0]).lower()
        if kind not in _TYPES:
            raise config.error("PreemptType", f"{kind!r} is none of {', '.join(_TYPES)}")
        mode = read_mode(config.get("PreemptMode"))
        if mode is None:
            raise config.error("PreemptMode", f"{config.get('PreemptMode')!r} is none of {', '.join(_MODES)} so far")
        words = config.scheduler_parameters()
        return cls(
            type=kind,
            mode=mode,
            reorders=config.scheduler_int("preempt_reorder_count", 1, 0, 1_000_000),
            keeps_order="preempt_strict_order" in words,
            youngest_first="preempt_youngest_first" in words,
            exempt_time=_exempt_time(config),
        )


class Preemption:
    """Finds jobs to preempt, and preempts them.

    Args:
        cluster: The cluster whose jobs these are.
        runs: Stops the jobs.

    Raises:
        InputError: a parameter of slurm.conf about preemption cannot be used.
    """

    def __init__(self, cluster: Cluster, runs: Runs) -> None:
        self._state = cluster.state
        self._accounts = cluster.accounts
        self._runs = runs
        cluster.state.follow_machine(self._read_machine)

    def _read_machine(self) -> None:
        #: The options in force.
        self.options = PreemptionOptions.read(self._state.config)
        #: Whether any job can be preempted.
        self.is_on = self.options.type != _TYPES[0]
        #: Least PriorityTier of all partitions.
        self._lowest_tier = min(part.priority_tier for part in self._state.partitions.values())

    def make_room(self, job: Job, avail: int, closed: int) -> bool:
        """Preempt jobs so that a pending job fits.

        Args:
            job: The job, or one of its queue records.
            avail: Resource set that is available to the job.
            closed: Bitmap of nodes that the job must not use.

        Returns:
            Whether the job will fit when the preempted jobs have ended.
        """
        if self.preemption_class(job) is None:
            return False
        candidates = self.candidates(job)
        pool, state = self._state.pool, self._state
        # The jobs that are being stopped already may suffice.
        leaving = [*state.completing.values(), *(one for one in candidates if self._is_warned(one))]
        for one in leaving:
            avail += pool.without(one.alloc, closed)
        if leaving and pool.select(job, avail):
            return True
        stayers = [one for one in candidates if not self._is_warned(one)]
        victims = self._victims(job, stayers, avail, closed)
        for one in victims:
            self._preempt(one)
        return bool(victims)

    # ---- which jobs -------------------------------------------------------------------------------------------

    def candidates(self, job: Job) -> list[Job]:
        """Give the running jobs that can be preempted for a job, in the order of preference.

        Passes and backfill cycles follow when more can be.
        """
        lower = list(self._lower(job))
        self._wait_for_exempt(lower)
        return self._in_order(lower)

    def present_candidates(self, job: Job) -> list[Job]:
        """Give the same, and change nothing."""
        return self._in_order(self._lower(job))

    def _in_order(self, jobs: Iterable[Job]) -> list[Job]:
        """Sort jobs by preference; those that cannot be preempted yet are left out."""
        now = self._state.now
        found = [one for one in jobs if self._exempt_until(one) <= now]
        found.sort(key=lambda one: (self._rank(one), one.alloc_nodes.bit_count(), one.job_id))
        if self.options.youngest_first:
            found.sort(key=lambda one: -(one.start_time or 0))
        return found

    def _lower(self, job: Job) -> Iterator[Job]:
        """Give the running jobs that can be preempted for a job, now or later."""
        for one in self._state.running:
            if one.state is JobState.RUNNING and self._goes_before(job, one) and self._mode_of(one) != _OFF:
                yield one

    def _wait_for_exempt(self, jobs: Iterable[Job]) -> None:
        """Set timers for passes when more jobs can be preempted."""
        for one in jobs:
            if (time := self._exempt_until(one)) > self._state.now:
                self._state.timers.set(time, Timer(TimerKind.PREEMPT_EXEMPT, one.job_id, one.restart_count))

    def preemption_class(self, job: Job) -> Hashable | None:
        """Give a value that is equal for jobs for which the same ones can be preempted; ``None``: none can."""
        if self.options.type == "preempt/partition_prio":
            tier = job.partition.priority_tier
            return tier if tier > self._lowest_tier else None
        qos = self._accounts.qos_of(job) if self.is_on else None
        return qos.name if qos is not None and qos.preempt else None

    def is_preemptable(self, job: Job) -> bool:
        """Whether a running job could be preempted for some other job."""
        return self.is_on and self._mode_of(job) != _OFF

    def _goes_before(self, job: Job, other: Job) -> bool:
        if self.options.type == "preempt/partition_prio":
            return job.partition.priority_tier > other.partition.priority_tier
        accounts = self._accounts
        mine, others = accounts.qos_of(job), accounts.qos_of(other)
        return mine is not None and others is not None and others.name in mine.preempt

    def _rank(self, job: Job) -> int:
        if self.options.type == "preempt/partition_prio":
            return job.partition.priority_tier
        qos = self._accounts.qos_of(job)
        return 0 if qos is None else qos.priority

    def _mode_of(self, job: Job) -> str | None:
        """Give the preemption mode of a job."""
        if self.options.type == "preempt/partition_prio":
            text = job.partition.options.get("preemptmode", "")
        else:
            qos = self._accounts.qos_of(job)
            text = "" if qos is None else ",".join(qos.preempt_mode)
        return (read_mode(text) if text else None) or self.options.mode

    def _exempt_until(self, job: Job) -> int:
        """Give the time before which a running job cannot be preempted."""
        qos = self._accounts.qos_of(job)
        own = None if qos is None else qos.preempt_exempt_time
        return (job.start_time or 0) + (self.options.exempt_time if own is None else own)

    def _victims(self, job: Job, candidates: Sequence[Job], avail: int, closed: int) -> list[Job]:
        """Choose the jobs to preempt; none if the job would not fit even without all candidates."""
        order, found = list(candidates), self._first_that_do(job, candidates, avail, closed)
        for _ in range(self.options.reorders):
            if found is None or len(found[0]) < 2:
                break
            (*before, last), nodes = found
            if not self.options.keeps_order:
                before.sort(key=lambda one: -(one.alloc_nodes & nodes).bit_count())
            order = [last, *before, *order[len(before) + 1 :]]
            found = self._first_that_do(job, order, avail, closed)
        return [] if found is None else [one for one in found[0] if one.alloc_nodes & found[1]]

    def _first_that_do(self, job: Job, order: Sequence[Job], avail: int, closed: int) -> tuple[list[Job], int] | None:
        """Remove jobs in order until another one fits; give them, and the nodes that it gets."""
        pool = self._state.pool
        for index, one in enumerate(order, start=1):
            avail += pool.without(one.alloc, closed)
            if resources := pool.select(job, avail):
                return list(order[:index]), pool.nodes_of(resources)
        return None

    # ---- what happens to them ---------------------------------------------------------------------------------

    def _preempt(self, job: Job) -> None:
        """Preempt a job, now or after its grace time."""
        if grace := self._grace_time(job):
            self._state.timers.set(self._state.now + grace, _grace_of(job))
            self._runs.send_signal(job, SIGTERM)
        else:
            self._stop(job)

    def _is_warned(self, job: Job) -> bool:
        """Whether a running job's grace time has begun."""
        return _grace_of(job) in self._state.timers

    def _grace_time(self, job: Job) -> int:
        if self.options.type == "preempt/qos":
            qos = self._accounts.qos_of(job)
            return 0 if qos is None else qos.grace_time
        return job.partition.grace_time

    def grace_is_over(self, job_id: int, run: int) -> None:
        """Stop a job after its grace time, if it is still running."""
        job = self._state.jobs.get(job_id)
        if job is not None and job.state is JobState.RUNNING and job.restart_count == run:
            self._stop(job)

    def _stop(self, job: Job) -> None:
        requeues = self._mode_of(job) == _REQUEUE and self._runs.may_requeue(job.spec)
        if requeues:  # it must not start again before the job that preempts it
            job.spec = job.spec._replace(
                begin_time=self._state.now + (self._state.settings.requeue_delay or _REQUEUE_DELAY)
            )
        self._runs.stop(job, Trigger.REQUEUE if requeues else Trigger.PREEMPT, Reason.NONE)


class ReadRules:
    """The rules for questions: they set no time for a pass.

    Args:
        preemption: What determines which jobs can be preempted.
    """

    __slots__ = ("candidates", "is_preemptable", "preemption_class")

    def __init__(self, preemption: Preemption) -> None:
        self.candidates = preemption.present_candidates
        self.is_preemptable = preemption.is_preemptable
        self.preemption_class = preemption.preemption_class


def _grace_of(job: Job) -> Timer:
    return Timer(TimerKind.PREEMPT_GRACE, job.job_id, job.restart_count)


def _exempt_time(config: ClusterConfig) -> int:
    text = config.get("PreemptExemptTime", "0")
    try:
        return parse_time_seconds(text) or 0
    except ValueError as error:
        raise config.error("PreemptExemptTime", str(error)) from None


def read_mode(text: str) -> str | None:
    """Read ``PreemptMode``: what happens to preempted jobs; ``None``: an unsupported mode."""
    words = {word.strip().upper() for word in text.split(",")} - {"", "WITHIN"}
    return next(iter(words), _OFF) if len(words) < 2 and words <= set(_MODES) else None
