"""Allocations without a batch script: they are asked for, waited for, and handed to the client that uses them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.option_error import OptionError, Problem
from rota.commands.slurm_messages import message_of
from rota.commands.submission import slurm_message
from rota.core import events as ev
from rota.core.plain import shape_of
from rota.model import Errno, JobState
from rota.model.submission import Submission
from rota.store.database import compress
from rota.store.writes import add_submission

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.commands.allocation import Allocation
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.effects import Refused
    from rota.core.job import Job
    from rota.model import JobRecord

#: Exit status for options that cannot be used.
_USAGE = 255


class RefusedError(Exception):
    """No resources are given; its arguments are lines that say why."""


async def telling_problems(name: str, terminal: Terminal, command: Callable[[], Awaitable[int | None]]) -> int | None:
    """Run a command, and tell the user what is wrong with its options; give the exit status."""
    try:
        return await command()
    except OptionError as error:
        terminal.error(f"{name}: {slurm_message(error)}\n")
        if error.kind is not Problem.VALUE:
            terminal.error(f'Try "{name} --help" for more information\n')
        elif str(error):
            terminal.error(f"{name}: error: {error.option}: {error}\n")
        return _USAGE
    except RefusedError as error:
        terminal.error("".join(f"{name}: {text}\n" for text in error.args))
        return 1
    except OSError as error:
        terminal.error(f"{name}: error: {error}\n")
        return 1


class Messages(NamedTuple):
    """What a command says, with ``{job}`` for the id of the job."""

    #: When the job has to wait; and when it has waited.
    queued: str
    allocated: str
    #: When the request is refused, before the reason.
    refused: str


async def allocate(
    cluster: Cluster, call: Call, terminal: Terminal, wanted: Allocation, messages: Messages
) -> Job | None:
    """Submit a job without a script, and wait until it has its resources.

    Args:
        cluster: The cluster.
        call: The call of the command.
        terminal: Where messages go, unless it is to be quiet.
        wanted: What is asked for. With the option ``immediate`` it does not wait.
        messages: What is said meanwhile.

    Returns:
        The job, which runs; ``None``: it was cancelled, or nobody waits for it any more.

    Raises:
        RefusedError: it is refused, or cannot start at once although it should.
    """
    driver = cluster.driver
    job_id, quiet = driver.next_job_id, "quiet" in wanted.texts
    spec = wanted.spec._replace(payload=str(job_id))
    cluster.runs.keep(spec.payload, wanted.submission)
    waiter = _Waiter(job_id)
    driver.on_launched.append(waiter.launched)
    driver.on_finished.append(waiter.finished)
    gone = asyncio.create_task(terminal.closed())
    try:
        data = compress(shape_of(Submission).encode(wanted.submission))
        event = ev.Submit(job_id, spec, uid=cluster.authority(call.uid))
        refused = await driver.submit(event, [add_submission(spec.payload, data)])
        if refused is not None:
            raise RefusedError(*_refusal(refused, spec.partition, messages.refused))
        job = driver.engine.jobs.get(job_id)
        if job is not None and job.state is JobState.PENDING:
            if "immediate" in wanted.texts:
                await _cancel(cluster, job_id)
                raise RefusedError(f"error: {messages.refused}: Requested nodes are busy")
            if not quiet:
                terminal.error(messages.queued.format(job=job_id))
            await _either(waiter.done, gone)
            if waiter.done.done() and waiter.done.result() and not quiet:
                terminal.error(messages.allocated.format(job=job_id))
        elif job is not None:
            await _either(waiter.done, gone)
        if gone.done():
            await _cancel(cluster, job_id)
            return None
        return job if waiter.done.done() and waiter.done.result() else None
    finally:
        gone.cancel()
        await asyncio.wait([gone])
        driver.on_launched.remove(waiter.launched)
        driver.on_finished.remove(waiter.finished)


async def until_over(cluster: Cluster, job_id: int) -> None:
    """Wait until the end of a job is recorded."""
    waiter = _Waiter(job_id)
    cluster.driver.on_finished.append(waiter.finished)
    try:
        if job_id in cluster.driver.engine.jobs:
            await waiter.done
    finally:
        cluster.driver.on_finished.remove(waiter.finished)


def allocation_spec(cluster: Cluster, job: Job, command: str, **more: Any) -> dict[str, Any]:
    """Describe an allocation to `rota.client.allocation`."""
    return {
        "command": command,
        "job": job.job_id,
        "uid": job.user_id,
        "directory": str(cluster.state / "spool" / f"job{job.job_id:05}"),
        **more,
    }


async def _cancel(cluster: Cluster, job_id: int) -> None:
    await cluster.driver.request(ev.Cancel(job_id=job_id))


def _refusal(refused: Refused, partition: str, begin: str) -> list[str]:
    sentence, more = message_of(refused.errno, refused.message)
    if refused.errno is Errno.INVALID_PARTITION_NAME:
        more = f"invalid partition specified: {partition}"
    return [*([f"error: {more}"] if more else []), f"error: {begin}: {sentence}"]


async def _either(one: asyncio.Future[Any], other: asyncio.Future[Any]) -> None:
    await asyncio.wait([one, other], return_when=asyncio.FIRST_COMPLETED)


class _Waiter:
    """Waits until a job is launched, or has ended."""

    def __init__(self, job_id: int) -> None:
        self._job_id = job_id
        #: Whether it was launched.
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def launched(self, job_id: int) -> None:
        """Notice that a job was launched."""
        if job_id == self._job_id and not self.done.done():
            self.done.set_result(True)

    def finished(self, record: JobRecord) -> None:
        """Notice that a job has ended."""
        if record.job_id == self._job_id and not self.done.done():
            self.done.set_result(False)
