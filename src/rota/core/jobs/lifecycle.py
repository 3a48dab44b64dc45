"""Submission of jobs, requests about them, and the end of pending jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.core.jobs.admission import check_partitions, check_possible, check_shortest_time
from rota.core.jobs.checks import require_own_hold, require_pending, require_running
from rota.core.jobs.new_jobs import new_job
from rota.core.jobs.priorities import Priorities
from rota.core.jobs.runs import SIGTERM, Runs, Scheduler
from rota.core.jobs.splitting import become_task, split_for_dependencies, split_off
from rota.core.jobs.transitions import Trigger, change_state
from rota.core.machine import leave
from rota.model import JobState, NodeState, PolicyError, Reason, RequestError
from rota.model.job_state import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.job_view import PluginJob
    from rota.core.jobs.new_jobs import Place
    from rota.model import JobSpec


class AskedScheduler(Scheduler, Protocol):
    """The functions of the scheduler plugin about jobs."""

    @property
    def initial_priority(self) -> Callable[[int, PluginJob], int]:
        """Computes a job's priority, given the lowest priority so far."""


class Lifecycle:
    """Submits, changes and ends jobs. Only this class and its parts write to job records."""

    __slots__ = ("cluster", "priorities", "queue", "runs", "state")

    def __init__(self, cluster: Cluster, scheduler: AskedScheduler) -> None:
        self.cluster = cluster
        self.state = cluster.state
        self.queue = cluster.queue
        self.priorities = Priorities(cluster, scheduler.initial_priority)
        self.runs = Runs(cluster, scheduler, self.priorities)

    # ---- submission -------------------------------------------------------------------------------------------

    def submit(self, job_id: int, spec: JobSpec, place: Place | None = None) -> None:
        """Submit a job.

        Args:
            job_id: Its id.
            spec: The request.
            place: Its place in its array, if it is queued again; ``None``: it is new, or of no array.

        Raises:
            RequestError: the request can never be met.
            PolicyError: a limit or access rule forbids it.
        """
        cluster = self.cluster
        job = new_job(cluster, job_id, spec, place)
        if spec.time_min is not None:
            check_shortest_time(job)
        try:
            if cluster.policy.restricts:
                cluster.policy.admit(job)
            if spec.reservation:
                cluster.reservations.admit(job)
            if job.records or job.partition.allow_users is not None or self.state.settings.partition_limits != "NO":
                check_partitions(cluster, job)
        except RequestError as error:
            raise PolicyError(str(error), error.errno) from None
        if not job.units:
            check_possible(cluster, job)
        if job.array is not None:
            if job.array.job_id not in self.state.arrays:
                self.state.add_array(job.array)
            if place is not None:
                job.array.put_back(job, place.tasks)
        cluster.add(job)
        if spec.priority is not None:
            job.priority = spec.priority
            job.admin_priority = True
        if spec.hold:
            job.priority = 0
            job.reason = Reason.JOB_HELD_USER
        else:
            self.priorities.ask(job)
        if job.array is not None and job.task_id is None and job.dependencies is not None:
            split_for_dependencies(cluster, job, job.array)
        self.queue.insert(job)
        if self.state.down or cluster.reservations.all or job.start_limits or job.records:
            cluster.reasons.submitted(job)

    # ---- requests ---------------------------------------------------------------------------------------------

    def single_job(self, job: Job, task_id: int | None) -> Job:
        """Give a job that `find` has found; a task in the record of its array is split off and queued or parked."""
        if task_id is None or job.array is None:
            return job
        if job.waiting_tasks == 1:
            become_task(job)
            return job
        task = split_off(self.cluster, job, job.array, task_id)
        self.queue.insert(task)
        return task

    def cancel(self, job: Job, signal: int = 0, *, by: int | None = None) -> None:
        """Cancel a job that is pending, running or suspended.

        Args:
            job: The job. If it has ended, nothing is changed.
            signal: Signal with which a running job is stopped; 0: SIGTERM.
            by: User id of who has asked for it; ``None``: nobody has.
        """
        if job.state in RUNS:
            job.cancelled_by = by
            self.runs.stop(job, Trigger.CANCEL, signal=signal or SIGTERM)
        elif job.state is JobState.PENDING:
            job.cancelled_by = by
            self._end_pending(job, Trigger.CANCEL)

    def cancel_unseen(self, task: Job, *, by: int | None) -> None:
        """Cancel a task that was split off its array for that alone.

        It was never considered by itself, and so was neither eligible nor had a reason to wait. (Slurm keeps no record
        of such a task at all.)
        """
        task.eligible_time, task.cancelled_by = None, by
        self._end_pending(task, Trigger.CANCEL, Reason.NONE)

    def _end_pending(self, job: Job, trigger: Trigger, reason: Reason | None = None) -> None:
        """End a pending job. If it is still completing, it is removed when its resources are free.

        Args:
            job: The job.
            trigger: What ends it.
            reason: Its reason from now on; ``None``: why it was pending.
        """
        self.queue.flush()  # the priority in its record and its reason depend on deferred priorities
        reason = self.cluster.reasons.of(job) if reason is None else reason
        change_state(job, trigger)
        job.reason = reason
        if job.alloc == 0:
            self.queue.remove(job)
            job.end_time = self.state.now
            self.runs.finish(job)

    def hold(self, job: Job, *, by_user: bool = False, replace: bool = False) -> None:
        """Hold a pending job.

        Args:
            job: The job.
            by_user: Whether it is a user's hold; else it is an administrator's.
            replace: Whether a user's hold replaces an administrator's, as an administrator asks for it.

        Raises:
            RequestError: the job is not pending.
        """
        require_pending(job)
        if by_user and not replace and job.priority == 0 and job.reason is not Reason.JOB_HELD_USER:
            return
        job.hold_all_records()
        self.priorities.held(job)
        self.queue.reconsider_with(job, Reason.JOB_HELD_USER if by_user else Reason.JOB_HELD_ADMIN)

    def release(self, job: Job, *, by_user: bool = False) -> None:
        """Release a held job; its priority is computed again.

        Args:
            job: The job.
            by_user: Whether a user asks, who cannot release a job that an administrator holds.

        Raises:
            RequestError: the job is not pending, or the user may not release it.
        """
        require_pending(job)
        if by_user:
            require_own_hold(job)
        if job.priority == 0 and job is not self.priorities.pricing:
            job.reason = Reason.NONE
            if job.spec.priority:
                job.priority = job.spec.priority
            else:
                job.admin_priority = False  # a job that was submitted with priority 0 was only held by it
            self.priorities.ask(job)
            self.queue.reconsider_with(job, Reason.NONE)

    def ask_priorities(self) -> None:
        """Compute the priorities of all pending jobs that are not held anew, in the order of their submission."""
        waiting = [job for job in self.state.jobs.values() if job.state is JobState.PENDING and job.priority]
        for job in sorted(waiting, key=lambda job: (job.submit_time, job.job_id)):
            self.priorities.ask(job)
            self.queue.reconsider_with(job, job.reason)

    def requeue(self, job: Job, *, hold: bool = False) -> None:
        """Requeue a running or suspended job.

        Args:
            job: The job.
            hold: Whether to hold it.

        Raises:
            RequestError: the job is not running or suspended.
        """
        require_running(job, or_suspended=True)
        if hold:
            job.hold_all_records()
        self.runs.stop(job, Trigger.REQUEUE, Reason.JOB_HELD_ADMIN if hold else Reason.NONE)

    # ---- ends -------------------------------------------------------------------------------------------------

    def missed_deadline(self, job_id: int) -> None:
        """Note that a job cannot end by its deadline any more, if it is queued; a parked one, as one held, is kept."""
        job = self.state.jobs[job_id]
        if job.is_queued:
            self.queue.late_for_deadline(job)

    def end_all(self) -> None:
        """End the jobs in `ClusterState.to_end`, and those that have to end for that.

        These cannot end by their deadlines, have dependencies that can never be satisfied, or have used up a limit.
        """
        while self.state.to_end:
            ending, self.state.to_end = self.state.to_end, []
            for job in ending:
                if job.state is JobState.RUNNING:
                    self.runs.stop(job, Trigger.TIME_LIMIT, Reason.TIME_LIMIT)
                elif job.state is not JobState.PENDING or job.alloc:
                    continue  # it has ended, or is about to be requeued
                elif job.sort_key:
                    self._end_pending(job, Trigger.DEADLINE, Reason.DEADLINE)
                else:
                    self._end_pending(job, Trigger.CANCEL, Reason.DEPENDENCY_NEVER_SATISFIED)

    def update_nodes(self, which: Iterable[int], node_state: NodeState | None, reason: str, uid: int) -> bool:
        """Set the state of nodes; the jobs of those that are down are stopped.

        A node that is about to be removed or changed, as slurm.conf has changed, is drained if it would be up.

        Args:
            which: The nodes' indices.
            node_state: The state; ``None``: that of each stays.
            reason: Why; empty: as before, or none if it is up.
            uid: User id of the user who asks.

        Returns:
            Whether nodes of reservations have been replaced.
        """
        state = self.state
        by, at = (uid, state.now) if reason else (0, 0)
        lost = 0
        for index in which:
            node = state.nodes[index]
            if node_state is not None:
                node = node._replace(state=node_state)
            if node.state is NodeState.UP or reason:
                node = node._replace(reason=reason, reason_uid=by, reason_time=at)
            if node.state is NodeState.DOWN:
                lost |= 1 << index
            state.nodes[index] = leave(node, state.config) if state.leaving_nodes >> index & 1 else node
        if lost:
            self.runs.lose_nodes(lost)
        state.refresh_pool()
        self.queue.touch()
        return self.cluster.reservations.replace_nodes()
