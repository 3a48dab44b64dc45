"""The steps of running jobs: they are made when there is room in their job, and recorded when they begin and end.

Which command has each is written down with it. One that asks again, as the answer was lost with the controller, gets
the step that was made for it; and a step whose command has ended while no controller could see it is ended.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rota.controller.command_names import Process
from rota.controller.steps.errors import StepBusyError, StepError
from rota.controller.steps.gres import GresOfJob
from rota.controller.steps.layout import lay_out
from rota.core import events as ev
from rota.core.effects import JobFinished, RunRequeued
from rota.model import JobState
from rota.model.step import StepRecord, Usage
from rota.model.tres import gres_text
from rota.store.writes import add_fact, drop_fact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.commands.srun import StepRequest
    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.run import Run
    from rota.controller.steps.clients import StepClients
    from rota.controller.steps.layout import Layout
    from rota.controller.wire import Call
    from rota.core.effects import Effect
    from rota.core.job import Job
    from rota.model import JobRecord
    from rota.store import Write

    #: Job id, restart count of the job, step id.
    _Key = tuple[int, int, str]

#: The highest exit status; and what no usage reaches: seconds or bytes.
_HIGHEST, _MOST = 255, 1 << 60
#: What begins the names of facts that say which command has a step.
_FACT = "step "
#: How a step ends whose command was killed: so are its tasks then.
KILLED: dict[str, Any] = {"status": 137, "cancelled": True, "usage": {}}
#: States of jobs that have steps.
_RUNNING = frozenset((JobState.RUNNING, JobState.SUSPENDED))
#: Seconds after which it is tried again to write an end down.
_RETRY = 1.0
_MEASURED = ("user_seconds", "system_seconds", "max_rss", "read_bytes", "written_bytes")


class Steps:
    """The steps of running jobs.

    Args:
        driver: The driver, which records them.
        clock: The cluster's clock.
        clients: Those who run them.
        facts: What is written down: among it, which commands have steps.
        gpu_kinds: Gives the kind of each GPU of a node by its id.
    """

    def __init__(
        self,
        driver: LiveDriver,
        clock: ClusterClock,
        clients: StepClients,
        facts: Mapping[str, str],
        gpu_kinds: Callable[[str], Mapping[int, str]],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._clients = clients
        self._gpu_kinds = gpu_kinds
        #: The commands of the steps of running jobs, if they can ask again; and of these the steps that run, and for
        #: which nobody has come yet.
        self._commands: dict[_Key, str] = {}
        self._unclaimed: set[_Key] = set()
        for name, command in facts.items():
            if name.startswith(_FACT):
                job_id, restart_count, step_id = name.removeprefix(_FACT).split(".")
                self._commands[int(job_id), int(restart_count), step_id] = command
        if over := [key for key in self._commands if not self._running(*key[:2])]:
            driver.write([write for key in over for write in self._forget(key)])
        self._unclaimed.update(key for key in self._commands if self.find(*key))
        for job in driver.engine.jobs.values():
            for step in job.steps:
                if step.end_time is None:
                    clients.expect(job.job_id, step.step_id)
        #: Those who wait until a step of a job has ended, or the job.
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        driver.on_finished.append(self._job_ended)
        driver.on_handled.append(self._handled)

    def _job_ended(self, record: JobRecord) -> None:
        self._wake(record.job_id)

    def _handled(self, _: ev.Event, effects: list[Effect], __: int) -> list[Write]:
        """Give what to write when runs have ended: so are their steps."""
        return [
            write
            for effect in effects
            if isinstance(effect, JobFinished | RunRequeued)
            for step in effect.record.steps
            for write in self._forget((effect.record.job_id, effect.record.restart_count, step.step_id))
        ]

    def _wake(self, job_id: int) -> None:
        for one in self._waiting.pop(job_id, []):
            if not one.done():
                one.set_result(None)

    async def create(
        self,
        run: Run,
        request: StepRequest,
        busy: Callable[[str], None],
        clients_gone: asyncio.Future[None],
        call: Call,
    ) -> tuple[StepRecord, Layout] | None:
        """Make a step as soon as there is room for it.

        Args:
            run: The run of the job.
            request: What the step asks for.
            busy: Is called once if it has to wait, with the reason.
            clients_gone: Is done when nobody wants the step any more.
            call: The command. If it was given before, a step that was made for it is made anew under its number.

        Returns:
            The step and its layout; ``None``: the job has ended, or the client has gone.

        Raises:
            StepError: there will never be room; or it would have to wait, and must not.
        """
        job_id, restart_count, told = run.job.job_id, run.job.restart_count, False
        most = self._driver.engine.view.settings.max_step_count
        command, loop = _command(call), asyncio.get_running_loop()
        until = loop.time() + request.immediate if request.immediate else None
        while found := self._running(job_id, restart_count):
            known = self._step_of(found, command) if call.is_again else None
            try:
                layout = self._lay_out(found, request, run, known)
            except StepBusyError as error:
                if until is not None and loop.time() >= until:
                    raise
                if not told and until is None:
                    told = True
                    busy(str(error))
                changed: asyncio.Future[None] = loop.create_future()
                self._waiting.setdefault(job_id, []).append(changed)
                timeout = None if until is None else until - loop.time()
                await asyncio.wait([changed, clients_gone], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if clients_gone.done():
                    return None
                continue
            number = 1 + max((int(one.step_id) for one in found.steps if one.step_id.isdigit()), default=-1)
            if known is None and number >= most:
                raise StepError("Step limit reached for this job")
            step_id = str(number) if known is None else known.step_id
            step = StepRecord(
                step_id=step_id,
                name=request.name,
                nodes=layout.nodes,
                tasks=len(layout.node_of_task),
                cpus=sum(layout.cpus),
                held=layout.held,
                gres=tuple(gres_text(one.counts) for one in layout.gres),
                gpus=tuple(one.gpus for one in layout.gres),
                time_limit=request.time_limit or None,
                start_time=self._clock.now(),
            )
            key = job_id, restart_count, step_id
            self._unclaimed.discard(key)
            is_new = bool(command) and known is None
            if is_new:
                self._commands[key] = command
            writes = [add_fact(_fact(key), command)] if is_new else []
            if why := await self._record(job_id, restart_count, step, writes):
                if is_new:
                    self._commands.pop(key, None)
                raise StepError(why)
            return step, layout
        return None

    def _lay_out(self, job: Job, request: StepRequest, run: Run, spared: StepRecord | None) -> Layout:
        """Lay out a step beside those that run, but for one that is spared."""
        others = [step for step in job.steps if step.end_time is None and step is not spared]
        allocation = self._driver.engine.view.allocation(job.job_id)
        return lay_out(request, allocation, GresOfJob.of(run, self._gpu_kinds), others)

    def _step_of(self, job: Job, command: str) -> StepRecord | None:
        """Give the step of a job that was made for a command, and runs; ``None``: there is none."""
        run = job.job_id, job.restart_count
        running = (one for one in job.steps if one.end_time is None)
        return next((one for one in running if self._commands.get((*run, one.step_id)) == command), None)

    def find(self, job_id: int, restart_count: int, step_id: str) -> tuple[Job, StepRecord] | None:
        """Find a step that runs; ``None``: there is none."""
        job = self._driver.engine.jobs.get(job_id)
        if job is None or job.restart_count != restart_count:
            return None
        step = next((one for one in job.steps if one.step_id == step_id and one.end_time is None), None)
        return None if step is None else (job, step)

    def claim(self, job: Job, step_id: str, call: Call) -> bool:
        """Hear that the command of a step is there; say whether it is that one."""
        key, command = (job.job_id, job.restart_count, step_id), _command(call)
        if command and self._commands.get(key, command) != command:
            return False
        self._unclaimed.discard(key)
        return True

    def orphans(self) -> list[tuple[int, int, str]]:
        """Give the steps that run, and whose commands ended when no controller saw it."""
        return [key for key in self._unclaimed if _process(self._commands[key]).is_gone]

    async def lost(self, job_id: int, restart_count: int, step_id: str) -> None:
        """Record that the command of a step was killed, unless the step has ended."""
        key = job_id, restart_count, step_id
        self._unclaimed.discard(key)
        await self.ended(*key, KILLED)

    async def ended(self, job_id: int, restart_count: int, step_id: str, result: dict[str, Any]) -> None:
        """Record the end of a step, as its client tells it, unless it has ended, or its job.

        Raises:
            ValueError: it tells what cannot be.
        """
        try:
            status, cancelled, usage = int(result["status"]), bool(result["cancelled"]), _usage(result["usage"])
            is_late = bool(result.get("late"))
        except (LookupError, TypeError, OverflowError) as error:
            raise ValueError(f"no end of a step: {error!r}") from None
        if not 0 <= status <= _HIGHEST:
            raise ValueError(f"no exit status: {status}")
        number = status - 128 if status > 128 else 0
        state = JobState.FAILED if status else JobState.COMPLETED
        if cancelled or number:
            state = JobState.TIMEOUT if is_late else JobState.CANCELLED
        key = job_id, restart_count, step_id
        while found := self.find(*key):
            step = found[1]
            end = replace(
                step,
                state=state,
                end_time=max(self._clock.now(), step.start_time),
                exit_code=0 if number else min(status, 255),
                signal=number,
                usage=usage,
            )
            if not await self._record(job_id, restart_count, end):
                self._clients.forget(job_id, step_id)
                self._unclaimed.discard(key)
                break
            await asyncio.sleep(_RETRY)  # until the disk can be written again
        self._wake(job_id)

    async def _record(
        self, job_id: int, restart_count: int, step: StepRecord, writes: list[Write] | None = None
    ) -> str:
        """Hand a record to the engine, and wait until it is on disk; say why it is not, nothing: it is."""
        changed = ev.StepChanged(job_id=job_id, restart_count=restart_count, step=step)
        refused = await self._driver.request(changed, writes=writes)
        return "" if refused is None else refused.message

    def _forget(self, key: _Key) -> list[Write]:
        """Forget which command had a step whose job has ended, and give what to write."""
        self._clients.forget(key[0], key[2])
        self._unclaimed.discard(key)
        return [] if self._commands.pop(key, None) is None else [drop_fact(_fact(key))]

    def _running(self, job_id: int, restart_count: int) -> Job | None:
        """Find the job of a run; ``None``: that is over. Another engine may have another record of it."""
        job = self._driver.engine.jobs.get(job_id)
        return job if job is not None and job.state in _RUNNING and job.restart_count == restart_count else None


def _usage(told: dict[str, Any]) -> Usage:
    told = told or dict.fromkeys(_MEASURED, 0)  # nobody has measured it
    if not all(0 <= told[name] < _MOST for name in _MEASURED):
        raise ValueError(f"no usage: {told}")
    return Usage(
        user_seconds=float(told["user_seconds"]),
        system_seconds=float(told["system_seconds"]),
        max_rss=int(told["max_rss"]),
        read_bytes=int(told["read_bytes"]),
        written_bytes=int(told["written_bytes"]),
    )


def _command(call: Call) -> str:
    """Name a command that can ask again; empty: it cannot."""
    if not call.key:
        return ""
    process = Process.of(call)
    return f"{process.pid}.{process.ticks}.{call.key}"


def _process(command: str) -> Process:
    pid, ticks, _ = command.split(".")
    return Process(int(pid), int(ticks))


def _fact(key: _Key) -> str:
    return _FACT + ".".join(map(str, key))
