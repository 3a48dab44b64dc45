"""What changes jobs: submissions, cancellations, signals, holds, updates."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any, NoReturn

from rota.commands.job_ids import parse_job_id
from rota.commands.option_error import OptionError
from rota.commands.refusals import BY_CONTROLLER
from rota.commands.scontrol_update import JobUpdate, parse_update
from rota.commands.signals import signal_number
from rota.commands.slurm_messages import MESSAGES, message_of
from rota.commands.submission import Client, ScriptError, read_command_line, read_submission
from rota.controller.api import questions as q
from rota.controller.job_orders import order
from rota.controller.job_updates import update_job
from rota.controller.live_view import LiveView
from rota.controller.scancel import end_job
from rota.controller.submitting import hand_in, host_name, largest_script
from rota.listings.common import unknown_cluster
from rota.listings.openapi import submission as layout
from rota.listings.view import AccountingQuery
from rota.model import Errno, RequestError
from rota.model.array import fold_tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from rota.commands.job_ids import JobId
    from rota.controller.api.caller import Caller
    from rota.controller.cluster import Cluster
    from rota.core.effects import Refused

    #: Carries an order out, and gives what is answered.
    Order = Callable[[Cluster, Caller, Any], Awaitable[Any]]

#: Options with which `sbatch` submits nothing.
_SUBMITTING_NOTHING = ("help", "test-only", "usage", "version")
#: The path of a script that is in no file, and which rights new files do not get.
_NO_FILE, _UMASK = "", 0o022
#: Reasons of a new job about which slurmrestd tells with an error number, though it has taken the job.
_TOLD = {
    "JobHeldUser": (2042, "Job is in held state, pending scheduler release"),
    "JobHeldAdmin": (2042, "Job is in held state, pending scheduler release"),
    "PartitionNodeLimit": (2015, MESSAGES[Errno.REQUESTED_PART_CONFIG_UNAVAILABLE]),
    "PartitionTimeLimit": (2015, MESSAGES[Errno.REQUESTED_PART_CONFIG_UNAVAILABLE]),
}


class SlurmError(RequestError):
    """A submission that slurmrestd refuses with a number of its own."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message, Errno.INVALID_EVENT)
        self.number = number


def _refuse(refused: Refused) -> NoReturn:
    raise RequestError(": ".join(filter(None, message_of(refused.errno, refused.message))), refused.errno)


def _job_of(text: str) -> JobId:
    """Give the id of a job, or of one task.

    Raises:
        RequestError: it is no such id.
    """
    wanted = parse_job_id(text)
    if wanted is None or wanted.step or wanted.bracketed:
        raise RequestError(MESSAGES[Errno.INVALID_JOB_ID], Errno.INVALID_JOB_ID)
    return wanted


def _ids_of(text: str) -> tuple[int, int | None]:
    """Give job id and task id of a job; see `_job_of`."""
    wanted = _job_of(text)
    return wanted.job_id, wanted.tasks[0] if wanted.tasks else None


# ---- submissions ------------------------------------------------------------------------------------------------


async def _submit(cluster: Cluster, caller: Caller, asked: q.Submitting) -> dict[str, Any]:
    job_id = await _hand_in(cluster, caller, asked)
    return {"job_id": job_id}


async def _hand_in(cluster: Cluster, caller: Caller, asked: q.Submitting, *, directives: bool = True) -> int:
    """Submit a job; give its id.

    Raises:
        OptionError: an option cannot be used.
        ScriptError: the script cannot be used.
        RequestError: the job is refused.
    """
    if len(asked.script) > largest_script(cluster):
        raise ScriptError(f"the script has more than the {largest_script(cluster)} bytes of max_script_size")
    if problem := next((name for name in asked.environment if not name or "=" in name), None):
        raise RequestError(f"{problem!r} is no name of a variable", Errno.INVALID_EVENT)
    now, utc_offset = cluster.clock.now(), cluster.driver.engine.utc_offset
    client = Client(
        user=caller.name,
        uid=caller.uid,
        gid=caller.gid,
        host=host_name(),
        work_dir=asked.directory or caller.home,
        environment=asked.environment,
        umask=_UMASK,
        rlimits={},
    )
    line = read_command_line([*asked.options, _NO_FILE, *asked.arguments], now, utc_offset)
    submitted = read_submission(line, asked.script, client, now, utc_offset, directives=directives)
    if option := next((f"--{one}" for one in _SUBMITTING_NOTHING if one in submitted.texts), None):
        raise OptionError(option, "nothing would be submitted: that is for sbatch alone")
    if lines := unknown_cluster(submitted.texts.get("clusters", ""), cluster.driver.engine.view.config):
        raise RequestError(lines[0].removeprefix("error: "), Errno.INVALID_EVENT)
    job_id = cluster.driver.next_job_id
    refused = await hand_in(cluster, caller.uid, job_id, submitted.spec, submitted.submission)
    if refused is not None:
        _refuse(refused)
    return job_id


