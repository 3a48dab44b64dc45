"""Updates of live jobs: of their requests, and of what users have handed in beside these.

What was handed in is common to all tasks of an array, so that an update of one task's comment is one of all of them.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.commands.mail_options import mail_options
from rota.commands.option_error import OptionError
from rota.commands.slurm_messages import message_of
from rota.controller.submitting import LONGEST_TEXT, TOO_LONG
from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.plain import shape_of
from rota.model import Errno, JobState, RequestError
from rota.model.submission import Submission
from rota.store.database import compress
from rota.store.writes import add_submission, drop_submission

if TYPE_CHECKING:
    from rota.commands.scontrol_update import JobUpdate, LimitChange
    from rota.controller.cluster import Cluster
    from rota.core.job import Job
    from rota.model.accounting import JobDetails
    from rota.store import Write

#: Fields of `JobSpec` that an update sets, by field of `JobUpdate` where the names differ.
_FIELDS = {"features": "constraint", "start_time": "begin_time"}
#: Fields of `JobUpdate` that are no fields of `JobSpec`.
_OTHERS = frozenset({"jobs", "of_name", "time_limit", "time_min", "end_time", "array_throttle"})
_FILES = ("std_in", "std_out", "std_err")
#: Fields of `JobDetails`, and those of them that change of pending jobs only.
_DETAILS = frozenset({"comment", "admin_comment", "wckey", "mail_user", "mail_type", "tmp_disk", "work_dir", *_FILES})
_OF_PENDING = frozenset({"wckey", "tmp_disk", "work_dir", *_FILES})
#: Fields of `JobSpec` for GRES, which are written ``gres:gpu:1`` as any TRES is.
_TRES = {
    "tres_per_node": "gres",
    "tres_per_job": "gres_per_job",
    "tres_per_socket": "gres_per_socket",
    "tres_per_task": "gres_per_task",
}


async def update_job(
    cluster: Cluster, request: JobUpdate, job_id: int, task_id: int | None, uid: int
) -> Refused | None:
    """Change a job for a user, whichever the request names, and give why that is refused; ``None``: it is done.

    Raises:
        RequestError: a value cannot be used.
    """
    given = {one.name: getattr(request, one.name) for one in fields(request)}
    given = {name: value for name, value in given.items() if value is not None}
    details = {name: given.pop(name) for name in _DETAILS & given.keys()}
    given |= {_TRES[name]: _gres(given.pop(name)) for name in _TRES.keys() & given.keys()}
    _check(cluster, job_id, given)
    changes = {_FIELDS.get(name, name): value for name, value in given.items() if name not in _OTHERS}
    changes |= _times(cluster, job_id, request)
    uid = cluster.rights.over_job(uid, job_id)
    writes: list[Write] = []
    changed: dict[str, Submission] = {}
    for job in _own_jobs(cluster, job_id, task_id, uid) if details else ():
        if refused := _refused(job, details, uid):
            return refused
        payload = job.spec.payload
        if payload and payload not in changed:
            known = cluster.runs.submissions.of(payload)
            changed[payload] = replace(known, details=_with(known.details, details))
            data = compress(shape_of(Submission).encode(changed[payload]))
            writes += [drop_submission(payload), add_submission(payload, data)]
    event = ev.UpdateJob(
        job_id=job_id, task_id=task_id, changes=changes, array_throttle=request.array_throttle, uid=uid
    )
    refused = await cluster.driver.request(event, writes=writes)
    if refused is None:
        for payload, submission in changed.items():
            cluster.runs.submissions.keep(payload, submission)
    return refused


def _own_jobs(cluster: Cluster, job_id: int, task_id: int | None, uid: int) -> list[Job]:
    """Find the live jobs that a request names; none if one is somebody else's: the engine refuses that."""
    try:
        found = cluster.driver.engine.view.find(job_id, task_id)
    except RequestError:
        return []
    return found if uid == 0 or all(job.user_id == uid for job in found) else []


def _refused(job: Job, details: dict[str, Any], uid: int) -> Refused | None:
    errno = None
    if "admin_comment" in details and uid:
        errno = Errno.ACCESS_DENIED
    elif _OF_PENDING & details.keys() and job.state is not JobState.PENDING:
        errno = Errno.JOB_NOT_PENDING
    return None if errno is None else Refused(job_id=job.job_id, errno=errno, message=message_of(errno, "")[0])


