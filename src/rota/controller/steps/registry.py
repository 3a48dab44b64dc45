"""The steps of running jobs: they are made when there is room in their job, and recorded when they begin and end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rota.controller.steps.layout import StepBusyError, StepError, lay_out
from rota.core import events as ev
from rota.model import JobState
from rota.model.step import StepRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.commands.srun import StepRequest
    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.steps.layout import Layout
    from rota.core.job import Job
    from rota.model import JobRecord

#: The highest exit status; and what no usage reaches: seconds or bytes.
_HIGHEST, _MOST = 255, 1 << 60
_MEASURED = ("user_seconds", "system_seconds", "max_rss", "read_bytes", "written_bytes")


class Steps:
    """The steps of running jobs.

    Args:
        driver: The driver, which records them.
        clock: The cluster's clock.
    """

    def __init__(self, driver: LiveDriver, clock: ClusterClock) -> None:
        self._driver = driver
        self._clock = clock
        #: Those who wait until a step of a job has ended, or the job.
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        driver.on_finished.append(self._job_ended)

    def _job_ended(self, record: JobRecord) -> None:
        self._wake(record.job_id)

    def _wake(self, job_id: int) -> None:
        for one in self._waiting.pop(job_id, []):
            if not one.done():
                one.set_result(None)

    async def create(
        self, job: Job, request: StepRequest, busy: Callable[[str], None], clients_gone: asyncio.Future[None]
    ) -> tuple[str, Layout] | None:
        """Make a step as soon as there is room for it.

        Args:
            job: The job.
            request: What the step asks for.
            busy: Is called once if it has to wait, with the reason.
            clients_gone: Is done when nobody wants the step any more.

        Returns:
            The step id and the layout; ``None``: the job has ended, or the client has gone.

        Raises:
            StepError: there will never be room; or it would have to wait, and must not.
        """
        restart_count, told = job.restart_count, False
        most = self._driver.engine.view.settings.max_step_count
        while self._runs(job, restart_count):
            try:
                layout = lay_out(request, self._driver.engine.view.allocation(job.job_id), _held(job))
            except StepBusyError as error:
                if request.immediate:
                    raise
                if not told:
                    told = True
                    busy(str(error))
                changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.setdefault(job.job_id, []).append(changed)
                await asyncio.wait([changed, clients_gone], return_when=asyncio.FIRST_COMPLETED)
                if clients_gone.done():
                    return None
                continue
            number = 1 + max((int(one.step_id) for one in job.steps if one.step_id.isdigit()), default=-1)
            if number >= most:
                raise StepError("Step limit reached for this job")
            step_id = str(number)
            step = StepRecord(
                step_id=step_id,
                name=request.name,
                nodes=layout.nodes,
                tasks=len(layout.node_of_task),
                cpus=sum(layout.cpus),
                held=layout.held,
                start_time=self._clock.now(),
            )
            await self._record(job.job_id, restart_count, step)
            return step_id, layout
        return None

    def find(self, job_id: int, step_id: str) -> tuple[Job, StepRecord] | None:
        """Find a step that runs; ``None``: there is none."""
        job = self._driver.engine.jobs.get(job_id)
        steps = () if job is None else job.steps
        step = next((one for one in steps if one.step_id == step_id and one.end_time is None), None)
        return None if job is None or step is None else (job, step)

    async def ended(self, job: Job, step: StepRecord, result: dict[str, Any]) -> None:
        """Record the end of a step, as its client tells it.

        Raises:
            ValueError: it tells what cannot be.
        """
        try:
            status, cancelled, usage = int(result["status"]), bool(result["cancelled"]), _usage(result["usage"])
        except (LookupError, TypeError, OverflowError) as error:
            raise ValueError(f"no end of a step: {error!r}") from None
        if not 0 <= status <= _HIGHEST:
            raise ValueError(f"no exit status: {status}")
        number = status - 128 if status > 128 else 0
        state = JobState.FAILED if status else JobState.COMPLETED
        if cancelled or number:
            state = JobState.CANCELLED
        end = replace(
            step,
            state=state,
            end_time=max(self._clock.now(), step.start_time),
            exit_code=0 if number else min(status, 255),
            signal=number,
            usage=usage,
        )
        await self._record(job.job_id, job.restart_count, end)
        self._wake(job.job_id)

    async def _record(self, job_id: int, restart_count: int, step: StepRecord) -> None:
        """Hand a record to the engine, and wait until it is on disk."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        event = ev.StepChanged(job_id=job_id, restart_count=restart_count, step=step)
        self._driver.report(event, then=lambda: None if written.done() else written.set_result(None))
        if not self._driver.trouble:
            await written

    def _runs(self, job: Job, restart_count: int) -> bool:
        known = self._driver.engine.jobs.get(job.job_id)
        return known is job and job.state is JobState.RUNNING and job.restart_count == restart_count


def _usage(told: dict[str, Any]) -> Usage:
    if not all(0 <= told[name] < _MOST for name in _MEASURED):
        raise ValueError(f"no usage: {told}")
    return Usage(
        user_seconds=float(told["user_seconds"]),
        system_seconds=float(told["system_seconds"]),
        max_rss=int(told["max_rss"]),
        read_bytes=int(told["read_bytes"]),
        written_bytes=int(told["written_bytes"]),
    )


def _held(job: Job) -> dict[str, int]:
    """Count the processors by node that steps hold."""
    found: dict[str, int] = {}
    for step in job.steps:
        if step.end_time is None:
            for node, count in zip(step.nodes, step.held, strict=False):
                found[node] = found.get(node, 0) + count
    return found
