"""Runs of jobs: start, suspension, stop and end.

Over 400 lines: one class makes all that happens to a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.core.effects import JobFinished, Kill, Launch, ResumeRun, RunRequeued, SendSignal, SuspendRun
from rota.core.events import Outcome
from rota.core.job import Job, QueueRecord
from rota.core.jobs.splitting import become_task, split_off
from rota.core.jobs.transitions import Trigger, change_state
from rota.core.timers import Timer, TimerKind
from rota.model import JobRecord, JobState, Reason
from rota.model.job_state import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.core.cluster import Cluster
    from rota.core.events import JobEnded, LaunchFailed, StepChanged
    from rota.core.job_view import PluginJob
    from rota.core.jobs.priorities import Priorities
    from rota.model import JobSpec

SIGKILL, SIGTERM = 9, 15
#: What Slurm shows as the signal of a job that ran out of memory: its ``SIG_OOM`` is 253, and ``0:125`` what is shown.
_OOM = 125
# Python 3.11 takes eight times as long to find a member of an Enum as a global name.
_ENDED, _OUT_OF_MEMORY = Outcome.ENDED, Outcome.OUT_OF_MEMORY
_PENDING, _NODE_FAIL = JobState.PENDING, JobState.NODE_FAIL
_NO_REASON = Reason.NONE
_START, _EXIT_OK = Trigger.START, Trigger.EXIT_OK
#: Smallest number of seconds after which a suspended job is expected to end.
_RECHECK_S = 60


class Scheduler(Protocol):
    """The functions of the scheduler plugin about allocations."""

    @property
    def newalloc(self) -> Callable[[PluginJob], None] | None:
        """Called when resources have been allocated to a job; ``None``: the plugin has no such function."""

    @property
    def freealloc(self) -> Callable[[PluginJob], None] | None:
        """Called before the resources of a job are freed; ``None``: the plugin has no such function."""


class Runs:
    """Starts, suspends, stops and ends jobs.

    Args:
        cluster: The cluster whose jobs these are.
        scheduler: The scheduler plugin.
        priorities: Computes the priorities of requeued jobs.
    """

    __slots__ = ("_cluster", "_freealloc", "_newalloc", "_priorities", "_queue", "_state")

    def __init__(self, cluster: Cluster, scheduler: Scheduler, priorities: Priorities) -> None:
        self._cluster = cluster
        self._state = cluster.state
        self._queue = cluster.queue
        self._newalloc = scheduler.newalloc
        self._freealloc = scheduler.freealloc
        self._priorities = priorities

    # ---- start ------------------------------------------------------------------------------------------------

    def start(self, job: Job, resources: int, time_limit: int = 0) -> Reason | None:
        """Start a queued job, or the job of a queue record in that record's partition.

        For a job array one task is started; the record stays in the queue as long as it has pending tasks.

        Args:
            job: The job or queue record.
            resources: The resource set to allocate, which has to be free.
            time_limit: Another time limit in seconds; 0: the job's.

        Returns:
            The reason if a start limit holds the job back, and nothing has changed; else ``None``.
        """
        state, cluster = self._state, self._cluster
        if job.start_limits and (excess := job.held_back(resources)) is not None:
            cluster.policy.refuse(job, excess)
            job.whole.tested_nodes = state.pool.nodes_of(resources)
            job.reason = excess.reason
            self._queue.schedule_retest(excess)
            return excess.reason
        if job.array is not None and job.waiting_tasks > 1:
            job = split_off(cluster, job, job.array)
        else:
            self._queue.remove_queued(job.whole if isinstance(job, QueueRecord) else job)
        if isinstance(job, QueueRecord):
            job = job.choose_partition()
        if job.array is not None:
            become_task(job)
        change_state(job, _START)
        state.pool.take(resources)
        job.reason = _NO_REASON
        job.alloc = resources
        job.alloc_nodes = state.pool.nodes_of(resources)
        job.start_time = job.charged_since = state.now
        before, spec = job.time_limit, job.spec
        job.time_limit = time_limit or before
        if spec.time_min is not None and cluster.obstacles.is_too_long(job):
            job.time_limit = job.partition.default_time or job.partition.max_time or job.time_limit
        if spec.deadline:
            job.time_limit = max(min(job.time_limit, spec.deadline - state.now), 1)
            state.timers.cancel(Timer(TimerKind.DEADLINE, job.job_id))
        if job.time_limit != before:
            job.show()
        if job.switches:
            state.timers.cancel(Timer(TimerKind.SWITCHES, job.job_id))
        end = state.now + job.time_limit
        if spec.reservation and (longest := cluster.reservations.time_left(job)) is not None:
            end = min(end, state.now + longest)
        job.end_time = end
        if job.planned_start is not None or job.records:
            job.forget_plan()
        state.running.add(job, (end, job.job_id))
        self._queue.changed = True
        if job.start_limits:
            self._queue.new = None
            for one in job.start_limits:
                one.started(job)
        if cluster.accounts.usage is not None:
            cluster.accounts.started(job)
        state.effects.append(Launch(job.job_id, job.restart_count, resources))
        if self._newalloc is not None:
            self._newalloc(job.view)
        if cluster.dependencies.waiting:
            cluster.dependencies.started(job)
        return None

    # ---- end --------------------------------------------------------------------------------------------------

    def ended(self, event: JobEnded) -> bool:
        """Handle the end of a run; say whether the run is known, else nothing is changed."""
        job = self._run_of(event.job_id, event.restart_count)
        if job is None:
            return False
        _, _, job.exit_code, job.signal, time, outcome = event
        if outcome is _OUT_OF_MEMORY:
            job.exit_code, job.signal = 0, _OOM
        if job.state is _NODE_FAIL:
            job.exit_code = job.signal = 0
        if job.state in RUNS:
            if outcome is _ENDED and not (job.exit_code or job.signal):
                change_state(job, _EXIT_OK)
            else:
                trigger, job.reason = self._bad_end_of(job, outcome)
                change_state(job, trigger)
        now = self._state.now
        self._free(job, now if time is None else min(max(time, job.start_time or 0), now))
        return True

    def _bad_end_of(self, job: Job, outcome: Outcome) -> tuple[Trigger, Reason]:
        """Give the trigger and the reason for a job that was not stopped, and did not succeed."""
        if outcome is Outcome.LOST:
            return Trigger.REQUEUE if self.may_requeue(job.spec) else Trigger.NODE_LOST, Reason.NODE_DOWN
        if outcome is Outcome.OUT_OF_MEMORY:
            return Trigger.OUT_OF_MEMORY, Reason.OUT_OF_MEMORY
        if outcome is Outcome.UNKNOWN:
            # It may have succeeded: neither is it said to have failed, nor is it run again.
            return Trigger.NODE_LOST, Reason.SYSTEM_FAILURE
        return Trigger.EXIT_ERROR, Reason.JOB_LAUNCH_FAILURE if job.signal else Reason.NON_ZERO_EXIT_CODE

    def launch_failed(self, event: LaunchFailed) -> bool:
        """Handle a failed launch: the job fails, or is requeued and held; or waits, if it can be tried again.

        Returns:
            Whether the run is known; else nothing is changed.
        """
        job = self._run_of(event.job_id, event.restart_count)
        if job is None:
            return False
        if job.state in RUNS and event.again_after is not None:  # whatever --no-requeue says: it has not run
            job.spec = job.spec._replace(begin_time=self._state.now + event.again_after)
            job.reason = Reason.NONE
            change_state(job, Trigger.REQUEUE)
        elif job.state in RUNS:
            job.reason = Reason.JOB_LAUNCH_FAILURE
            if self.may_requeue(job.spec):
                job.hold_all_records()
                change_state(job, Trigger.REQUEUE)
            else:
                change_state(job, Trigger.BOOT_FAIL if event.boot else Trigger.LAUNCH_FAIL)
        self._free(job, self._state.now)
        return True

    def step_changed(self, event: StepChanged) -> bool:
        """Store the record of a step; say whether the run is known, else nothing is changed."""
        job = self._run_of(event.job_id, event.restart_count)
        if job is None:
            return False
        new = event.step
        known = any(one.step_id == new.step_id for one in job.steps)
        job.steps = (
            tuple(new if one.step_id == new.step_id else one for one in job.steps) if known else (*job.steps, new)
        )
        return True

    def _run_of(self, job_id: int, restart_count: int) -> Job | None:
        """Find the job of a run that has resources; ``None``: that run has ended, or never was."""
        job = self._state.jobs.get(job_id)
        return job if job is not None and job.alloc and job.restart_count == restart_count else None

    def _free(self, job: Job, end_time: int) -> None:
        """Free the resources of a job whose run has ended; it is requeued, or its record is handed out.

        Args:
            job: The job.
            end_time: When the run ended, Unix seconds.
        """
        state, cluster = self._state, self._cluster
        if self._freealloc is not None:
            self._freealloc(job.view)
        if job.suspended_since is not None:
            self._count_suspended(job, job.suspended_since)
        if job.sort_key:
            state.running.remove(job)
        else:
            del state.completing[job.job_id]
        if cluster.accounts.usage is not None:
            cluster.accounts.ended(job, end_time)
        for one in job.start_limits:
            one.ended(job)
        if self._queue.limited:
            cluster.policy.forget_refusals()
        resources, nodes = job.alloc, job.alloc_nodes
        state.pool.release(resources)
        job.alloc = job.alloc_nodes = 0
        self._queue.touch()
        job.end_time = end_time
        if job.state is _PENDING:
            self.finish(job, resources, nodes, requeued=True)
            self._requeue(job)
        else:
            self.finish(job, resources, nodes)

    def _requeue(self, job: Job) -> None:
        """Queue or park a job that has run; as in Slurm its times of submission and eligibility are new."""
        state = self._state
        state.timers.cancel_of_job(job.job_id)
        job.restart_count += 1
        job.submit_time = state.now
        if job.reason is Reason.NODE_DOWN and job.restart_count > state.settings.max_requeue:
            job.hold_all_records()
            job.reason = Reason.JOB_HOLD_MAX_REQUEUE
        job.start_time = job.end_time = None
        job.suspended = job.exit_code = job.signal = job.tested_nodes = 0
        job.steps = ()
        if job.is_attracted:
            name = job.spec.reservation
            job.spec, job.is_attracted = job.spec._replace(reservation=""), False
            self._cluster.reservations.left(name)
        if state.settings.requeue_delay:
            job.spec = job.spec._replace(begin_time=state.now + state.settings.requeue_delay)
        # Of one that is held it is when it could have started.
        job.eligible_time = None if job.priority else max(state.now, job.spec.begin_time)
        if job.task_id is not None and job.priority:
            self._priorities.ask(job)  # so far it had the priority of its array's record
        elif job.records:  # so far it had the priority in the partition in which it ran
            job.priority = max(record.priority for record in job.records)
        self._queue.insert(job)
        if job.reason is Reason.BEGIN_TIME and self._cluster.reasons.are_found:
            self._queue.untested[job.job_id] = Reason.NONE

    def finish(self, job: Job, resources: int = 0, nodes: int = 0, *, requeued: bool = False) -> None:
        """Remove a job that has ended, and hand out its record.

        Args:
            job: The job, which is neither queued nor parked.
            resources: The resource set of its last allocation; 0: it never ran.
            nodes: Bitmap of the nodes of this allocation.
            requeued: Whether only a run has ended, and the job is queued again.
        """
        over: Iterable[int] = ()
        if not requeued:
            over = self._cluster.remove(job)
        elif job.task_id is not None:
            over = (job.task_id,)
        array, assoc, accounts = job.array, job.assoc, self._cluster.accounts
        if assoc is None and accounts.tree.users:
            assoc = accounts.association_of(job)
        qos = accounts.qos_of(job) if assoc is not None else None
        record = JobRecord(
            job.job_id,
            job.spec,
            job.state,
            job.reason,
            job.partition.name,
            "" if assoc is None else assoc.account,
            job.spec.qos if qos is None else qos.name,
            None if array is None else array.job_id,
            tuple(over),
            array is not None and array.is_over,
            job.submit_time,
            job.eligible_time,
            job.start_time,
            self._state.now if job.end_time is None else job.end_time,
            job.suspended,
            job.time_limit,
            job.priority,
            job.restart_count,
            job.exit_code,
            job.signal,
            resources,
            nodes,
            job.steps,
            job.cancelled_by,
        )
        self._state.effects.append(RunRequeued(record) if requeued else JobFinished(record))

    # ---- stop -------------------------------------------------------------------------------------------------

    def stop(self, job: Job, trigger: Trigger, reason: Reason = Reason.NONE, signal: int = SIGTERM) -> None:
        """Stop a running or suspended job; it is completing until the driver reports its end.

        Args:
            job: The job.
            trigger: Why its state changes.
            reason: Its reason from now on.
            signal: The signal that is sent first.
        """
        state = self._state
        change_state(job, trigger)
        job.reason = reason
        if job.suspended_since is not None:  # it runs until it has ended
            self._charge_again(job, job.suspended_since)
            if job.limits is not None:
                job.limits.resume(job)
        state.running.remove(job)
        job.time_left = (job.end_time or 0) - state.now
        job.end_time = state.now
        state.completing[job.job_id] = job
        self._queue.touch()
        wait = state.settings.kill_wait
        state.effects.append(Kill(job_id=job.job_id, restart_count=job.restart_count, signal=signal, wait=wait))

    def send_signal(self, job: Job, signal: int) -> None:
        """Send a signal to a running or suspended job."""
        effect = SendSignal(job_id=job.job_id, restart_count=job.restart_count, signal=signal)
        self._state.effects.append(effect)

    def enforce_time_limits(self) -> None:
        """Stop the jobs that have reached their time limit, unless OverTimeLimit allows them more."""
        now, running = self._state.now, self._state.running
        while running.jobs and ((job := running.jobs[0]).end_time or 0) <= now:
            if job.state is JobState.SUSPENDED:
                self._expect_end_of_suspended(job)
            elif job.partition.over_time_limit == 0 or not self._extend(job):
                self.stop(job, Trigger.TIME_LIMIT, Reason.TIME_LIMIT)

    def _extend(self, job: Job) -> bool:
        """Set the expected end of a job at its time limit to what OverTimeLimit allows; ``False``: it must stop now."""
        now, longest = self._state.now, job.longest_run
        # Without a bound, Slurm assumes that it runs for its time limit once more.
        end = now + job.time_limit if longest is None else job.effective_start + longest
        if job.spec.reservation and (left := self._cluster.reservations.time_left(job)) is not None:
            end = min(end, now + left)
        if end <= now:
            return False
        self.expect_end(job, end)
        self._queue.touch()
        return True

    def expect_end(self, job: Job, end: int) -> None:
        """Set the expected end of a running job, Unix seconds."""
        for one in job.start_limits:
            one.ended(job)
        self._state.running.remove(job)
        job.end_time = end
        self._state.running.add(job, (end, job.job_id))
        for one in job.start_limits:
            one.started(job)
        self._queue.changed = True

    def lose_nodes(self, nodes: int) -> None:
        """Stop the jobs on nodes (bitmap) that are down: they are requeued if they may be, else they fail."""
        for job in self._state.running.hand_out():
            if job.alloc_nodes & nodes:
                requeued = self.may_requeue(job.spec)
                self.stop(job, Trigger.REQUEUE if requeued else Trigger.NODE_LOST, Reason.NODE_DOWN, SIGKILL)

    def may_requeue(self, spec: JobSpec) -> bool:
        """Whether a job may be requeued, as its request and ``JobRequeue`` say."""
        wants = self._state.settings.job_requeue if spec.requeue is None else spec.requeue
        return wants and not spec.allocation_only

    # ---- suspension -------------------------------------------------------------------------------------------

    def suspend(self, job: Job) -> None:
        """Suspend a running job. It keeps its resources and counts for limits; its time limit is extended."""
        state = self._state
        change_state(job, Trigger.SUSPEND)
        state.timers.cancel_of_job(job.job_id)
        job.suspended_since = state.now
        job.time_left = (job.end_time or 0) - state.now
        self._cluster.accounts.ended(job, state.now)
        self._expect_end_of_suspended(job)
        state.effects.append(SuspendRun(job_id=job.job_id, restart_count=job.restart_count))

    def _expect_end_of_suspended(self, job: Job) -> None:
        """Set the expected end of a suspended job as if it were resumed now; this is repeated at that time."""
        self.expect_end(job, self._state.now + max(job.time_left, _RECHECK_S))
        if job.limits is not None:
            job.limits.pause(job)
        self._queue.touch()

    def resume(self, job: Job) -> None:
        """Resume a suspended job."""
        state = self._state
        change_state(job, Trigger.RESUME)
        self._charge_again(job, job.suspended_since or state.now)
        self.expect_end(job, state.now + job.time_left)
        self._queue.touch()
        state.effects.append(ResumeRun(job_id=job.job_id, restart_count=job.restart_count))

    def _charge_again(self, job: Job, since: int) -> None:
        """Charge a job again whose suspension, begun at ``since`` (Unix seconds), ends now."""
        self._count_suspended(job, since)
        job.charged_since = self._state.now
        self._cluster.accounts.started(job)

    def _count_suspended(self, job: Job, since: int) -> None:
        """Add the time of a suspension that ends now, and has begun at ``since`` (Unix seconds)."""
        job.suspended += self._state.now - since
        job.suspended_since = None
