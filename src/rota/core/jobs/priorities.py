"""Priorities of jobs: computed by plugins at submission, and changed by plugins and administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.job import QueueRecord
from rota.core.jobs.checks import require_pending
from rota.core.sorted_jobs import queue_key
from rota.model import JobState, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.job_view import PluginJob


class Priorities:
    """Sets the priorities of jobs.

    Args:
        cluster: The cluster whose jobs these are.
        initial_priority: The scheduler plugin's function, which computes a job's priority, given the lowest priority so
            far.
    """

    __slots__ = ("_cluster", "_initial_priority", "_queue", "pricing")

    def __init__(self, cluster: Cluster, initial_priority: Callable[[int, PluginJob], int]) -> None:
        self._cluster = cluster
        self._queue = cluster.queue
        self._initial_priority = initial_priority
        #: The job whose priority the plugins are computing.
        self.pricing: Job | None = None

    def ask(self, job: Job) -> None:
        """Have the scheduler plugin compute a job's priority, unless an administrator has set it."""
        if job.admin_priority:
            for record in job.records:
                record.priority = job.priority
            return
        cluster = self._cluster
        for record in job.records:
            record.priority = 0
        self.pricing = job
        job.priority = priority = self._initial_priority(cluster.last_priority, job.view)
        self.pricing = None
        for record in job.records:  # the plugin may have set their priorities
            record.priority = (record.priority or priority) if priority else 0
        if priority > 1 and 1 < priority + job.nice < cluster.last_priority:
            cluster.last_priority = priority + job.nice

    def held(self, job: Job) -> None:
        """Forget when a job was eligible that somebody holds: when it is released, its age begins anew.

        So it is in Slurm, unless age accrues from the submission on.
        """
        state = self._cluster.state
        if state.settings.accrue_always:
            return
        job.eligible_time = None
        if 0 < job.spec.begin_time <= state.now:  # it does not tell any more when the job will be eligible
            job.spec = job.spec._replace(begin_time=0)

    def set(self, job: Job, priority: int) -> None:
        """Set the priority of a pending job; 0 holds it.

        Raises:
            RequestError: it is not pending.
        """
        require_pending(job)
        if priority == 0:
            job = job.whole
        if isinstance(job, QueueRecord):
            self._set_of_record(job, priority)
        elif priority != job.priority or job.records:
            job.priority = priority
            for record in job.records:
                record.priority = priority
            self._queue.reconsider_with(job, Reason.JOB_HELD_ADMIN if priority == 0 else Reason.NONE)

    def _set_of_record(self, record: QueueRecord, priority: int) -> None:
        record.priority = priority
        whole = record.whole
        whole.priority = max(other.priority for other in whole.records)
        if record.sort_key:
            self._queue.reconsider_with(whole, Reason.NONE)

    def set_many(self, jobs: Sequence[Job], priorities: Sequence[int]) -> bool:
        """Set the priorities of many jobs, see `Controller.set_priorities`; say whether the queue order has changed."""
        pending, running = JobState.PENDING, JobState.RUNNING
        changed = False
        for job, priority in zip(jobs, priorities, strict=True):
            before = job.priority
            if before == priority or not before or job.admin_priority:
                continue
            if (state := job.state) is not pending and state is not running:
                continue
            is_record = type(job) is QueueRecord
            if is_record and job not in job.whole.records:
                continue  # the job has other queue records now
            job.priority = priority
            if is_record:
                job.whole.priority = max(record.priority for record in job.whole.records)
            if (key := job.sort_key) and not job.alloc:
                # A second loop over 100,000 jobs in queue order would be slow, because of cache misses. So would be a
                # call for each, but for the few that are in several partitions.
                place = key[0] + before - priority
                job.sort_key = queue_key(job) if is_record else (place, job.submit_time, job.job_id)
                changed = True
        if not (changed and self._queue.resort()):
            return False
        self._queue.touch()
        return True
