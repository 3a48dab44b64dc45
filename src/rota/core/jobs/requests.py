"""Requests about jobs. A request about several jobs is carried out for all of them, or for none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core import events as ev
from rota.core.jobs.checks import (
    require_access,
    require_administrator,
    require_own_hold,
    require_pending,
    require_running,
    require_suspended,
)
from rota.core.jobs.updates import check_update, update_job
from rota.model import Errno, JobState, RequestError
from rota.model.job_state import RUNS

if TYPE_CHECKING:
    from rota.core.job import Job
    from rota.core.jobs.lifecycle import Lifecycle

#: Numbers of signals.
_SIGNALS = range(1, 65)
#: What strangers are told, by the request.
_STRANGERS = {ev.Hold: Errno.INVALID_USER_ID, ev.Release: Errno.INVALID_USER_ID}
_FOR_RUNNING = (ev.Requeue, ev.Suspend, ev.Resume, ev.SignalJob)


class JobRequests:
    """Checks requests about jobs, and carries them out.

    Args:
        lifecycle: Changes the jobs.
    """

    __slots__ = ("_life",)

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._life = lifecycle

    def carry_out(self, event: ev.JobRequest) -> None:
        """Carry out a request for a job, or for the jobs of an array to which it applies.

        Raises:
            RequestError: it cannot be done, or the user may not ask for it; nothing has changed then.
        """
        found = self._life.state.find(event.job_id, event.task_id)
        if len(found) > 1:
            found = [(job, task) for job, task in found if _concerns(event, job)]
        for job, _ in found:
            require_access(job, event.uid, _STRANGERS.get(type(event), Errno.ACCESS_DENIED))
            _check(event, job)
            if isinstance(event, ev.Requeue) and not self._life.runs.may_requeue(job.spec):
                raise RequestError(f"job {job.job_id} is not to be requeued", Errno.DISABLED)
        for job, task_id in found:
            one = self._life.single_job(job, task_id)
            if one is not job and isinstance(event, ev.Cancel):
                self._life.cancel_unseen(one, by=event.by)
            else:
                self._do(event, one)

    def _do(self, event: ev.JobRequest, job: Job) -> None:
        life = self._life
        if isinstance(event, ev.Cancel):
            life.cancel(job, event.signal, by=event.by)
        elif isinstance(event, ev.Hold | ev.Release) and job.state in RUNS:
            pass  # as in Slurm
        elif isinstance(event, ev.Hold):
            life.hold(job, by_user=event.by_user or event.uid != 0, replace=event.uid == 0)
        elif isinstance(event, ev.Release):
            life.release(job, by_user=event.by_user or event.uid != 0)
        elif isinstance(event, ev.Requeue):
            life.requeue(job, hold=event.hold)
        elif isinstance(event, ev.Suspend):
            life.runs.suspend(job)
        elif isinstance(event, ev.Resume):
            life.runs.resume(job)
        elif isinstance(event, ev.SignalJob):
            life.runs.send_signal(job, event.signal)

    def update(self, event: ev.UpdateJob) -> None:
        """Change the request of a job, or of all jobs of an array.

        Raises:
            RequestError: it cannot be done, or the user may not ask for it; nothing has changed then.
        """
        life = self._life
        array = life.state.arrays.get(event.job_id)
        found = life.state.find(event.job_id, event.task_id)
        if event.array_throttle is not None:
            if array is None:
                raise RequestError(f"job {event.job_id} is no job array", Errno.INVALID_ARRAY)
            if event.array_throttle < 0:
                raise RequestError(f"{event.array_throttle} tasks cannot run at a time", Errno.INVALID_ARRAY)
        for job, _ in found:
            require_access(job, event.uid, Errno.INVALID_USER_ID)
            if event.changes:
                check_update(life, job, event.changes, event.uid)
        for job, task_id in found if event.changes else ():
            update_job(life, life.single_job(job, task_id), event.changes)
        if array is not None and event.array_throttle is not None:
            array.throttle = event.array_throttle
            for job, _ in found:
                ids = job.spec.array.partition("%")[0]
                job.spec = job.spec._replace(array=f"{ids}%{array.throttle}" if array.throttle else ids)


def _concerns(event: ev.JobRequest, job: Job) -> bool:
    """Whether a request for a whole array applies to a job of the array, because of its state."""
    if isinstance(event, ev.Hold | ev.Release):
        return job.state is JobState.PENDING
    return isinstance(event, ev.Cancel) or (job.state in RUNS) is isinstance(event, _FOR_RUNNING)


def _check(event: ev.JobRequest, job: Job) -> None:
    """Check that a request can be carried out.

    Raises:
        RequestError: it cannot.
    """
    if isinstance(event, ev.Cancel):
        if event.signal:
            _check_signal(event.signal)
    elif isinstance(event, ev.SignalJob):
        _check_signal(event.signal)
        require_running(job, or_suspended=True)
    elif isinstance(event, ev.Requeue):
        require_running(job, or_suspended=True)
        if job.spec.allocation_only:
            raise RequestError(f"job {job.job_id} has no script that could run again", Errno.BATCH_ONLY)
    elif isinstance(event, ev.Suspend):
        require_administrator(event.uid, "suspend jobs", Errno.ACCESS_DENIED)
        require_running(job)
    elif isinstance(event, ev.Resume):
        require_administrator(event.uid, "resume jobs", Errno.ACCESS_DENIED)
        require_suspended(job)
    elif isinstance(event, ev.Hold | ev.Release) and job.state not in RUNS:
        require_pending(job)
        if isinstance(event, ev.Release) and (event.by_user or event.uid != 0):
            require_own_hold(job)


def _check_signal(signal: int) -> None:
    if signal not in _SIGNALS:
        raise RequestError(f"there is no signal {signal}", Errno.INVALID_EVENT)
