"""Allocations without a batch script: they are asked for, waited for, and handed to the client that uses them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.allocation import AT_ONCE, immediate_seconds
from rota.commands.slurm_messages import message_of
from rota.controller.command_names import name_of
from rota.controller.given_again import known_job
from rota.controller.submitting import RefusedError, submit, warnings
from rota.core import events as ev
from rota.listings.common import unknown_cluster
from rota.model import Errno, JobState, Reason

if TYPE_CHECKING:
    from rota.commands.allocation import Allocation
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.job import Job
    from rota.model import JobRecord

#: States of jobs that have their resources.
_HAVE_RESOURCES = frozenset((JobState.RUNNING, JobState.SUSPENDED))
_NOT_IN_PARTITION = message_of(Errno.REQUESTED_PART_CONFIG_UNAVAILABLE, "")[0]
#: What is said of a job that has to wait, besides that: of other reasons Slurm says nothing, and ``sbatch`` of none.
_HINTS = {
    Reason.JOB_HELD_USER: message_of(Errno.JOB_HELD, "")[0],
    Reason.PARTITION_CONFIG: _NOT_IN_PARTITION,
    Reason.PARTITION_DOWN: "Partition in DOWN state",
    Reason.PARTITION_NODE_LIMIT: _NOT_IN_PARTITION,
    Reason.PARTITION_TIME_LIMIT: _NOT_IN_PARTITION,
    Reason.REQ_NODE_NOT_AVAIL: "Required node not available (down, drained or reserved)",
    Reason.RESERVATION: "Requested reservation not usable now",
}
#: Seconds within which an allocation ends itself whose command has gone.
_ENDS_ITSELF = 5.0


class Messages(NamedTuple):
    """What a command says, with ``{job}`` for the id of the job."""

    #: When the job has to wait; and when it has waited.
    queued: str
    allocated: str
    #: When the job is cancelled while it waits.
    cancelled: str
    #: When the request is refused, before the reason.
    refused: str
    #: When it cannot start at once, and when it has not started in the time in which it has to.
    busy: tuple[str, ...]
    late: tuple[str, ...]


async def allocate(
    cluster: Cluster, call: Call, terminal: Terminal, wanted: Allocation, messages: Messages
) -> Job | None:
    """Submit a job without a script, and wait until it has its resources.

    Args:
        cluster: The cluster.
        call: The call of the command.
        terminal: Where messages go, unless it is to be quiet.
        wanted: What is asked for. With the option ``immediate`` it does not wait, or for so many seconds.
        messages: What is said meanwhile.

    Returns:
        The job, which runs; ``None``: it was cancelled, or nobody waits for it any more.

    Raises:
        RefusedError: it is refused, or cannot start at once although it should, or is cancelled while it waits.
    """
    driver = cluster.driver
    if lines := unknown_cluster(wanted.texts.get("clusters", ""), driver.engine.view.config):
        raise RefusedError(*lines)
    quiet = "quiet" in wanted.texts
    name = name_of(call, driver.next_job_id, ends_with_command="no-shell" not in wanted.texts)
    known = await known_job(cluster, call, name)
    job_id = driver.next_job_id if known is None else known
    waiter = _Waiter(job_id)
    driver.on_launched.append(waiter.launched)
    driver.on_finished.append(waiter.finished)
    gone = asyncio.create_task(terminal.closed())
    try:
        terminal.error(warnings(cluster, call.words[0], wanted.submission, wanted.texts))
        if known is None:
            spec = wanted.spec._replace(payload=name)
            await submit(cluster, call, job_id, spec, wanted.submission, failed=messages.refused)
        cluster.unclaimed.claim(job_id)
        terminal.has_job(call, job_id)
        job = driver.engine.jobs.get(job_id)
        if known is not None and job is not None and job.state in _HAVE_RESOURCES:
            # One that knows its job was told that it had to wait. What was said before, the client does not say again.
            if not quiet and (call.job_id is not None or job.start_time != job.submit_time):
                terminal.error(messages.queued.format(job=job_id))
                terminal.error(messages.allocated.format(job=job_id))
            return job
        if job is not None and job.state is JobState.PENDING:
            patience = immediate_seconds(wanted.texts)
            if patience == AT_ONCE:
                await _cancel(cluster, job_id)
                raise RefusedError(*(line.format(job=job_id) for line in messages.busy))
            if not quiet:
                hint = _HINTS.get(Reason.JOB_HELD_USER if wanted.spec.hold else job.reason)
                terminal.error(f"{call.words[0]}: {hint}\n" if hint else "")
                terminal.error(messages.queued.format(job=job_id))
            left = job.submit_time + patience - cluster.clock.now() if patience else None
            await _either(waiter.done, gone, left)
            if not (waiter.done.done() or gone.done()):
                await _cancel(cluster, job_id)
                raise RefusedError(*(line.format(job=job_id) for line in messages.late))
            if waiter.done.done():
                said = messages.allocated if waiter.done.result() else messages.cancelled
                terminal.error("" if quiet else said.format(job=job_id))
                if not waiter.done.result():
                    raise RefusedError(f"error: {messages.refused}: {message_of(Errno.ALREADY_DONE, '')[0]}")
        elif job is not None:
            await _either(waiter.done, gone)
        if gone.done():
            await _cancel(cluster, job_id)
            return None
        # Another engine has another record of it, if the disk could not be written for a while.
        return driver.engine.jobs.get(job_id) if waiter.done.done() and waiter.done.result() else None
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


async def until_over_or_gone(cluster: Cluster, terminal: Terminal, job_id: int) -> bool:
    """Wait until the end of a job is recorded, or its client has gone; say whether it is over."""
    gone, over = asyncio.ensure_future(terminal.closed()), asyncio.ensure_future(until_over(cluster, job_id))
    try:
        await _either(gone, over)
        return over.done()
    finally:
        for one in (gone, over):
            one.cancel()
        await asyncio.wait([gone, over])


async def held(cluster: Cluster, terminal: Terminal, job_id: int) -> None:
    """Wait until a job is over that ends with its command: it is cancelled when that has gone."""
    timed_out: list[int] = []

    def finished(record: JobRecord) -> None:
        if record.job_id == job_id and record.state is JobState.TIMEOUT:
            timed_out.append(job_id)

    cluster.driver.on_finished.append(finished)
    try:
        is_over = await until_over_or_gone(cluster, terminal, job_id)
    finally:
        cluster.driver.on_finished.remove(finished)
    if is_over:
        if timed_out:  # `rota.client.allocation` says it, or not
            terminal.error(f"Job {job_id} has exceeded its time limit and its allocation has been revoked.")
        return
    # Its first process notices it too, and tells how the command ended if it did; there may be none yet.
    with suppress(TimeoutError):
        await asyncio.wait_for(until_over(cluster, job_id), _ENDS_ITSELF)
    await _cancel(cluster, job_id)


def allocation_spec(cluster: Cluster, call: Call, job: Job, **more: Any) -> dict[str, Any]:
    """Describe an allocation to `rota.client.allocation`."""
    return {
        "command": call.words[0],
        "key": call.key,
        "job": job.job_id,
        "directory": str(cluster.runs.directory(job.job_id)),
        "python": sys.executable,
        **more,
    }


async def _cancel(cluster: Cluster, job_id: int) -> None:
    if job_id in cluster.driver.engine.jobs:
        await cluster.driver.request(ev.Cancel(job_id=job_id))


async def _either(one: asyncio.Future[Any], other: asyncio.Future[Any], seconds: float | None = None) -> None:
    """Wait for one of two, so many seconds at most; ``None``: without a limit."""
    timeout = None if seconds is None else max(seconds, 0)
    await asyncio.wait([one, other], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


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
