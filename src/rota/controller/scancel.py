"""``scancel`` of a live cluster. Its exit status is 0, or the number of the last error modulo 256, as in Slurm."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rota.commands.job_ids import JobId
from rota.commands.scancel import parse_scancel
from rota.commands.slurm_messages import message_of
from rota.controller.live_view import LiveView
from rota.controller.slices import in_slices, together
from rota.core import events as ev
from rota.listings.answer import VERSION
from rota.listings.common import unknown_cluster
from rota.model import Errno, JobState, RequestError
from rota.users import find_user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rota.commands.scancel import ScancelRequest
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.job import Job
    from rota.listings.privacy import Privacy

    #: A job, and one of its tasks or ``None``.
    Target = tuple[int, int | None]

_USAGE = "Usage: scancel [-A account] [-n name] [-p partition] [-s signal] [-t state] [-u user] [job_id[_task_id]]...\n"


async def scancel(cluster: Cluster, call: Call, terminal: Terminal) -> int:
    """Cancel or signal jobs; give the exit status."""
    request = parse_scancel(call.words[1:], call.environment, LiveView(cluster, call.uid).user)
    if request.version or request.usage:
        terminal.out(_USAGE if request.usage else f"{VERSION}\n")
        return 0
    if lines := unknown_cluster(request.clusters, cluster.driver.engine.view.config):
        terminal.error("".join(f"scancel: {line}\n" for line in lines))
        return 1
    if request.user and find_user(request.user) is None:
        terminal.error(f"scancel: error: Invalid user name: {request.user}\n")
        return 1
    status = 0

    def problem(errno: Errno, text: str, shown: str) -> None:
        """Say what was wrong, as Slurm does: that a job is unknown or has ended is only said if somebody wants it."""
        nonlocal status
        if errno not in {Errno.INVALID_JOB_ID, Errno.ALREADY_DONE}:
            if request.quiet:
                return
            status = errno & 255
        elif not request.verbose:
            return
        terminal.error(f"scancel: error: Kill job error on job id {shown}: {text}\n")

    view = LiveView(cluster, call.uid)
    missing = [one async for one in _missing(cluster, request, view.privacy)] if request.looks_first else []
    for named in missing:
        status = 1
        if not request.quiet:
            terminal.error(f"scancel: error: Kill job error on {named}: {message_of(Errno.INVALID_JOB_ID, '')[0]}\n")
    async for one in in_slices(request.jobs):
        if one.step and not _is_meant(cluster, request, one, view.privacy):
            continue
        if one.step and (errno := _end_step(cluster, call, request, one)) is not None and not request.quiet:
            is_there = one.job_id in cluster.driver.engine.jobs
            status = errno & 255 if is_there else 1
            step = one.job_id if is_there else one
            terminal.error(f"scancel: error: Kill job error on job step id {step}: {message_of(errno, '')[0]}\n")

    async def end(job_id: int, task_id: int | None) -> None:
        shown = _shown(job_id, task_id)
        if request.verbose:
            terminal.error(f"scancel: Terminating job {shown}\n")
        wrong = await end_job(
            cluster, call.uid, job_id, task_id, number=request.signal, batch=request.batch, full=request.full
        )
        if wrong is not None:
            problem(*wrong, shown)

    targets = [one async for one in _targets(cluster, request, view.privacy)]
    if request.verbose and request.filters and not targets and not missing:
        listed = "".join(f"{name}={text} " for name, text in request.filters.items())
        terminal.error(f"scancel: error: No active jobs match ALL job filters, including: {listed}\n")
    async for _ in together(end(*one) for one in targets):
        pass
    return status


def _end_step(cluster: Cluster, call: Call, request: ScancelRequest, one: JobId) -> Errno | None:
    """End or signal a step; give what was wrong, ``None``: nothing."""
    job = cluster.driver.engine.jobs.get(one.job_id)
    if job is None:
        return Errno.INVALID_JOB_ID
    if cluster.rights.over_job(call.uid, one.job_id) not in {0, job.user_id}:
        return Errno.INVALID_USER_ID
    if cluster.steps.find(one.job_id, job.restart_count, one.step) is None:
        return None if job.state is JobState.PENDING or request.signal is not None else Errno.INVALID_JOB_ID
    cluster.step_clients.signal(one.job_id, request.signal or signal.SIGKILL, one.step)
    return None


async def _missing(cluster: Cluster, request: ScancelRequest, privacy: Privacy) -> AsyncIterator[str]:
    """Name the jobs, tasks and steps that were asked for and are not there, or not for this user."""
    async for one in in_slices(request.jobs):
        for task in one.tasks or (None,):
            if not _is_there(cluster, one.job_id, task, privacy):
                yield f"job step id {one}" if one.step else f"job id {_shown(one.job_id, task)}"


def _is_there(cluster: Cluster, job_id: int, task_id: int | None, privacy: Privacy) -> bool:
    """Whether there is a live job or task that the user may see."""
    view = cluster.driver.engine.view
    try:
        lines = map(view.line, view.find(job_id, task_id))
    except RequestError:
        return False
    return any(privacy.shows("jobs", line.user, line.account) for line in lines)


def _shown(job_id: int, task_id: int | None) -> str:
    return str(job_id) if task_id is None else f"{job_id}_{task_id}"


async def _targets(cluster: Cluster, request: ScancelRequest, privacy: Privacy) -> AsyncIterator[Target]:
    """Give the jobs that are meant: filters find none that the user may not see."""
    jobs = request.jobs or [JobId(job_id) for job_id in cluster.driver.engine.jobs]
    async for one in in_slices(jobs):
        if one.step:
            continue
        if _is_meant(cluster, request, one, privacy):
            for task in one.tasks or (None,):
                if not request.looks_first or _is_there(cluster, one.job_id, task, privacy):
                    yield one.job_id, task


def _is_meant(cluster: Cluster, request: ScancelRequest, one: JobId, privacy: Privacy) -> bool:
    """Whether a job that was asked for passes the filters; what is not there is said elsewhere."""
    job = cluster.driver.engine.jobs.get(one.job_id)
    if job is None:
        return not request.looks_first or cluster.driver.engine.view.has_array(one.job_id)
    return not request.filters or _passes(cluster, request, job, privacy)


def _passes(cluster: Cluster, request: ScancelRequest, job: Job, privacy: Privacy) -> bool:
    """Whether a job passes the filters."""
    line = cluster.driver.engine.view.line(job)
    return (
        privacy.shows("jobs", line.user, line.account)
        and request.user in {"", line.user, str(line.user_id)}
        and request.name in {"", line.name}
        and request.partition in {"", *line.partition.split(",")}
        and request.account in {"", line.account}
        and request.qos in {"", line.qos}
        and request.reservation in {"", line.request.reservation}
        and request.state in {"", line.base_state}
        and (not request.nodes or not set(request.nodes).isdisjoint(line.nodes))
        and request.wckey in {"", cluster.runs.submissions.of(job.spec.payload).details.wckey}
    )


async def end_job(
    cluster: Cluster,
    uid: int,
    job_id: int,
    task_id: int | None,
    *,
    number: int | None = None,
    batch: bool = False,
    full: bool = False,
) -> tuple[Errno, str] | None:
    """Cancel or signal a job.

    Args:
        cluster: The cluster.
        uid: The user who asks.
        job_id: The job.
        task_id: A task of a job array; ``None``: all of them.
        number: The signal; ``None``: the job is cancelled, or its script killed.
        batch: Whether the signal is for the batch script alone: ``scancel -b``.
        full: Whether it is for all processes, also with ``batch``: ``scancel -f``.

    Returns:
        What was wrong; ``None``: nothing.
    """
    try:
        cluster.driver.engine.view.find(job_id, task_id)
    except RequestError as error:
        return error.errno, message_of(error.errno, str(error))[0]
    counts_as = cluster.rights.over_job(uid, job_id)
    job = cluster.driver.engine.jobs.get(job_id)
    event: ev.Event
    of_script = batch and job is not None and job.state is JobState.RUNNING
    if of_script and number is None:
        number = signal.SIGKILL
    if number is None or (number == signal.SIGKILL and not of_script):
        event = ev.Cancel(job_id=job_id, task_id=task_id, uid=counts_as, by=uid)
    elif (batch or full) and job is not None:
        if counts_as not in {0, job.user_id}:
            return Errno.ACCESS_DENIED, message_of(Errno.ACCESS_DENIED, "")[0]
        if job.state is JobState.RUNNING:
            cluster.executor.signal(job_id, job.restart_count, number, batch_only=not full)
        return None
    else:
        event = ev.SignalJob(job_id=job_id, task_id=task_id, signal=number, uid=counts_as)
    refused = await cluster.driver.request(event)
    if refused is None:
        return None
    return refused.errno, message_of(refused.errno, refused.message)[0]
