"""Preconditions of requests about jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import Errno, JobState, Reason, RequestError

if TYPE_CHECKING:
    from rota.core.job import Job


def require_pending(job: Job) -> None:
    """Check that a job is pending.

    Raises:
        RequestError: it is not.
    """
    if job.state is not JobState.PENDING:
        raise RequestError(f"job {job.job_id} is {job.state}, not PENDING", Errno.JOB_NOT_PENDING)


def require_running(job: Job, *, or_suspended: bool = False) -> None:
    """Check that a job is running.

    Args:
        job: The job.
        or_suspended: Whether a suspended job is accepted as well.

    Raises:
        RequestError: it is not.
    """
    if job.state is not JobState.RUNNING and not (or_suspended and job.state is JobState.SUSPENDED):
        raise RequestError(f"job {job.job_id} is {job.state}, not RUNNING", Errno.JOB_NOT_RUNNING)


def require_suspended(job: Job) -> None:
    """Check that a job is suspended.

    Raises:
        RequestError: it is not.
    """
    if job.state is not JobState.SUSPENDED:
        raise RequestError(f"job {job.job_id} is {job.state}, not SUSPENDED", Errno.JOB_NOT_SUSPENDED)


def require_own_hold(job: Job) -> None:
    """Check that a job is not held by an administrator.

    Raises:
        RequestError: it is.
    """
    if job.priority == 0 and job.reason is Reason.JOB_HELD_ADMIN:
        raise RequestError(f"job {job.job_id} is held by an administrator", Errno.ACCESS_DENIED)


def require_access(job: Job, uid: int) -> None:
    """Check that a user may change a job: it is theirs, or they are an administrator.

    Args:
        job: The job.
        uid: User id of the user who asks; 0: an administrator.

    Raises:
        RequestError: they may not.
    """
    if uid not in {0, job.user_id}:
        raise RequestError(f"Access/permission denied: job {job.job_id} is another user's", Errno.ACCESS_DENIED)


def require_administrator(uid: int, what: str) -> None:
    """Check that a user is an administrator.

    Args:
        uid: User id of the user who asks; 0: an administrator.
        what: What they ask for, for the message: ``change nodes``.

    Raises:
        RequestError: they are not.
    """
    if uid != 0:
        raise RequestError(f"Access/permission denied: user {uid} may not {what}", Errno.ACCESS_DENIED)
