"""The queue: pending jobs in order, the jobs that can be considered, and the new jobs since the last pass.

A pending job is either *queued* or *parked*. A queued job starts if it fits and no start limit holds it back; why it
waits is found by passes (see `rota.core.queue.reasons`). A parked job cannot be considered; its reason says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.limits.start_limits import LIMIT_REASONS
from rota.core.sorted_jobs import JobSequence, SortedJobs, queue_key
from rota.core.timers import Timer, TimerKind
from rota.model import YEAR, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.core.job import Job
    from rota.core.limits.start_limits import Excess, StartLimit
    from rota.core.state import ClusterState

#: Seconds after which jobs that wait for usage to decay are tested again: Slurm's ``sched_interval``.
_RETEST_S = 60
_DECAY = Timer(TimerKind.LIMITS_DECAY)


#: Reasons that passes find. Jobs that are taken out of the queue and put back keep them.
FOUND = LIMIT_REASONS | {
    Reason.NONE,
    Reason.PRIORITY,
    Reason.RESOURCES,
    Reason.REQ_NODE_NOT_AVAIL,
    Reason.LICENSES,
    Reason.JOB_ARRAY_TASK_LIMIT,
    Reason.QOS_USAGE_THRESHOLD,
}


class JobQueue:
    """The pending jobs.

    Args:
        state: The machine and its jobs.
    """

    __slots__ = (
        "_state",
        "behind",
        "behind_in",
        "changed",
        "changes",
        "entered",
        "late",
        "limited",
        "limits_tested",
        "mixed",
        "new",
        "parked",
        "planned_reasons",
        "queued",
        "unflushed",
        "untested",
        "why_parked",
    )

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: Queued jobs, and the queue records of those with several partitions; sorted by `queue_key`.
        self.queued = SortedJobs()
        #: Parked jobs by id.
        self.parked: dict[int, Job] = {}
        #: Jobs queued since the last pass; ``None``: other things have changed, and the next pass has to test all jobs.
        self.new: list[Job] | None = None
        #: Whether something has changed that timers with ``only_after_change`` wait for.
        self.changed = True
        #: A number that grows whenever a pending job comes, goes, or is considered anew.
        self.changes = 0
        #: Number of live jobs that have start limits.
        self.limited = 0
        #: Reasons that the scheduler plans for: jobs that are held back for these are candidates.
        self.planned_reasons: frozenset[Reason] = frozenset()
        #: Function that is called before the order is read; see `Controller.before_queue`.
        self.unflushed: Callable[[], object] | None = None
        #: Function that is told what a scheduler has found of the start limits of a queued job; ``None``: none is.
        self.limits_tested: Callable[[Job, Excess | None], object] | None = None
        #: Reasons that are still shown of jobs that have others, as no pass has tested them since; by job id.
        self.untested: dict[int, Reason] = {}
        #: Queued jobs of which some records are not in the queue, by id.
        self.mixed: dict[int, Job] = {}
        #: Key in the order of the queue: what is behind it, but for ``entered``, has a reason over which main passes do
        #: not write that it waits behind others; ``()``: the pass under way will tell; ``None``: not known.
        self.behind: tuple[int, ...] | None = None
        #: All partitions of what was in the queue then.
        self.behind_in: set[str] = set()
        #: What has entered the queue since then.
        self.entered: list[Job] = []
        #: Ids of queued jobs that cannot end by their deadlines any more, which a pass finds when it comes to them.
        self.late: set[int] = set()
        #: Function that says why a pending job or queue record cannot be considered now; ``None``: it can.
        self.why_parked: Callable[[Job], Reason | None] = _never_parked

    def touch(self) -> None:
        """Record that something has changed which could let any pending job start."""
        self.new = None
        self.changed = True

    def flush(self) -> None:
        """Call the function that was deferred until the order is read."""
        if self.unflushed is not None:
            fn, self.unflushed = self.unflushed, None
            fn()

    # ---- insertion and removal --------------------------------------------------------------------------------

    def insert(self, job: Job) -> None:
        """Queue or park a pending job that is neither queued nor parked."""
        self.changed = True
        self.changes += 1
        if job.spec.deadline and (time := latest_start(job) + 1) > self._state.now:
            self._state.timers.set(time, Timer(TimerKind.DEADLINE, job.job_id))
        if job.switches and job.priority:
            self._wait_for_switches(job)
        if job.records:
            self._insert_records(job)
        elif (reason := self.why_parked(job)) is not None:
            self._park(job, reason)
        else:
            self.queued.add(job, queue_key(job))
            if self.new is not None:
                self.new.append(job)
            if self.behind is not None:
                self.entered.append(job)
            self._note_queued(job)

    def _wait_for_switches(self, job: Job) -> None:
        """Set the timer for the end of a job's wait for few switches.

        As in Slurm the time counts from when the job was first considered, that is from its submission or, if it was
        held then, its release.
        """
        if job.waits_since is None:
            job.waits_since = self._state.now
        end = job.waits_since + job.spec.switch_wait
        if end > self._state.now:
            self._state.timers.set(end, Timer(TimerKind.SWITCHES, job.job_id))
        else:
            self.waited_for_switches(job)

    def waited_for_switches(self, job: Job) -> None:
        """Let a pending job start on any number of switches."""
        job.switches = 0
        for record in (job, *job.records):
            record.request_class = None
        self.touch()

    def _note_queued(self, job: Job) -> None:
        """Set the eligible time of a job that has been queued, and its reason if it was parked for it."""
        if job.reason not in FOUND:
            if self.limits_tested is not None:
                self.untested[job.job_id] = job.reason
            job.reason = Reason.NONE
        if job.eligible_time is None:
            job.eligible_time = self._state.now
        if job.spec.deadline and latest_start(job) < self._state.now:
            self.late_for_deadline(job)

    def _insert_records(self, job: Job) -> None:
        """Queue the records of a job that can be considered now; if none can, park the job."""
        reasons = [self.why_parked(record) for record in job.records]
        for record, why in zip(job.records, reasons, strict=True):
            record.obstacle = why
        if None not in reasons:
            self._park(job, _reason_of_several(job))
            return
        entered: list[Job] = []
        for record, why in zip(job.records, reasons, strict=True):
            if why is None:
                self.queued.add(record, queue_key(record))
                entered.append(record)
            else:
                record.forget_plan()
        job.copy_earliest_plan()
        job.sort_key = min(record.sort_key for record in entered)
        if len(entered) < len(reasons):
            self.mixed[job.job_id] = job
        if self.new is not None:
            self.new += entered
        self.behind = None
        self._note_queued(job)

    def _park(self, job: Job, reason: Reason) -> None:
        job.reason = reason
        job.forget_plan()
        self.parked[job.job_id] = job
        if reason is Reason.BEGIN_TIME:
            self._state.timers.set(job.spec.begin_time, Timer(TimerKind.BEGIN_TIME, job.job_id))
        elif reason is Reason.DEPENDENCY_NEVER_SATISFIED:
            ends = job.spec.kill_on_invalid_dep
            if self._state.settings.kill_invalid_depend if ends is None else ends:
                self._state.to_end.append(job)

    def restore(self, job: Job, *, parked: bool) -> None:
        """Queue or park a job as it was when it was saved.

        Args:
            job: The job.
            parked: Whether it was parked; else it was queued, in all partitions in which it has no obstacle.
        """
        if parked:
            self.parked[job.job_id] = job
            return
        queued: list[Job] = [record for record in job.records if record.obstacle is None] or [job]
        for one in queued:
            self.queued.add(one, queue_key(one))
        job.sort_key = min(one.sort_key for one in queued)
        if len(queued) < len(job.records):
            self.mixed[job.job_id] = job
        if job.spec.deadline and latest_start(job) < self._state.now:
            self.late_for_deadline(job)

    def remove(self, job: Job) -> None:
        """Remove a pending job from the queue or from the parked jobs."""
        self.changed = True
        self.changes += 1
        self.untested.pop(job.job_id, None)
        self.late.discard(job.job_id)
        if self.parked.pop(job.job_id, None) is None:
            self.remove_queued(job)
            self.new = None

    def remove_queued(self, job: Job) -> None:
        """Remove a queued job, with all its records."""
        self.changes += 1
        if not job.records:
            self.queued.remove(job)
            return
        for record in job.records:
            if record.sort_key:
                self.queued.remove(record)
        job.sort_key = ()
        self.mixed.pop(job.job_id, None)

    def reconsider(self, job: Job) -> None:
        """Determine again whether a pending job is queued or parked."""
        self.remove(job)
        self.insert(job)

    def reconsider_with(self, job: Job, reason: Reason) -> None:
        """Set the reason of a pending job, and reconsider it; a completing job is reconsidered when it has ended."""
        if job.alloc:
            job.reason = reason
            return
        self.remove(job)
        job.reason = reason
        self.insert(job)

    def resort(self) -> bool:
        """Sort the queue after ``sort_key`` of jobs in it has changed; say whether the order has changed."""
        # In a pass who is behind in the order of before.
        self.behind = self.queued.moved(self.behind) if self.behind else None
        return self.queued.resort()

    def reconsider_all(self) -> None:
        """Reconsider all pending jobs, after partitions or limits have changed."""
        waiting = [*self.parked.values(), *self.waiting()]
        for job in waiting:
            self.remove(job)
        for job in waiting:
            self.insert(job)

    def begin_time_reached(self, job_id: int) -> None:
        """Reconsider a job at its begin time, if it is parked."""
        job = self.parked.pop(job_id, None)
        if job is not None:
            self.insert(job)

    # ---- deadlines --------------------------------------------------------------------------------------------

    def late_for_deadline(self, job: Job) -> None:
        """Note that a queued job cannot end by its deadline any more; as in Slurm it ends when a pass comes to it.

        If no main passes are made, it ends now.
        """
        if self.limits_tested is None:
            self._state.to_end.append(job)
        else:
            self.late.add(job.job_id)

    def misses_deadline(self, job: Job) -> bool:
        """Whether a queued job to which a pass has come cannot end by its deadline any more; if so, it will end now."""
        is_late = job.job_id in self.late
        if is_late:
            self._state.to_end.append(job.whole)
        return is_late

    # ---- queries ----------------------------------------------------------------------------------------------

    def contains(self, job: Job) -> bool:
        """Whether a job is queued or parked."""
        return job.is_queued or job.job_id in self.parked

    def waiting(self) -> list[Job]:
        """Give the queued jobs in order, each once."""
        return list(dict.fromkeys(job.whole for job in self.queued))

    # ---- for passes -------------------------------------------------------------------------------------------

    def candidates(self) -> JobSequence:
        """Give the queued jobs that no start limit holds back, in order."""
        if self.unflushed is not None:
            self.flush()
        if not self.limited:
            return self.queued.snapshot()
        return JobSequence([job.view for job in self._not_held_back(self.queued)])

    def new_candidates(self) -> list[Job] | None:
        """Give the candidates that are new since the last pass; ``None``: all have to be tested."""
        if self.unflushed is not None:
            self.flush()
        return self.new if not self.new or not self.limited else self._not_held_back(self.new)

    def _not_held_back(self, jobs: Iterable[Job]) -> list[Job]:
        test, tell = LimitTest(self), self.limits_tested
        free: list[Job] = []
        for job in jobs:
            if job.start_limits:
                excess = test.holds(job)
                if tell is not None:
                    tell(job, excess)
                if excess is not None:
                    continue
            free.append(job)
        return free

    def held_back(self, job: Job) -> Excess | None:
        """Give the limit that holds a queued job back, unless the scheduler plans for its reason; ``None``: none."""
        excess = self.schedule_retest(job.held_back())
        return None if excess is None or excess.reason in self.planned_reasons else excess

    def schedule_retest(self, excess: Excess | None) -> Excess | None:
        """Set a timer to test again if a limit's usage decays by itself; give the same excess."""
        if excess is not None and excess.limit.decays and _DECAY not in self._state.timers:
            self._state.timers.set(self._state.now + _RETEST_S, _DECAY)
        return excess


