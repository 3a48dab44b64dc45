"""A job's life: what each event does to it, and whom it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.core.effects import JobFinished, Kill, Launch, Refused
from rota.core.job import Job, QueueRecord
from rota.core.jobs.admission import check_partitions
from rota.core.jobs.new_jobs import new_job
from rota.core.jobs.splitting import become_task, split_for_dependencies, split_off
from rota.core.jobs.transitions import Trigger, change_state
from rota.core.sorted_jobs import queue_key
from rota.core.timers import Timer, TimerKind
from rota.model import Errno, JobState, NodeState, Reason, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.cluster import Cluster
    from rota.core.effects import Effect
    from rota.model import JobSpec, RotaError


class Scheduler(Protocol):
    """What the scheduler plugin is asked and told of a job's life."""

    @property
    def initial_priority(self) -> Callable[[int, Job], int]:
        """Gives a job its priority, after the lowest given so far."""

    @property
    def newalloc(self) -> Callable[[Job], bool]:
        """Takes note that a job has been given resources."""

    @property
    def freealloc(self) -> Callable[[Job], bool]:
        """Takes note that a job's resources are about to be freed."""


class Lifecycle:
    """Moves jobs from place to place. It is the only one that writes job records."""

    __slots__ = ("_scheduler", "cluster", "effects", "pricing", "queue", "state")

    def __init__(self, cluster: Cluster, scheduler: Scheduler) -> None:
        self.cluster = cluster
        self.state = cluster.state
        self.queue = cluster.queue
        self._scheduler = scheduler
        #: Since the engine last handed them out.
        self.effects: list[Effect] = []
        #: The job whose priority the plugins are being asked for.
        self.pricing: Job | None = None

    # ---- submission -------------------------------------------------------------------------------------------

    def submit(self, job_id: int, spec: JobSpec) -> bool:
        """Take a new job. False when it is refused."""
        cluster = self.cluster
        try:
            job = new_job(cluster, job_id, spec)
        except RequestError as error:
            self.refuse(error, job_id)
            return False
        try:
            cluster.policy.admit(job)
            if spec.reservation:
                cluster.reservations.admit(job)
            check_partitions(cluster, job)
        except RequestError as error:
            self.refuse(error, job_id, by_policy=True)
            return False
        if job.array is not None:
            self.state.arrays[job_id] = job.array
        cluster.add(job)
        if spec.priority is not None:
            job.priority = spec.priority
            job.admin_priority = True
        if spec.hold:
            job.priority = 0
            job.reason = Reason.JOB_HELD_USER
        else:
            self.give_priority(job)
        if job.array is not None and job.dependencies is not None:
            split_for_dependencies(cluster, job, job.array)
        self.queue.place(job)
        return True

    def refuse(self, error: RotaError, job_id: int = 0, *, by_policy: bool = False) -> None:
        """Say that a request is not carried out; ``job_id`` 0 is none."""
        refused = Refused(job_id=job_id, errno=error.errno, message=str(error), by_policy=by_policy)
        self.effects.append(refused)

    def give_priority(self, job: Job) -> None:
        """Ask the scheduler plugin for a job's priority, unless an administrator has set it."""
        if job.admin_priority:
            for record in job.records:
                record.priority = job.priority
            return
        cluster = self.cluster
        for record in job.records:
            record.priority = 0
        self.pricing = job
        job.priority = priority = self._scheduler.initial_priority(cluster.last_priority, job)
        self.pricing = None
        for record in job.records:  # unless the plugin has given them priorities of their own
            record.priority = (record.priority or priority) if priority else 0
        if priority > 1 and 1 < priority + job.nice < cluster.last_priority:
            cluster.last_priority = priority + job.nice

    # ---- running ----------------------------------------------------------------------------------------------

    def start(self, job: Job, resources: int, time_limit: int = 0) -> Reason | None:
        """Start a queued job, or the job of a queue record in that record's partition, on free resources.

        Of a job array one task is started; its record stays in the queue as long as it has others.

        Returns:
            ``None``; or what holds it back, and nothing has changed.
        """
        state, cluster = self.state, self.cluster
        if job.start_limits and (excess := job.held_back(resources)) is not None:
            cluster.policy.refuse(job, excess)
            self.queue.look_at(excess)
            return excess.reason
        if job.array is not None and job.waiting_tasks > 1:
            job = split_off(cluster, job, job.array)
        else:
            self.queue.take(job.whole)
            if job.array is not None:
                become_task(job.whole)
        if isinstance(job, QueueRecord):
            job = job.become_job()
        change_state(job, Trigger.START)
        state.pool.take(resources)
        job.alloc = resources
        job.alloc_nodes = state.pool.nodes_of(resources)
        job.start_time = state.now
        job.time_limit = time_limit or job.time_limit
        if job.spec.reservation and (longest := cluster.reservations.longest(job)) is not None:
            job.time_limit = min(job.time_limit, longest)
        if job.spec.deadline:
            job.time_limit = max(min(job.time_limit, job.spec.deadline - state.now), 1)
            state.timers.cancel(Timer(TimerKind.DEADLINE, job.job_id))
        job.end_time = end = state.now + job.time_limit
        job.forget_plan()
        state.running.add(job, (end, job.job_id))
        self.queue.changed = True
        if job.start_limits:
            self.queue.new = None
            for one in job.start_limits:
                one.started(job)
        cluster.accounts.started(job)
        self.effects.append(Launch(job_id=job.job_id, restart_count=job.restart_count, resources=resources))
        self._scheduler.newalloc(job)
        cluster.dependencies.started(job)
        return None

    def ended(self, job_id: int, restart_count: int, exit_code: int) -> bool:
        """Take the news that a run is over. False when it is stale and changes nothing."""
        job = self._run_of(job_id, restart_count)
        if job is None:
            return False
        if job.state is JobState.RUNNING:
            job.exit_code = exit_code
            if exit_code:
                job.reason = Reason.NON_ZERO_EXIT_CODE
            change_state(job, Trigger.EXIT_ERROR if exit_code else Trigger.EXIT_OK)
        self._free(job)
        return True

    def launch_failed(self, job_id: int, restart_count: int) -> bool:
        """Take the news that a run never began: the job fails, or goes back into the queue, held."""
        job = self._run_of(job_id, restart_count)
        if job is None:
            return False
        if job.state is JobState.RUNNING:
            job.reason = Reason.JOB_LAUNCH_FAILURE
            requeued = self.is_requeued(job)
            if requeued:
                job.zero_priority()
            change_state(job, Trigger.REQUEUE if requeued else Trigger.LAUNCH_FAIL)
        self._free(job)
        return True

    def _run_of(self, job_id: int, restart_count: int) -> Job | None:
        """Find the job that holds resources for this run; ``None`` when the news of it is stale."""
        job = self.state.jobs.get(job_id)
        return job if job is not None and job.alloc and job.restart_count == restart_count else None

    def _free(self, job: Job) -> None:
        """Free the resources of a job that has been stopped, and let it go on to where it belongs."""
        state, cluster = self.state, self.cluster
        self._scheduler.freealloc(job)
        if job.sort_key:
            state.running.remove(job)
        else:
            del state.completing[job.job_id]
        cluster.accounts.ended(job)
        for one in job.start_limits:
            one.ended(job)
        if self.queue.limited:
            cluster.policy.forget_refusals()
        state.pool.release(job.alloc)
        job.alloc = job.alloc_nodes = 0
        self.queue.touch()
        if job.state is JobState.PENDING:
            self._queue_again(job)
        else:
            job.end_time = state.now
            self._forget(job)

    def _queue_again(self, job: Job) -> None:
        """Put a job that ran back among those that wait."""
        state = self.state
        state.timers.cancel_of_job(job.job_id)
        job.restart_count += 1
        if job.reason is Reason.NODE_DOWN and job.restart_count > state.settings.max_requeue:
            job.zero_priority()
            job.reason = Reason.JOB_HOLD_MAX_REQUEUE
        job.start_time = job.end_time = None
        if state.settings.requeue_delay:
            job.spec = job.spec._replace(begin_time=state.now + state.settings.requeue_delay)
        if job.task_id is not None and job.priority:
            self.give_priority(job)  # as a task of an array it had that of the record
        elif job.records:  # it had that of the partition in which it ran
            job.priority = max(record.priority for record in job.records)
        self.queue.place(job)

    def _forget(self, job: Job) -> None:
        self.cluster.remove(job)
        self.effects.append(JobFinished(job=job))

    def stop(self, job: Job, trigger: Trigger, reason: Reason = Reason.NONE) -> None:
        """Stop a running job: it completes when the driver says that it has ended."""
        state = self.state
        change_state(job, trigger)
        job.reason = reason
        state.running.remove(job)
        job.end_time = state.now
        state.completing[job.job_id] = job
        self.queue.touch()
        self.effects.append(Kill(job_id=job.job_id, restart_count=job.restart_count))

    def enforce_time_limits(self) -> None:
        """Stop the jobs whose time is up, unless they may go on for a while."""
        now = self.state.now
        while (job := self.state.running.first()) is not None and (job.end_time or 0) <= now:
            if job.partition.over_time_limit == 0 or not self._goes_on(job):
                self.stop(job, Trigger.TIME_LIMIT, Reason.TIME_LIMIT)

    def _goes_on(self, job: Job) -> bool:
        """Let a job whose time is up go on as OverTimeLimit says, and expect it to end then; False: that is over."""
        state, longest = self.state, job.longest_run
        # Without limit, Slurm guesses that it runs as long as its time limit once more.
        end = state.now + job.time_limit if longest is None else (job.start_time or 0) + longest
        if job.spec.reservation and (left := self.cluster.reservations.longest(job)) is not None:
            end = min(end, state.now + left)
        if end <= state.now:
            return False
        self.expect_end(job, end)
        self.queue.touch()
        return True

    def expect_end(self, job: Job, end: int) -> None:
        """Expect a running job to end at another time, Unix seconds."""
        for one in job.start_limits:
            one.ended(job)
        self.state.running.remove(job)
        job.end_time = end
        self.state.running.add(job, (end, job.job_id))
        for one in job.start_limits:
            one.started(job)
        self.queue.changed = True

    def missed_deadline(self, job_id: int) -> None:
        """End a job that could no longer end by its deadline, unless it is parked: held jobs outlive it."""
        job = self.state.jobs[job_id]
        if job.is_queued:
            self._end_pending(job, Trigger.DEADLINE, Reason.DEADLINE)

    def end_all(self) -> None:
        """End the jobs that can never start in time, or whose dependencies can never be satisfied.

        So are running jobs that have used up a limit.
        """
        ending, self.state.to_end = self.state.to_end, []
        for job in ending:
            if job.state is JobState.RUNNING:
                self.stop(job, Trigger.TIME_LIMIT, Reason.TIME_LIMIT)
            elif job.state is not JobState.PENDING:
                continue
            elif job.sort_key:
                self._end_pending(job, Trigger.DEADLINE, Reason.DEADLINE)
            else:
                self._end_pending(job, Trigger.CANCEL, Reason.DEPENDENCY_NEVER_SATISFIED)

    def lose_node(self, index: int) -> None:
        """Stop the jobs of a node that is down: they are queued again if they may be, else they fail."""
        for job in self.state.running.snapshot():
            if job.alloc_nodes >> index & 1:
                requeued = self.is_requeued(job)
                self.stop(job, Trigger.REQUEUE if requeued else Trigger.NODE_LOST, Reason.NODE_DOWN)

    def is_requeued(self, job: Job) -> bool:
        """Whether a job that is lost through no fault of its own is put back in the queue."""
        wanted = job.spec.requeue
        return self.state.settings.job_requeue if wanted is None else wanted

    # ---- requests ---------------------------------------------------------------------------------------------

    def find(self, job_id: int, task_id: int | None = None) -> list[tuple[Job, int | None]]:
        """Find live jobs; of an array the task, or without ``task_id`` all of them, with the record.

        Returns:
            Jobs, each with the task that is meant of it where that still waits in the record of its array.

        Raises:
            RequestError: there is none.
        """
        state = self.state
        array = state.arrays.get(job_id)
        if array is None:
            if task_id is None and job_id in state.jobs:
                return [(state.jobs[job_id], None)]
        elif task_id is None:
            waiting = [array.record] if array.pending and array.record is not None else []
            return [(job, None) for job in (*array.tasks.values(), *waiting)]
        elif task_id in array.tasks:
            return [(array.tasks[task_id], None)]
        elif task_id in array.pending and array.record is not None:
            return [(array.record, task_id)]
        name = job_id if task_id is None else f"{job_id}_{task_id}"
        raise RequestError(f"there is no live job {name}", Errno.INVALID_JOB_ID)

    def by_itself(self, job: Job, task_id: int | None) -> Job:
        """Give a job that `find` has found, or split the task off that is meant of it, to wait beside the record."""
        if task_id is None or job.array is None:
            return job
        if job.waiting_tasks == 1:
            become_task(job)
            return job
        task = split_off(self.cluster, job, job.array, task_id)
        self.queue.place(task)
        return task

    def cancel(self, job: Job) -> None:
        """Cancel a job. One that has ended already but not yet let go is left as it is."""
        if job.state is JobState.RUNNING:
            self.stop(job, Trigger.CANCEL)
        elif job.state is JobState.PENDING:
            self._end_pending(job, Trigger.CANCEL, self.cluster.reasons.of(job))

    def _end_pending(self, job: Job, trigger: Trigger, reason: Reason) -> None:
        """End a job that waits; one that is still completing is over when its resources are free."""
        change_state(job, trigger)
        job.reason = reason
        if job.alloc == 0:
            self.queue.take_out(job)
            job.end_time = self.state.now
            self._forget(job)

    def hold(self, job: Job, *, by_user: bool = False) -> None:
        """Hold a pending job. A user's hold does not replace an administrator's.

        Raises:
            RequestError: it is not pending.
        """
        self.require_pending(job)
        if by_user and job.priority == 0 and job.reason is not Reason.JOB_HELD_USER:
            return
        job.zero_priority()
        self._replace(job, Reason.JOB_HELD_USER if by_user else Reason.JOB_HELD_ADMIN)

    def release(self, job: Job, *, by_user: bool = False) -> None:
        """Release a held job: its priority is computed anew.

        Raises:
            RequestError: it is not pending, or a user would release what an administrator holds.
        """
        self.require_pending(job)
        if by_user:
            self.require_own_hold(job)
        if job.priority == 0 and job is not self.pricing:
            job.reason = Reason.NONE
            if job.spec.priority:
                job.priority = job.spec.priority
            else:
                job.admin_priority = False  # a job that was submitted with priority 0 was only held by it
            self.give_priority(job)
            self._replace(job, Reason.NONE)

    def set_priority(self, job: Job, priority: int) -> None:
        """Give a pending job another priority, 0 to hold it.

        Raises:
            RequestError: it is not pending.
        """
        self.require_pending(job)
        if priority == 0:
            job = job.whole
        if isinstance(job, QueueRecord):
            self._set_record_priority(job, priority)
        elif priority != job.priority or job.records:
            job.priority = priority
            for record in job.records:
                record.priority = priority
            self._replace(job, Reason.JOB_HELD_ADMIN if priority == 0 else Reason.NONE)

    def _set_record_priority(self, record: QueueRecord, priority: int) -> None:
        record.priority = priority
        whole = record.whole
        whole.priority = max(other.priority for other in whole.records)
        if record.sort_key:
            self._replace(whole, Reason.NONE)

    def set_priorities(self, jobs: Sequence[Job], priorities: Sequence[int]) -> bool:
        """Give many jobs other priorities, see `Controller.set_priorities`. Whether the queue's order has changed."""
        pending, running = JobState.PENDING, JobState.RUNNING
        changed = False
        for job, priority in zip(jobs, priorities, strict=True):
            before = job.priority
            if before == priority or not before or job.admin_priority:
                continue
            if job.state is pending or job.state is running:
                job.priority = priority
                if isinstance(job, QueueRecord):
                    job.whole.priority = max(record.priority for record in job.whole.records)
                if job.sort_key and not job.alloc:
                    # Here, where the job is at hand: of 100,000, those in the queue's order lie all over the memory.
                    job.sort_key = queue_key(job)
                    changed = True
        if not changed or not self.queue.jobs.resort():
            return False
        self.queue.touch()
        return True

    def requeue(self, job: Job, *, hold: bool = False) -> None:
        """Put a running job back in the queue, held if that is wanted.

        Raises:
            RequestError: it is not running.
        """
        self.require_running(job)
        if hold:
            job.zero_priority()
        self.stop(job, Trigger.REQUEUE, Reason.JOB_HELD_ADMIN if hold else Reason.NONE)

    def require_pending(self, job: Job) -> None:
        """Make sure that a job waits.

        Raises:
            RequestError: it does not.
        """
        if job.state is not JobState.PENDING:
            raise RequestError(f"job {job.job_id} is {job.state}, not PENDING", Errno.JOB_NOT_PENDING)

    def require_running(self, job: Job) -> None:
        """Make sure that a job runs.

        Raises:
            RequestError: it does not.
        """
        if job.state is not JobState.RUNNING:
            raise RequestError(f"job {job.job_id} is {job.state}, not RUNNING", Errno.JOB_NOT_RUNNING)

    def require_own_hold(self, job: Job) -> None:
        """Make sure that a job is not held by an administrator.

        Raises:
            RequestError: it is.
        """
        if job.priority == 0 and job.reason is Reason.JOB_HELD_ADMIN:
            raise RequestError(f"job {job.job_id} is held by an administrator", Errno.ACCESS_DENIED)

    def _replace(self, job: Job, reason: Reason) -> None:
        """Put a pending job where it now belongs; one that is still completing goes there when it is free."""
        if job.alloc:
            job.reason = reason
            return
        self.queue.take_out(job)
        job.reason = reason
        self.queue.place(job)

    def update_node(self, name: str, node_state: NodeState) -> None:
        """Set a node's state.

        Raises:
            RequestError: there is no such node.
        """
        for index, node in enumerate(self.state.nodes):
            if node.name == name:
                node.state = node_state
                if node_state is NodeState.DOWN:
                    self.lose_node(index)
                self.state.refresh_pool()
                self.cluster.reservations.replace_nodes()
                self.queue.touch()
                return
        raise RequestError(f"there is no node {name!r}", Errno.INVALID_NODE_NAME)
