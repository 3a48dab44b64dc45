"""The queue: the order of the jobs that wait, which of them may start now, and what is new since the last pass.

A waiting job is either *queued*, and starts if it fits and nothing holds it back, or *parked*: then it must not be
considered, and its reason says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.sorted_jobs import JobView, SortedJobs, queue_key
from rota.core.timers import Timer, TimerKind
from rota.model import YEAR, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rota.core.job import Job
    from rota.core.limits.start_limits import Excess, StartLimit
    from rota.core.state import ClusterState

#: How long a job that waits for usage to fade, or for time to pass, is left alone: Slurm's ``sched_interval``.
_RETEST_S = 60
_DECAY = Timer(TimerKind.LIMITS_DECAY)


class JobQueue:
    """The jobs that wait.

    Args:
        state: Whose jobs.
    """

    __slots__ = (
        "_state",
        "changed",
        "limited",
        "new",
        "parked",
        "planned_reasons",
        "queued",
        "unflushed",
        "why_parked",
    )

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: Queued jobs, and the queue records of those with several partitions; sorted by `queue_key`.
        self.queued = SortedJobs()
        #: By job id; ``job.reason`` says why.
        self.parked: dict[int, Job] = {}
        #: Queued since the last pass; ``None``: something else has happened, and the next pass has to look at all.
        self.new: list[Job] | None = None
        #: Something has changed that a sleeping timer could care for.
        self.changed = True
        #: Live jobs that a start limit could hold back.
        self.limited = 0
        #: What the scheduler plans for: jobs that are held back for these reasons are among the candidates.
        self.planned_reasons: frozenset[Reason] = frozenset()
        #: What is left to do before anybody looks at the order; see `Controller.before_queue`.
        self.unflushed: Callable[[], object] | None = None
        #: Says why a waiting job, or one of its records, must not be considered now; ``None``: it may be.
        self.why_parked: Callable[[Job], Reason | None] = _never_parked

    def touch(self) -> None:
        """Take note that something has changed that could let any waiting job start."""
        self.new = None
        self.changed = True

    def flush(self) -> None:
        """Do what was left to do about the order."""
        if self.unflushed is not None:
            fn, self.unflushed = self.unflushed, None
            fn()

    # ---- putting jobs in their places -------------------------------------------------------------------------

    def insert(self, job: Job) -> None:
        """Put a waiting job that is nowhere where it belongs: queued, or parked."""
        self.changed = True
        if job.spec.deadline and (time := latest_start(job) + 1) > self._state.now:
            self._state.timers.set(time, Timer(TimerKind.DEADLINE, job.job_id))
        if job.records:
            self._insert_records(job)
        elif (reason := self.why_parked(job)) is not None:
            self._park(job, reason)
        else:
            self.queued.add(job, queue_key(job))
            if self.new is not None:
                self.new.append(job)
            self._note_queued(job)

    def _note_queued(self, job: Job) -> None:
        """Take note that a job is queued."""
        job.reason = Reason.NONE
        if job.eligible_time is None:
            job.eligible_time = self._state.now
        if job.spec.deadline and latest_start(job) < self._state.now:
            self._state.to_end.append(job)

    def _insert_records(self, job: Job) -> None:
        """Queue the records of a job whose partitions can take it now; if none can, park the job."""
        reasons = [self.why_parked(record) for record in job.records]
        if None not in reasons:
            # Of several reasons the one that goes away by itself, if there is one; a partition's size never does.
            self._park(job, min(filter(None, reasons), key=_duration_rank))
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
        if self.new is not None:
            self.new += entered
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

    def restore(self, job: Job, *, parked: bool, partitions: Collection[str]) -> None:
        """Put a job where it was when it was saved.

        Args:
            job: The job.
            parked: Whether it was; else it was queued.
            partitions: In which of its partitions, if it has several.
        """
        if parked:
            self.parked[job.job_id] = job
            return
        queued: list[Job] = [record for record in job.records if record.partition.name in partitions] or [job]
        for one in queued:
            self.queued.add(one, queue_key(one))
        job.sort_key = min(one.sort_key for one in queued)

    def remove(self, job: Job) -> None:
        """Take a waiting job out of its place."""
        self.changed = True
        if self.parked.pop(job.job_id, None) is None:
            self.remove_queued(job)
            self.new = None

    def remove_queued(self, job: Job) -> None:
        """Take a queued job out, with all its records."""
        if not job.records:
            self.queued.remove(job)
            return
        for record in job.records:
            if record.sort_key:
                self.queued.remove(record)
        job.sort_key = ()

    def reconsider(self, job: Job) -> None:
        """Look anew where a waiting job belongs."""
        self.remove(job)
        self.insert(job)

    def reconsider_with(self, job: Job, reason: Reason) -> None:
        """Put a pending job where it belongs for a reason; one that is still completing goes there when it is free."""
        if job.alloc:
            job.reason = reason
            return
        self.remove(job)
        job.reason = reason
        self.insert(job)

    def reconsider_all(self) -> None:
        """Look anew where every waiting job belongs, after partitions or limits have changed."""
        waiting = [*self.parked.values(), *self.waiting()]
        for job in waiting:
            self.remove(job)
        for job in waiting:
            self.insert(job)

    def begin_time_reached(self, job_id: int) -> None:
        """Look anew where a job belongs whose begin time has come, if it is parked."""
        job = self.parked.pop(job_id, None)
        if job is not None:
            self.insert(job)

    # ---- asking -----------------------------------------------------------------------------------------------

    def contains(self, job: Job) -> bool:
        """Whether a job waits here, queued or parked."""
        return job.is_queued or job.job_id in self.parked

    def waiting(self) -> list[Job]:
        """Give the jobs that are queued, each once, in their order."""
        return list(dict.fromkeys(job.whole for job in self.queued))

    # ---- for passes -------------------------------------------------------------------------------------------

    def candidates(self) -> JobView:
        """Give the queued jobs that nothing holds back, in their order: those that start if they fit."""
        if self.unflushed is not None:
            self.flush()
        view = self.queued.snapshot()
        return view if not self.limited else JobView(self._not_held_back(view))

    def new_candidates(self) -> list[Job] | None:
        """Give those that are new since the last pass; ``None``: look at all."""
        if self.unflushed is not None:
            self.flush()
        return self.new if not self.new or not self.limited else self._not_held_back(self.new)

    def _not_held_back(self, jobs: JobView | list[Job]) -> list[Job]:
        # Of the many jobs that are under one limit, most can be told by asking that once.
        known: dict[StartLimit[Job], bool | None] = {}
        free: list[Job] = []
        for job in jobs:
            for one in job.start_limits:
                if one not in known:
                    held = one.holds_back_all()
                    known[one] = None if held and self.planned_reasons else held
                    if held:
                        self.schedule_retest(one.holds_back(job, 0))
                if (held := known[one]) or (held is None and self.held_back(job) is not None):
                    break
            else:
                free.append(job)
        return free

    def held_back(self, job: Job) -> Excess | None:
        """Say what holds a queued job back, if the scheduler does not plan for that."""
        excess = self.schedule_retest(job.held_back())
        return None if excess is None or excess.reason in self.planned_reasons else excess

    def schedule_retest(self, excess: Excess | None) -> Excess | None:
        """Have a pass made in a while where what holds a job back goes by itself; give it back."""
        if excess is not None and excess.limit.decays and _DECAY not in self._state.timers:
            self._state.timers.set(self._state.now + _RETEST_S, _DECAY)
        return excess


def latest_start(job: Job) -> int:
    """Give the last moment at which a job with a deadline can start, Unix seconds."""
    without_limit = job.spec.time_limit is None and job.time_limit == YEAR
    return job.spec.deadline - (job.spec.time_min or (0 if without_limit else job.time_limit))


def _duration_rank(reason: Reason) -> int:
    """Rank reasons by how they go away: at a time, when somebody does something, never."""
    return {Reason.BEGIN_TIME: 0, Reason.PARTITION_CONFIG: 2}.get(reason, 1)


def _never_parked(job: Job) -> Reason | None:  # noqa: ARG001 - until somebody knows better
    return None
