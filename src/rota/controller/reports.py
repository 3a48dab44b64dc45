"""What becomes of runs: reports of the executor, handed to the driver as events."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rota.core import events as ev
from rota.core.effects import Launch
from rota.executor import protocol as ex
from rota.model import JobState, NodeState

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.live_runs import LiveRuns
    from rota.controller.shortages import Shortages
    from rota.controller.steps.clients import StepClients
    from rota.executor.protocol import Executor, Report

#: Seconds until a job is tried again for which there was no room, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 5, 300
_OUTCOMES = {
    ex.Outcome.ENDED: ev.Outcome.ENDED,
    ex.Outcome.OUT_OF_MEMORY: ev.Outcome.OUT_OF_MEMORY,
    ex.Outcome.UNKNOWN: ev.Outcome.UNKNOWN,
}


class Reports:
    """Receives reports of the executor, once it is connected.

    Args:
        clock: The cluster's clock.
        loop: The loop for warnings before time limits.
        shortages: Is told what the machine is short of.
        log: Writes a line for the administrator.
    """

    _driver: LiveDriver
    _runs: LiveRuns
    _executor: Executor
    _clients: StepClients

    def __init__(
        self,
        clock: ClusterClock,
        loop: asyncio.AbstractEventLoop,
        shortages: Shortages,
        log: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._shortages = shortages
        self._loop = loop
        self._log = log
        #: Runs that the executor has told about.
        self._known: set[tuple[int, int]] = set()
        #: Seconds after which a job is tried again for which there was no room; and when these became more.
        self._pause, self._longer_since = _FIRST_PAUSE, 0.0

    def connect(self, driver: LiveDriver, runs: LiveRuns, executor: Executor, clients: StepClients) -> None:
        """Say to whom reports are handed, and who makes them; before the executor is started."""
        self._driver = driver
        self._runs = runs
        self._executor = executor
        self._clients = clients

    def __call__(self, report: Report) -> None:
        """Handle a report."""
        if isinstance(report, ex.Short):
            self._shortages.note(report.missing, "starting jobs", report.times)
            return
        job_id, restart_count = report.job_id, report.restart_count
        self._known.add((job_id, restart_count))
        if isinstance(report, ex.Started):
            self._pause = _FIRST_PAUSE
            self._warn_later(job_id, restart_count)
        elif isinstance(report, ex.Ended):
            self._ended(report)
        elif isinstance(report, ex.LaunchFailed) and report.missing:
            self._no_room(report)
        elif isinstance(report, ex.LaunchFailed):
            self._log(f"error: job {job_id} cannot be launched: {report.message}")
            if report.prolog:
                self._drain(job_id, "Prolog error")
            event = ev.LaunchFailed(job_id=job_id, restart_count=restart_count)
            self._driver.report(event, then=lambda: self._forget(job_id, restart_count))

    def lost(self) -> None:
        """Report the runs as lost that ran before the machine was booted, as far as the executor knows no end."""
        for job in list(self._driver.engine.jobs.values()):
            if job.alloc and job.start_time is not None and (job.job_id, job.restart_count) not in self._known:
                lost = ev.JobEnded(job.job_id, job.restart_count, outcome=ev.Outcome.LOST)
                self._driver.report(lost)

    def _ended(self, report: ex.Ended) -> None:
        job_id, restart_count = report.job_id, report.restart_count
        outcome = _OUTCOMES[report.outcome]
        if outcome is ev.Outcome.UNKNOWN and self._clock.was_booted:
            outcome = ev.Outcome.LOST
        if report.epilog_failure:
            self._log(f"error: job {job_id}: {report.epilog_failure}")
            self._drain(job_id, "Epilog error")
        self._runs.measured(job_id, restart_count, report.usage)
        event = ev.JobEnded(
            job_id,
            restart_count,
            exit_code=report.exit_code,
            signal=report.signal,
            time=self._clock.at(report.time),
            outcome=outcome,
        )
        self._driver.report(event, then=lambda: self._forget(job_id, restart_count))

    def _no_room(self, report: ex.LaunchFailed) -> None:
        """Have a job wait that could not be launched as the machine was short of something.

        Whoever waits for an allocation has been told that it is there, so it is launched again where it is.
        """
        job_id, restart_count = report.job_id, report.restart_count
        job = self._driver.engine.jobs.get(job_id)
        pause = self._longer_pause()
        self._shortages.note(report.missing, "starting jobs")
        if job is not None and job.spec.allocation_only and job.state is JobState.RUNNING:
            self._forget(job_id, restart_count)
            self._loop.call_later(pause, self._runs.launch, Launch(job_id, restart_count, job.alloc))
            return
        event = ev.LaunchFailed(job_id=job_id, restart_count=restart_count, again_after=pause)
        self._driver.report(event, then=lambda: self._forget(job_id, restart_count))

    def _longer_pause(self) -> int:
        """Give the seconds to wait: they become twice as many each time that they have passed without a start."""
        now, pause = self._loop.time(), self._pause
        if now > self._longer_since + pause:
            self._longer_since = now
            self._pause = min(2 * pause, _LONGEST_PAUSE)
        return pause

    def _drain(self, job_id: int, reason: str) -> None:
        """Drain the nodes of a job whose prolog or epilog has failed, as others would fail there too."""
        for one in self._driver.engine.view.allocation(job_id):
            self._driver.report(ev.UpdateNode(name=one.node, state=NodeState.DRAIN, reason=reason))

    def _forget(self, job_id: int, restart_count: int) -> None:
        self._known.discard((job_id, restart_count))
        self._executor.forget(job_id, restart_count)

    # ---- warnings ---------------------------------------------------------------------------------------------

    def _warn_later(self, job_id: int, restart_count: int) -> None:
        """Set a timer for the signal that a job wants before its time limit."""
        warning = self._runs.warning(job_id, restart_count)
        job = self._driver.engine.jobs.get(job_id)
        if warning is None or job is None or job.end_time is None:
            return
        delay = self._clock.until(job.end_time - warning[1])
        self._loop.call_later(max(delay, 0.0), self._warn, job_id, restart_count, job.end_time)

    def _warn(self, job_id: int, restart_count: int, end_time: int) -> None:
        job = self._driver.engine.jobs.get(job_id)
        warning = self._runs.warning(job_id, restart_count)
        if warning is None or job is None or job.state is not JobState.RUNNING or job.restart_count != restart_count:
            return
        if job.end_time is not None and job.end_time > end_time:  # the time limit has been raised
            self._warn_later(job_id, restart_count)
            return
        number, _, batch_only = warning
        for one in (signal.SIGCONT, number):  # what is stopped hears of it, too
            if batch_only:
                self._executor.signal(job_id, restart_count, one, batch_only=True)
            else:
                self._clients.signal(job_id, one)