class LimitTest:
    """Tests the start limits of many jobs at one time: often one test of a limit is enough for all its jobs.

    Args:
        queue: The queue of the jobs. Jobs may start meanwhile, and none may end.
    """

    __slots__ = ("_known", "_queue")

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        #: The limits that hold back all their jobs, with what they say of the first one; ``None``: not all.
        self._known: dict[StartLimit[Job], Excess | None] = {}

    def holds(self, job: Job) -> Excess | None:
        """Give the limit that holds a job back, unless the scheduler plans for its reason; ``None``: none does."""
        known, queue = self._known, self._queue
        for one in job.start_limits:
            if one not in known:
                excess = queue.schedule_retest(one.holds_back(job, 0)) if one.holds_back_all() else None
                known[one] = None if excess is None or excess.reason in queue.planned_reasons else excess
            if (excess := known[one]) is not None:
                return excess
        return queue.held_back(job)


def latest_start(job: Job) -> int:
    """Give the last time at which a job can start and end by its deadline, Unix seconds."""
    return job.spec.deadline - (job.spec.time_min or (0 if job.time_limit == YEAR else job.time_limit))


def _reason_of_several(job: Job) -> Reason:
    """Give the reason of a job that is parked in all its partitions: each overwrites those before it, as in Slurm.

    That it waits for its begin time is tested before the partitions are. In one of which the nodes can never serve it,
    nothing keeps it out of the queue in Slurm.
    """
    reasons = [record.obstacle for record in job.by_tier if record.obstacle is not None]
    if Reason.BEGIN_TIME in reasons:
        return Reason.BEGIN_TIME
    return next((one for one in reversed(reasons) if one is not Reason.BAD_CONSTRAINTS), Reason.BAD_CONSTRAINTS)


def _never_parked(job: Job) -> Reason | None:  # noqa: ARG001 - the default of `why_parked`
    return None
