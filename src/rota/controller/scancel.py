"""``scancel`` of a live cluster. Its exit status is 0, or the number of the last error modulo 256, as in Slurm."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rota.commands.scancel import parse_scancel
from rota.commands.slurm_messages import message_of
from rota.controller.live_view import LiveView
from rota.core import events as ev
from rota.listings.answer import VERSION
from rota.listings.common import unknown_cluster
from rota.model import Errno, JobState
from rota.users import find_user

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.commands.job_ids import JobId
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

    for one in request.jobs:
        if one.step and (errno := _end_step(cluster, call, request, one)) is not None and not request.quiet:
            is_there = one.job_id in cluster.driver.engine.jobs
            status = errno & 255 if is_there else 1
            step = one.job_id if is_there else one
            terminal.error(f"scancel: error: Kill job error on job step id {step}: {message_of(errno, '')[0]}\n")
    for job_id, task_id in _targets(cluster, request, LiveView(cluster, call.uid).privacy):
        shown = str(job_id) if task_id is None else f"{job_id}_{task_id}"
        if request.verbose:
            terminal.error(f"scancel: Terminating job {shown}\n")
        wrong = await end_job(
            cluster, call.uid, job_id, task_id, number=request.signal, batch=request.batch, full=request.full
        )
        if wrong is not None:
            problem(*wrong, shown)
    return status


def _end_step(cluster: Cluster, call: Call, request: ScancelRequest, one: JobId) -> Errno | None:
    """End or signal a step; give what was wrong, ``None``: nothing."""
    job = cluster.driver.engine.jobs.get(one.job_id)
    if job is None:
        return Errno.INVALID_JOB_ID
    if cluster.rights.over_job(call.uid, one.job_id) not in {0, job.user_id}:
        return Errno.INVALID_USER_ID
    if cluster.steps.find(one.job_id, job.restart_count, one.step) is None:
        return None if job.state is JobState.PENDING else Errno.INVALID_JOB_ID
    cluster.step_clients.signal(one.job_id, request.signal or signal.SIGKILL, one.step)
    return None


def _targets(cluster: Cluster, request: ScancelRequest, privacy: Privacy) -> Iterable[Target]:
    """Give the jobs that are meant: filters find none that the user may not see."""
    if not request.jobs:
        jobs = list(cluster.driver.engine.jobs.values())
        return [(job.job_id, None) for job in jobs if _passes(cluster, request, job, privacy)]
    chosen: list[Target] = []
    for one in request.jobs:
        if one.step:
            continue
        job = cluster.driver.engine.jobs.get(one.job_id)
        if job is None or not request.has_filters or _passes(cluster, request, job, privacy):
            chosen += [(one.job_id, task) for task in one.tasks] or [(one.job_id, None)]
    return chosen


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
        number: The signal; ``None``: the job is cancelled.
        batch: Whether the signal is for the batch script alone: ``scancel -b``.
        full: Whether it is for all processes: ``scancel -f``.

    Returns:
        What was wrong; ``None``: nothing.
    """
    counts_as = cluster.rights.over_job(uid, job_id)
    job = cluster.driver.engine.jobs.get(job_id)
    event: ev.Event
    if number is None or (number == signal.SIGKILL and not batch):
        event = ev.Cancel(job_id=job_id, task_id=task_id, uid=counts_as)
        if job is not None and counts_as in {0, job.user_id}:
            cluster.runs.cancelled_by[job_id if job.array is None else job.array.job_id] = uid
    elif (batch or full) and job is not None:
        if counts_as not in {0, job.user_id}:
            return Errno.ACCESS_DENIED, message_of(Errno.ACCESS_DENIED, "")[0]
        if job.state is JobState.RUNNING:
            cluster.executor.signal(job_id, job.restart_count, number, batch_only=batch)
        return None
    else:
        event = ev.SignalJob(job_id=job_id, task_id=task_id, signal=number, uid=counts_as)
    refused = await cluster.driver.request(event)
    if refused is None:
        return None
    return refused.errno, message_of(refused.errno, refused.message)[0]
