"""Splitting tasks off the record of their job array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.job import QueueRecord
from rota.core.jobs.new_jobs import are_task_by_task, dependencies_of_task, make_job

if TYPE_CHECKING:
    from rota.core.arrays import JobArray
    from rota.core.cluster import Cluster
    from rota.core.job import Job


def split_off(cluster: Cluster, job: Job, array: JobArray[Job], task_id: int | None = None) -> Job:
    """Split a pending task off the record of its array.

    Args:
        cluster: The cluster whose jobs these are.
        job: The record of the pending tasks, or one of its queue records.
        array: The array.
        task_id: The task; ``None``: the first one.

    Returns:
        The task's job or, if ``job`` is a queue record, the queue record of the same partition.
    """
    whole = job.whole
    task_id = array.pending[0] if task_id is None else task_id
    array.pending.remove(task_id)
    found = [(one.partition, one.units) for one in whole.records or (whole,)]
    task = make_job(array.take_id(), whole.spec, whole.submit_time, found)
    task.array, task.task_id = array, task_id
    for new, old in zip((task, *task.records), (whole, *whole.records), strict=True):
        new.time_limit, new.priority = old.time_limit, old.priority
        new.request_class, new.tres_req = old.request_class, old.tres_req
        new.limits, new.start_limits = old.limits, old.start_limits
    task.show()
    task.is_attracted = whole.is_attracted
    task.switches, task.waits_since = whole.switches, whole.waits_since
    task.nice, task.site_factor, task.admin_priority = whole.nice, whole.site_factor, whole.admin_priority
    task.eligible_time, task.assoc, task.reason = whole.eligible_time, whole.assoc, whole.reason
    cluster.add_task(task, array, task_id)
    return task.records[job.rank] if isinstance(job, QueueRecord) else task


def become_task(job: Job) -> None:
    """Let the record of an array's pending tasks be the job of the last one."""
    if job.array is not None and job.task_id is None:
        job.task_id = job.array.pending.pop()
        job.array.tasks[job.task_id] = job


def split_for_dependencies(cluster: Cluster, job: Job, array: JobArray[Job]) -> None:
    """Split off all tasks of an array, if each depends on the same task of another array (``aftercorr``)."""
    if not are_task_by_task(job.dependencies):
        return
    for task_id in [*array.pending]:
        if job.waiting_tasks > 1:
            task = split_off(cluster, job, array, task_id)
        else:
            become_task(task := job)
        task.dependencies = dependencies_of_task(cluster.state, job, array, task_id)
        cluster.dependencies.added(task)
        if task is not job:
            cluster.queue.insert(task)