async def _slurm_submit(cluster: Cluster, caller: Caller, asked: q.SlurmSubmission) -> dict[str, Any]:
    body = _body(asked.body) or {}
    script, job = body.get("script"), body.get("job")
    if job is None and isinstance(body.get("jobs"), list) and len(body["jobs"]) == 1:
        job = body["jobs"][0]
    if script is None:
        raise SlurmError("Job script not specified", layout.NO_SCRIPT)
    if not isinstance(job, dict):
        several = "rota has no heterogeneous jobs" if body.get("jobs") else "no job is described"
        raise SlurmError(several, layout.NO_DESCRIPTION)
    if not job.get("environment"):
        raise SlurmError("environment must be set", layout.NO_ENVIRONMENT)
    submitting = q.Submitting(
        script=layout.text_of_value("script", script),
        arguments=_list(job.get("argv")),
        environment=_environment(job["environment"]),
        options=tuple(layout.sbatch_words(job)),
    )
    try:
        job_id = await _hand_in(cluster, caller, submitting, directives=False)
    except OptionError as error:
        if (errno := BY_CONTROLLER.get(error.name)) is not None:
            raise RequestError(MESSAGES[errno], errno) from None
        raise layout.PropertyError(layout.property_of(error.option), str(error)) from None
    line = cluster.driver.engine.view.job(job_id)
    told = None if line is None else _TOLD.get(line.reason)
    return {"job_id": job_id, "told": told}


def _body(text: str) -> dict[str, Any] | None:
    data = json.loads(text)
    q.check_texts(data)
    return data if isinstance(data, dict) else None


def _list(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise layout.PropertyError("argv", "argv must be a list")
    return tuple(layout.text_of_value("argv", one) for one in value)


def _environment(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise layout.PropertyError("environment", "environment must be a dictionary")
    return {name: layout.text_of_value("environment", one) for name, one in value.items()}


# ---- jobs that are there ----------------------------------------------------------------------------------------


async def _end(cluster: Cluster, caller: Caller, asked: q.Ending) -> dict[str, Any]:
    job_id, task_id = _ids_of(asked.job)
    number = _signal(asked.signal) if asked.signal else None
    problem = await end_job(cluster, caller.uid, job_id, task_id, number=number)
    if problem is not None:
        errno, text = problem
        if errno is Errno.INVALID_JOB_ID and _has_ended(cluster, caller, job_id):
            errno, text = Errno.ALREADY_DONE, MESSAGES[Errno.ALREADY_DONE]
        raise RequestError(text, errno)
    return {}


def _has_ended(cluster: Cluster, caller: Caller, job_id: int) -> bool:
    """Whether the accounting has a job, which is not live."""
    query = AccountingQuery(job_ids=frozenset({job_id}))
    return any(True for _ in LiveView(cluster, caller.uid).accounted(query))


def _signal(text: str) -> int:
    """Give the number of a signal.

    Raises:
        RequestError: there is none.
    """
    number = int(text) if text.isdecimal() and len(text) < 4 else signal_number(text) or 0
    if number not in signal.valid_signals():
        raise RequestError(f"{text!r} is no signal", Errno.INVALID_EVENT)
    return number


async def _order(cluster: Cluster, caller: Caller, asked: q.Ordering) -> dict[str, Any]:
    answers = await order(cluster, asked.command, _job_of(asked.job), caller.uid)
    for one in answers:
        if one.errno is not Errno.SUCCESS:
            tasks = f"tasks {fold_tasks(one.tasks)}: " if len(answers) > 1 else ""
            raise RequestError(f"{tasks}{one.message}", one.errno)
    return {}


async def _update(cluster: Cluster, caller: Caller, asked: q.Updating) -> dict[str, Any]:
    await _change(cluster, caller, asked.job, asked.changes)
    return {}


async def _slurm_update(cluster: Cluster, caller: Caller, asked: q.SlurmUpdate) -> dict[str, Any]:
    properties = _body(asked.body)
    if properties is None:
        raise RequestError("one job is described by an object", Errno.INVALID_EVENT)
    changes = layout.update_words(properties)
    job_id, _ = _ids_of(asked.job)
    if job_id not in cluster.driver.engine.jobs:
        raise RequestError(MESSAGES[Errno.INVALID_JOB_ID], Errno.INVALID_JOB_ID)
    if changes:
        await _change(cluster, caller, asked.job, changes)
    if (hold := properties.get("hold")) is not None:
        command = "uhold" if layout.is_true("hold", hold) else "release"
        await _order(cluster, caller, q.Ordering(asked.job, command))
    return {}


async def _change(cluster: Cluster, caller: Caller, job: str, changes: Mapping[str, str]) -> None:
    job_id, task_id = _ids_of(job)
    words = [f"JobId={job}", *(f"{key}={value}" for key, value in changes.items())]
    request = parse_update(words, cluster.clock.now(), cluster.driver.engine.utc_offset)
    if not isinstance(request, JobUpdate) or len(request.jobs) != 1 or str(request.jobs[0]) != job:
        raise RequestError("these keys are not those of one job", Errno.INVALID_EVENT)
    refused = await update_job(cluster, request, job_id, task_id, caller.uid)
    if refused is not None:
        _refuse(refused)


#: The orders by name: their parameters, and who carries them out.
ORDERS: dict[str, tuple[type[Any], Order]] = {
    "end": (q.Ending, _end),
    "order": (q.Ordering, _order),
    "slurm-submit": (q.SlurmSubmission, _slurm_submit),
    "slurm-update": (q.SlurmUpdate, _slurm_update),
    "submit": (q.Submitting, _submit),
    "update": (q.Updating, _update),
}
