"""Changing what a job asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.jobs.admission import admit
from rota.core.jobs.new_jobs import dependencies_of, make_job
from rota.core.limits.start_limits import is_restrained
from rota.model import Errno, JobState, QueueRecord, Reason, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.jobs.lifecycle import Lifecycle
    from rota.model import Job


def update_job(life: Lifecycle, job: Job, changes: Mapping[str, Any]) -> None:
    """Change what a job asks for; of a running one, its time limit and licences.

    Raises:
        RequestError: that cannot be met, the job is over, or it runs and something else is to change.
    """
    if job.state is JobState.RUNNING:
        _change_running(life, job, changes)
        return
    life.require_pending(job)
    if job.alloc:
        raise RequestError(f"job {job.job_id} is completing: wait until it is queued again", Errno.JOB_NOT_PENDING)
    if changes.get("priority") and job.priority == 0:
        raise RequestError(f"job {job.job_id} is held: release it first", Errno.JOB_HELD)
    state, spec = life.state, job.spec._replace(**changes)
    fresh = make_job(job.job_id, spec, job.submit_time, admit(state, 0, spec))
    state.licenses.admit(fresh)
    if changes.get("reservation"):
        state.reservations.admit(fresh)
    dependencies = job.dependencies
    if "dependency" in changes:
        dependencies = dependencies_of(spec)
        state.dependencies.check(job, dependencies)
    state.withdraw(job)
    job.spec, job.nice = spec, spec.nice
    job.partition, job.units, job.time_limit = fresh.partition, fresh.units, fresh.time_limit
    job.records = tuple(QueueRecord(job, one.partition, one.units, one.rank) for one in fresh.records)
    job.assoc = job.needs = None
    job.dependencies = dependencies
    state.enter_again(job)
    if "priority" in changes and spec.priority is not None:
        job.priority, job.admin_priority = spec.priority, True
        job.reason = Reason.JOB_HELD_ADMIN if spec.priority == 0 else Reason.NONE
    if job.priority:
        life.give_priority(job)
    state.place(job)


def _change_running(life: Lifecycle, job: Job, changes: Mapping[str, Any]) -> None:
    if set(changes) - {"time_limit", "licenses"}:
        raise RequestError(f"job {job.job_id} runs: only its time limit and licences can change", Errno.JOB_NOT_PENDING)
    state = life.state
    if "licenses" in changes:
        state.restrained -= is_restrained(job)
        try:
            state.licenses.exchange(job, changes["licenses"])
        finally:
            state.restrained += is_restrained(job)
    if "time_limit" in changes:
        job.time_limit = changes["time_limit"]
        life.expect_end(job, max((job.start_time or 0) + job.time_limit, state.now))
    state.changed = True
