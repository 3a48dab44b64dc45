"""Handing jobs in: what ``sbatch``, ``salloc`` and ``srun`` have in common."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from rota.commands.host_file import FAILED, MOST_BYTES, files_named, read_host_file, with_names
from rota.commands.option_error import OptionError, Problem
from rota.commands.refusals import refusal
from rota.commands.slurm_messages import message_of
from rota.commands.submission import Client, ScriptError
from rota.commands.unused_values import fewer_nodes, notes
from rota.controller.login_shell import doubt
from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.plain import shape_of
from rota.model import Errno
from rota.model.submission import Submission
from rota.store.database import compress
from rota.store.writes import add_submission
from rota.users import user_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from rota.commands.sbatch_options import Flag, Option
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.model import JobSpec

#: Slurm's default of ``max_script_size``, bytes.
_MOST_SCRIPT = 4 << 20
#: Limits that a job inherits from its submission, as the kernel names them.
_LIMITS = {
    "AS": "address space",
    "CORE": "core file size",
    "CPU": "cpu time",
    "DATA": "data size",
    "FSIZE": "file size",
    "MEMLOCK": "locked memory",
    "MSGQUEUE": "msgqueue size",
    "NICE": "nice priority",
    "NOFILE": "open files",
    "NPROC": "processes",
    "RSS": "resident set",
    "RTPRIO": "realtime priority",
    "SIGPENDING": "pending signals",
    "STACK": "stack size",
}


#: Slurm's sentence about texts that are too long, and the longest of most of them, characters.
TOO_LONG = "Pathname of a file, directory or other parameter too long"
LONGEST_TEXT = 1024


class RefusedError(Exception):
    """What a command asks for is refused; the arguments are lines that say why."""


async def telling_problems(name: str, terminal: Terminal, command: Callable[[], Awaitable[int | None]]) -> int | None:
    """Run a command, and tell the user why it is refused; give the exit status.

    Args:
        name: The command's name.
        terminal: Where problems are told.
        command: Carries the command out. It may raise an `OptionError`, a `ScriptError`, a `RefusedError` or an
            `OSError`.
    """
    try:
        return await command()
    except OptionError as error:
        lines, status, heading, listed = refusal(name, error)
        if listed:
            terminal.out(listed)
        terminal.error(heading + "".join(f"{name}: {line}\n" for line in lines))
        if error.kind is not Problem.VALUE:
            terminal.error(f'Try "{name} --help" for more information\n')
        return status
    except RefusedError as error:
        lines, status = error.args, 1
    except (ScriptError, OSError) as error:
        lines = tuple(f"error: {text}" for text in str(error).split("\n"))
        status = error.status if isinstance(error, ScriptError) else 1
    terminal.error("".join(f"{name}: {line}\n" for line in lines))
    return status


async def with_host_files(
    call: Call, terminal: Terminal, table: Mapping[str, Option | Flag], letters: Mapping[str, str]
) -> Sequence[str]:
    """Give the words after a command, with the names of nodes in the place of files that have them.

    Args:
        call: The call of the command.
        terminal: What reads the files, with the rights of the user.
        table: The options of the command by long name.
        letters: The long names of options by their letters.

    Raises:
        OptionError: an option cannot be used.
        RefusedError: a file cannot be read, or has no names.
    """
    words = call.words[1:]
    line = files_named(words, call.environment, table, letters)
    names = []
    for file in line.files:
        try:
            text = (await terminal.read(file.path, MOST_BYTES)).decode(errors="surrogateescape")
            names.append(read_host_file(file, text))
        except (OSError, ValueError) as error:
            opening = f"slurm_allocate_resources error opening file {file.path}, " if isinstance(error, OSError) else ""
            more = [f"error: {FAILED[file.named_by]}"] if file.named_by in FAILED else []
            raise RefusedError(f"error: {opening}{error}", *more) from None
    return with_names(line, names) if names else words


async def submit(
    cluster: Cluster, call: Call, job_id: int, spec: JobSpec, submission: Submission, *, failed: str
) -> None:
    """Submit a job, and wait until that is on disk.

    Args:
        cluster: The cluster.
        call: The call of the command.
        job_id: The id of the job: the driver's next one.
        spec: The request; its ``payload`` is the name of the submission, or empty.
        submission: What is handed in with it.
        failed: What is said before the reason if it is refused.

    Raises:
        RefusedError: it is refused.
    """
    refused = await hand_in(cluster, call.uid, job_id, spec, submission)
    if refused is None:
        return
    sentence, more = sentence_of(refused.errno, refused.message)
    last = sentence if refused.errno is Errno.INVALID_GRES else f"{failed}: {sentence}"
    raise RefusedError(*([f"error: {more}"] if more else []), f"error: {last}")


async def hand_in(cluster: Cluster, uid: int, job_id: int, spec: JobSpec, submission: Submission) -> Refused | None:
    """Hand a job of a user in, and give why it is refused; ``None``: it is on disk. See `submit`."""
    details = submission.details
    texts = (spec.name, spec.account, spec.partition, spec.constraint, spec.licenses, spec.reservation, spec.qos)
    if max(map(len, (*texts, details.comment, details.wckey, details.mail_user))) > LONGEST_TEXT:
        return Refused(job_id=job_id, errno=Errno.INVALID_EVENT, message=TOO_LONG)
    if 0 < spec.deadline <= cluster.clock.now():
        return Refused(job_id=job_id, errno=Errno.INVALID_TIME_LIMIT, message="its deadline is over")
    if why := cluster.known_jobs.too_many(spec):
        return Refused(job_id=job_id, errno=Errno.AGAIN, message=why)
    spec = spec if spec.payload else spec._replace(payload=str(job_id))
    submissions = cluster.runs.submissions
    submissions.handed_in(spec.payload, job_id)
    submissions.keep(spec.payload, submission)
    data = compress(shape_of(Submission).encode(submission))
    event = ev.Submit(job_id, spec, uid=cluster.rights.as_operator(uid))
    refused = await cluster.driver.submit(event, [add_submission(spec.payload, data)])
    if refused is not None:
        submissions.refused(spec.payload)
    return refused


def warnings(cluster: Cluster, command: str, submission: Submission, texts: Mapping[str, str]) -> str:
    """Say what of a submission is not heeded, and what may not come out as it is meant; empty: nothing.

    Args:
        cluster: The cluster.
        command: The command's name.
        submission: The submission.
        texts: The texts of its options.
    """
    lines = notes(texts)
    if command != "sbatch" or "quiet" not in texts:
        lines += fewer_nodes(texts)
    if submission.details.mail_type and cluster.mail.trouble:
        lines.append(f"warning: {cluster.mail.trouble}")
    if trouble := doubt(submission.script, submission.environment, cluster.state):
        lines.append(f"warning: {trouble}")
    return "".join(f"{command}: {line}\n" for line in lines)


def sentence_of(errno: Errno, message: str) -> tuple[str, str]:
    """Give Slurm's sentence about a request that is refused, and what there is to say beside it; empty: nothing."""
    sentence, more = message_of(errno, message)
    if errno is Errno.INVALID_PARTITION_NAME:
        name = more.removeprefix("there is no ").rpartition(" (there are: ")[0]
        more = f"invalid partition specified: {name[1:-1]}"  # without quotes
    return sentence, more


