"""``scontrol requeue`` of jobs that have ended: as in Slurm they are queued again, for as long as ``MinJobAge`` says.

The job keeps its id. The record of its earlier run says that it was requeued, which ``sacct -D`` shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.controller.live_runs import as_requeued, job_row
from rota.controller.live_view import OneJobView
from rota.core import events as ev
from rota.core.effects import Refused
from rota.model import Errno, JobState
from rota.model.accounting import AccountingRecord
from rota.store.writes import replace_job

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.model.accounting import Accounted


def ended_job(cluster: Cluster, job_id: int) -> Accounted | None:
    """Find a job that ended in the last ``MinJobAge`` seconds; ``None``: it lives, or is not known."""
    if job_id in cluster.driver.engine.jobs:
        return None
    return next((one for one in OneJobView(cluster, 0, job_id).records() if one.job.job_id == job_id), None)


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
    payload, count = job.request.payload, job.restart_count + 1
    if not cluster.runs.submissions.take_back(payload):
        return Refused(job_id=job.job_id, errno=Errno.INVALID_JOB_ID, message="its script is not kept any more")
    event = ev.Resubmit(job_id=job.job_id, spec=job.request, restart_count=count, hold=hold, uid=uid)
    kept = as_requeued(AccountingRecord(job=job, details=record.details, steps=record.steps))
    refused = await cluster.driver.request(event, writes=replace_job(job_row(kept)))
    if refused is not None:
        cluster.runs.submissions.leave(payload, job.end_time or 0)
    return refused
