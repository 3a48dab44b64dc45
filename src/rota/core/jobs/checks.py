"""Preconditions of requests about jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import Errno, JobState, Reason, RequestError

if TYPE_CHECKING:
    from rota.core.job import Job
    from rota.model import JobSpec


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


def require_access(job: Job, uid: int, errno: Errno = Errno.ACCESS_DENIED) -> None:
    """Check that a user may change a job: it is theirs, or they are an administrator.

    Args:
        job: The job.
        uid: User id of the user who asks; 0: an administrator.
        errno: The number of the error, which depends on the request as in Slurm.

    Raises:
        RequestError: they may not.
    """
    if uid not in {0, job.user_id}:
        raise RequestError(f"job {job.job_id} is another user's", errno)


def require_administrator(uid: int, what: str, errno: Errno = Errno.INVALID_USER_ID) -> None:
    """Check that a user is an administrator.

    Args:
        uid: User id of the user who asks; 0: an administrator.
        what: What they ask for, for the message: ``change nodes``.
        errno: The number of the error, which depends on the request as in Slurm.

    Raises:
        RequestError: they are not.
    """
    if uid != 0:
        raise RequestError(f"user {uid} may not {what}", errno)


def as_user(spec: JobSpec) -> JobSpec:
    """Give a request as a user may make it, who is no operator: without a priority, which Slurm leaves out silently.

    Raises:
        RequestError: they may not make it.
    """
    if spec.nice < 0:
        raise RequestError("Invalid --nice value: only an operator raises priorities", Errno.INVALID_NICE)
    return spec._replace(priority=None) if spec.priority else spec