def _with(known: JobDetails, changes: dict[str, Any]) -> JobDetails:
    """Change details of a job.

    Raises:
        RequestError: a value cannot be used.
    """
    if max(len(str(value)) for value in changes.values()) > LONGEST_TEXT:
        raise RequestError(TOO_LONG, Errno.INVALID_EVENT)
    mail = {f"mail-{name}": changes[f"mail_{name}"] for name in ("user", "type") if changes.get(f"mail_{name}")}
    try:
        _, types = mail_options(mail)
    except OptionError as error:
        raise RequestError(str(error), Errno.INVALID_EVENT) from None
    if changes.get("std_out") and "std_err" not in changes and known.std_err == known.std_out:
        changes = {**changes, "std_err": changes["std_out"]}
    if changes.get("work_dir") == "":
        raise RequestError("a job has to have a directory", Errno.INVALID_EVENT)
    paths = (*_FILES, "work_dir")
    files = {name: str(Path(known.work_dir, changes[name])) for name in paths if changes.get(name)}
    given: dict[str, Any] = {**changes, **files} | ({"mail_type": types} if "mail_type" in changes else {})
    return replace(known, **given)


def _gres(tres: str) -> str:
    """Give the GRES of a list of TRES.

    Raises:
        RequestError: others are among them.
    """
    each = tres.split(",") if tres else []
    if not all(one.startswith("gres:") for one in each):
        raise RequestError(message_of(Errno.INVALID_TRES, "")[0], Errno.INVALID_TRES)
    return ",".join(one.removeprefix("gres:") for one in each)


def _check(cluster: Cluster, job_id: int, given: dict[str, Any]) -> None:
    """Check what a job has to have, as Slurm does.

    Raises:
        RequestError: it is missing, or is not for a job in this state.
    """
    job = cluster.driver.engine.jobs.get(job_id)
    waits = job is not None and job.state is JobState.PENDING
    least, most = given.get("min_nodes", 1), given.get("max_nodes", 0)
    errno = None
    if waits and given.get("partition") == "":
        errno = Errno.INVALID_PARTITION_NAME
    elif waits and given.get("account") == "":
        errno = Errno.INVALID_ACCOUNT
    elif waits and 0 < given.get("deadline", 0) < cluster.clock.now():
        errno = Errno.INVALID_TIME_VALUE
    elif waits and "end_time" in given:
        errno = Errno.JOB_NOT_RUNNING
    elif not least or 0 < most < least:
        errno = Errno.INVALID_NODE_COUNT
    if errno is not None:
        raise RequestError(message_of(errno, "")[0], errno)


def _times(cluster: Cluster, job_id: int, request: JobUpdate) -> dict[str, Any]:
    """Give the new time limits of a job.

    Raises:
        RequestError: the least one of a job that waits would be above the other, or a change comes to no time.
    """
    job = cluster.driver.engine.jobs.get(job_id)
    if job is None:
        return {}
    found: dict[str, Any] = {}
    if request.time_limit is not None:
        found["time_limit"] = _limit(request.time_limit, job.time_limit)
    if request.time_min is not None:
        found["time_min"] = _limit(request.time_min, job.spec.time_min or job.time_limit)
    if request.end_time is not None and job.start_time is not None:
        found["time_limit"] = max((request.end_time - job.start_time) // 60, 1) * 60
    shortest, limit = found.get("time_min", job.spec.time_min), found.get("time_limit", job.time_limit)
    if found and job.state is JobState.PENDING and (shortest or 0) > limit:
        raise RequestError(message_of(Errno.INVALID_TIME_MIN_LIMIT, "")[0], Errno.INVALID_TIME_MIN_LIMIT)
    return found


def _limit(asked: LimitChange, now: int) -> int:
    if not asked.sign:
        return asked.seconds
    limit = now + asked.seconds if asked.sign == "+" else now - asked.seconds
    if limit < 60:
        raise RequestError(message_of(Errno.INVALID_TIME_LIMIT, "")[0], Errno.INVALID_TIME_LIMIT)
    return limit
