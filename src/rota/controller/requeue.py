"""``scontrol requeue`` of jobs that have ended: as in Slurm they are queued again, for as long as ``MinJobAge`` says.

The job keeps its id, and is held if it was when it was cancelled. The record of its earlier run says that it was
requeued, which ``sacct -D`` shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.controller.job_rows import as_requeued, job_row
from rota.core import events as ev
from rota.core.effects import Refused
from rota.model import Errno, JobState, Reason
from rota.model.accounting import AccountingRecord
from rota.model.array import MOST_TASKS, parse_array
from rota.store.writes import replace_job

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine


def tasks_of(job: JobLine) -> tuple[int, ...]:
    """Give the tasks of a job of an array that has ended: its own, or those that had not started; else none."""
    return parse_array(job.array_task.strip("[]"), MOST_TASKS).ids if job.array_task else ()


async def queue_again(cluster: Cluster, record: Accounted, uid: int, *, hold: bool, incomplete: bool) -> Refused | None:
    """Queue a job again that has ended, and give why it is refused; ``None``: it is queued.

    Args:
        cluster: The cluster.
        record: Its record.
        uid: Who asks; 0: somebody who may do so for others.
        hold: Whether it is held then.
        incomplete: Whether only a job that has not completed is meant.
    """
    job = record.job
    if incomplete and job.base_state == JobState.COMPLETED.value:
        return None
    payload, array_id = job.request.payload, job.array_job_id
    engine, submissions = cluster.driver.engine, cluster.runs.submissions
    is_used = array_id is not None and engine.view.has_array(array_id)
    if not is_used and not submissions.is_left(payload):
        return Refused(job_id=job.job_id, errno=Errno.INVALID_JOB_ID, message="its script is not kept any more")
    event = ev.Resubmit(
        job_id=job.job_id,
        spec=job.request._replace(hold=job.reason == Reason.JOB_HELD_USER.value),
        restart_count=job.restart_count + 1,
        hold=hold or job.reason == Reason.JOB_HELD_ADMIN.value,
        array_job_id=array_id,
        tasks=tasks_of(job),
        uid=uid,
    )
    kept = as_requeued(AccountingRecord(job=job, details=record.details, steps=record.steps))
    answer = cluster.driver.request(event, writes=replace_job(job_row(kept)))
    if not is_used and job.job_id in engine.jobs:
        submissions.take_back(payload)
    return await answer