def largest_script(cluster: Cluster) -> int:
    """Give the number of bytes that a script may have."""
    return cluster.driver.engine.view.config.scheduler_int("max_script_size", _MOST_SCRIPT, 1, 512 << 20)


def host_name() -> str:
    """Give the short name of this machine."""
    return socket.gethostname().partition(".")[0]


def client_of(call: Call) -> Client:
    """Describe the process that submits."""
    return Client(
        user=user_name(call.uid),
        uid=call.uid,
        gid=call.gid,
        host=host_name(),
        work_dir=call.work_dir,
        environment=call.environment,
        umask=call.umask,
        rlimits=_rlimits(call.pid, call.uid),
    )


def _rlimits(pid: int, uid: int) -> Mapping[str, tuple[int, int]]:
    """Read the limits of the client's process; none if it has gone, as its number may be that of another user's."""
    try:
        with Path(f"/proc/{pid}/limits").open() as file:
            lines = file.read().splitlines() if os.fstat(file.fileno()).st_uid == uid else []
    except OSError:
        return {}
    columns = {line[4:26].rstrip(): line[26:].split() for line in lines}
    return {name: (_number(columns[text][0]), _number(columns[text][1])) for name, text in _LIMITS.items() if columns}


def _number(text: str) -> int:
    return -1 if text == "unlimited" else int(text)
