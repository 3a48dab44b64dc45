"""``sbatch`` of a live cluster."""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import TYPE_CHECKING

from rota.commands.option_error import OptionError, Problem
from rota.commands.slurm_messages import message_of
from rota.commands.submission import Client, ScriptError, read_command_line, read_submission, slurm_message
from rota.core import events as ev
from rota.core.plain import shape_of
from rota.listings.answer import VERSION
from rota.model import Errno, JobState
from rota.model.submission import Submission
from rota.store.database import compress
from rota.store.writes import add_submission
from rota.users import user_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.commands.submission import CommandLine, Submitted
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.effects import Refused
    from rota.model import JobRecord

#: Exit status for options that cannot be used.
_USAGE = 255
#: Slurm's default of ``max_script_size``, bytes; and its sentence about what is larger.
_MOST_SCRIPT = 4 << 20
_TOO_LONG = "Pathname of a file, directory or other parameter too long"
_HELP = (
    "Usage: sbatch [OPTIONS...] script [args...]\n\n"
    "The options are those of Slurm 22.05; the reference in rota's documentation lists them.\n"
)
#: Limits that a job inherits from its submission.
_LIMITS = {
    name.removeprefix("RLIMIT_"): getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")
}


async def sbatch(cluster: Cluster, call: Call, terminal: Terminal) -> int:
    """Submit a job; give the exit status."""
    now, utc_offset = cluster.clock.now(), cluster.driver.engine.utc_offset
    try:
        line = read_command_line(call.words[1:], now, utc_offset)
        if told := _tell(line):
            terminal.out(told)
            return 0
        script = await _script(line, terminal)
        submitted = read_submission(line, script, client_of(call), now, utc_offset)
    except OptionError as error:
        terminal.error(f"sbatch: {slurm_message(error)}\n")
        if error.kind is not Problem.VALUE:
            terminal.error('Try "sbatch --help" for more information\n')
        elif str(error):
            terminal.error(f"sbatch: error: {error.option}: {error}\n")
        return _USAGE
    except (ScriptError, OSError) as error:
        for text in str(error).split("\n"):
            terminal.error(f"sbatch: error: {text}\n")
        return 1
    return await _submit(cluster, call, terminal, submitted)


def _tell(line: CommandLine) -> str:
    """Give what ``--version`` and ``--help`` print; empty: they were not given."""
    if "version" in line.options.texts:
        return f"{VERSION}\n"
    return _HELP if {"help", "usage"} & line.options.texts.keys() else ""


async def _script(line: CommandLine, terminal: Terminal) -> str:
    path = line.script_path
    if path is None:
        return ""
    try:
        return (await terminal.read(path)).decode(errors="surrogateescape")
    except OSError:
        raise OSError(f"Unable to open file {path}") from None


def client_of(call: Call) -> Client:
    """Describe the process that submits."""
    return Client(
        user=user_name(call.uid),
        uid=call.uid,
        gid=call.gid,
        host=socket.gethostname().partition(".")[0],
        work_dir=call.work_dir,
        environment=call.environment,
        umask=call.umask,
        rlimits=_rlimits(call.pid),
    )


def _rlimits(pid: int) -> Mapping[str, tuple[int, int]]:
    """Read the limits of the client's process; none if it has gone."""
    try:
        return {name: resource.prlimit(pid, number) for name, number in _LIMITS.items()}
    except OSError:
        return {}


async def _submit(cluster: Cluster, call: Call, terminal: Terminal, submitted: Submitted) -> int:
    driver, texts = cluster.driver, submitted.texts
    clusters = texts.get("clusters", "")
    if clusters and clusters != driver.engine.view.config.cluster_name:
        terminal.error(f"sbatch: error: No cluster '{clusters}' known by database.\n")
        return 1
    most = driver.engine.view.config.scheduler_int("max_script_size", _MOST_SCRIPT, 1, 512 << 20)
    if len(submitted.submission.script) > most:
        terminal.error(f"sbatch: error: the script has more than the {most} bytes of max_script_size\n")
        terminal.error(f"sbatch: error: Batch job submission failed: {_TOO_LONG}\n")
        return 1
    if texts.get("mail-type", "NONE").upper() != "NONE":
        terminal.error("sbatch: warning: --mail-type: rota sends no mail\n")
    job_id = driver.next_job_id
    spec = submitted.spec._replace(payload=str(job_id))
    data = compress(shape_of(Submission).encode(submitted.submission))
    cluster.runs.keep(spec.payload, submitted.submission)
    end = _Ending(job_id)
    if "wait" in texts:
        driver.on_finished.append(end)
    try:
        event = ev.Submit(job_id, spec, uid=cluster.authority(call.uid))
        refused = await driver.submit(event, [add_submission(spec.payload, data)])
        if refused is not None:
            return _refuse(terminal, refused, spec.partition)
        if "parsable" in texts:
            terminal.out(f"{job_id};{clusters}\n" if clusters else f"{job_id}\n")
        elif "quiet" not in texts:
            terminal.out(f"Submitted batch job {job_id}\n")
        return await end.status if "wait" in texts else 0
    finally:
        if "wait" in texts:
            driver.on_finished.remove(end)


def _refuse(terminal: Terminal, refused: Refused, partition: str) -> int:
    sentence, more = message_of(refused.errno, refused.message)
    if refused.errno is Errno.INVALID_PARTITION_NAME:
        more = f"invalid partition specified: {partition}"
    if more:
        terminal.error(f"sbatch: error: {more}\n")
    terminal.error(f"sbatch: error: Batch job submission failed: {sentence}\n")
    return 1


class _Ending:
    """Waits for the end of a job, or of all tasks of an array."""

    def __init__(self, job_id: int) -> None:
        self._job_id = job_id
        self._worst = 0
        #: The exit status: the job's, or the largest of the tasks.
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def __call__(self, record: JobRecord) -> None:
        """Notice the end of a job."""
        if self._job_id not in {record.job_id, record.array_job_id} or self.status.done():
            return
        status = 128 + record.signal if record.signal else record.exit_code
        self._worst = max(self._worst, status or int(record.state is not JobState.COMPLETED))
        if record.array_job_id is None or record.array_is_over:
            self.status.set_result(self._worst)
