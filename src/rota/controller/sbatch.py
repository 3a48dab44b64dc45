"""``sbatch`` of a live cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rota.commands.sbatch_options import SHORT
from rota.commands.submission import TABLE, quietness, read_command_line, read_submission
from rota.controller.command_names import name_of
from rota.controller.given_again import ended_jobs, known_job, no_longer_found
from rota.controller.submitting import (
    TOO_LONG,
    RefusedError,
    client_of,
    largest_script,
    submit,
    telling_problems,
    warnings,
    with_host_files,
)
from rota.controller.wire import TooLargeError
from rota.controller.would_start import tell_start
from rota.controller.zone import utc_offset_for
from rota.listings.answer import VERSION
from rota.listings.common import unknown_cluster
from rota.listings.job_facts import END_NOT_SEEN
from rota.model.reason import Reason

if TYPE_CHECKING:
    from rota.commands.submission import CommandLine, Submitted
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.model import JobRecord

#: Number of times that a submission is tried again.
_RETRIES = 15
_HELP = (
    "Usage: sbatch [OPTIONS...] script [args...]\n\n"
    "The options are those of Slurm 22.05; the reference in rota's documentation lists them.\n"
)


async def sbatch(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Submit a job; give the exit status."""

    async def command() -> int | None:
        now, utc_offset = cluster.clock.now(), utc_offset_for(cluster, call)
        words = await with_host_files(call, terminal, TABLE, SHORT)
        line = read_command_line(words, now, utc_offset)._replace(words=call.words[1:])
        terminal.is_hushed = quietness(line.options.texts) > 1
        if told := _tell(line):
            terminal.out(told)
            return 0
        script = await _script(cluster, line, terminal)
        return await _submit(cluster, call, terminal, read_submission(line, script, client_of(call), now, utc_offset))

    return await telling_problems("sbatch", terminal, command)


def _tell(line: CommandLine) -> str:
    """Give what ``--version`` and ``--help`` print; empty: they were not given."""
    if "version" in line.options.texts:
        return f"{VERSION}\n"
    return _HELP if {"help", "usage"} & line.options.texts.keys() else ""


async def _script(cluster: Cluster, line: CommandLine, terminal: Terminal) -> str:
    path = line.script_path
    if path is None:
        return ""
    most = largest_script(cluster)
    try:
        return (await terminal.read(path, most)).decode(errors="surrogateescape")
    except TooLargeError:
        why = f"error: the script has more than the {most} bytes of max_script_size"
        raise RefusedError(why, f"error: Batch job submission failed: {TOO_LONG}") from None
    except OSError:
        raise OSError(f"Unable to open file {path}") from None


async def _submit(cluster: Cluster, call: Call, terminal: Terminal, submitted: Submitted) -> int | None:
    driver, texts = cluster.driver, submitted.texts
    config = driver.engine.view.config
    named = config.cluster_name if texts.get("clusters") else ""
    if lines := unknown_cluster(texts.get("clusters", ""), config):
        raise RefusedError(*lines)
    terminal.error(warnings(cluster, "sbatch", submitted.submission, texts))
    if "test-only" in texts:
        await tell_start(cluster, call, terminal, driver.next_job_id, submitted.spec, quiet="quiet" in texts)
        return None
    name = name_of(call, driver.next_job_id, ends_with_command=False)
    known = await known_job(cluster, call, name)
    if known is None:
        await _until_taken(cluster, terminal, submitted)
        name = name_of(call, driver.next_job_id, ends_with_command=False)
    job_id = driver.next_job_id if known is None else known
    end = _Ending(job_id)
    if "wait" in texts:
        driver.on_finished.append(end)
    try:
        if known is None:
            failed, spec = "Batch job submission failed", submitted.spec._replace(payload=name)
            await submit(cluster, call, job_id, spec, submitted.submission, failed=failed)
        if "wait" in texts:
            terminal.has_job(call, job_id)
        if "quiet" not in texts and "parsable" in texts:
            terminal.out(f"{job_id};{named}\n" if named else f"{job_id}\n")
        elif "quiet" not in texts:
            terminal.out(f"Submitted batch job {job_id}{named and f' on cluster {named}'}\n")
        if "wait" not in texts:
            return 0
        if known is not None:
            _catch_up(cluster, end, name)
        status = await end.status
        if end.is_unknown:
            terminal.error(f"sbatch: error: Job {job_id}: {END_NOT_SEEN}\n")
        return status
    finally:
        if "wait" in texts:
            driver.on_finished.remove(end)


def _catch_up(cluster: Cluster, end: _Ending, name: str) -> None:
    """Take into account what has ended while nobody waited.

    Args:
        cluster: The cluster.
        end: The wait for its end.
        name: The name of its submission.

    Raises:
        RefusedError: nothing is known of it any more.
    """
    ended = ended_jobs(cluster, name)
    for one in ended:
        end.add(one["exit_code"], one["signal"], is_unknown=one.get("reason") == Reason.SYSTEM_FAILURE.value)
    engine = cluster.driver.engine
    ending = [one.job for one in cluster.runs.ending.values()]  # their ends are told when they are on disk
    is_ending = any(end.job_id in {one.job_id, one.array_job_id} for one in ending)
    if not is_ending and end.job_id not in engine.jobs and not engine.view.has_array(end.job_id):
        if not ended:
            raise no_longer_found(end.job_id)
        end.is_over()


async def _until_taken(cluster: Cluster, terminal: Terminal, submitted: Submitted) -> None:
    """Wait as Slurm's ``sbatch`` does while there are too many jobs: longer and longer, 120 s in all."""
    if not cluster.known_jobs.too_many(submitted.spec):
        return
    terminal.error("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n")
    gone = asyncio.ensure_future(terminal.closed())
    for seconds in range(1, _RETRIES + 1):
        await asyncio.wait([gone], timeout=seconds)
        if gone.done():
            raise RefusedError
        if not cluster.known_jobs.too_many(submitted.spec):
            break
    gone.cancel()
    await asyncio.wait([gone])


class _Ending:
    """Waits for the end of a job, or of all tasks of an array."""

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        self._worst = 0
        #: Whether the end of the job, or of a task, was not seen.
        self.is_unknown = False
        #: The exit status: the job's, or the largest of the tasks; 1 stands for a signal and for an end that was not
        #: seen, and 0 for one that never ran.
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def __call__(self, record: JobRecord) -> None:
        """Notice the end of a job."""
        if self.job_id not in {record.job_id, record.array_job_id}:
            return
        self.add(record.exit_code, record.signal, is_unknown=record.reason is Reason.SYSTEM_FAILURE)
        if record.array_job_id is None or record.array_is_over:
            self.is_over()

    def add(self, exit_code: int, signal: int, *, is_unknown: bool) -> None:
        """Take the end of the job, or of a task, into account: as in Slurm, whatever its state is."""
        self.is_unknown |= is_unknown
        self._worst = max(self._worst, 1 if signal or is_unknown else exit_code)

    def is_over(self) -> None:
        """Give the status: nothing of the job is left."""
        if not self.status.done():
            self.status.set_result(self._worst)
