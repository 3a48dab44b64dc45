"""Jobs and steps that this controller found when it began, and whose commands have not come back to it.

A command that has lost its controller comes back within a second; one that cannot, as it is gone for good, leaves a job
that nobody uses, or a step that holds processors. Whether it is gone its process tells, and not the time: one that is
stopped, on a machine that sleeps, comes back later. Of a process that cannot be seen from here, like one with a
numbering of its own, only the time can tell.

From when it has come back, its connection tells whether it is there.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from rota.controller.command_names import process_of
from rota.core import events as ev
from rota.model import JobState

if TYPE_CHECKING:
    from rota.controller.command_names import Process
    from rota.controller.driver import LiveDriver
    from rota.controller.steps.registry import Steps
    from rota.core.job import Job

#: Seconds for which a command is waited for whose process cannot be seen.
_PATIENCE = 60.0
#: Seconds within which an allocation ends itself, and the supervisor tells how, whose command has ended.
_ENDS_ITSELF = 5.0


class Unclaimed:
    """Ends what nobody comes back for.

    Args:
        driver: The driver. What its engine has now is unclaimed.
        steps: The steps.
    """

    def __init__(self, driver: LiveDriver, steps: Steps) -> None:
        self._driver = driver
        self._steps = steps
        #: Ends that are being recorded.
        self._tasks: set[asyncio.Task[None]] = set()
        self._since = monotonic()
        #: The processes of their commands, by job; and when those of running jobs were found to have ended.
        self._jobs: dict[int, Process] = {}
        self._gone: dict[int, float] = {}
        for job in driver.engine.jobs.values():
            process = process_of(job.spec.payload)
            if process is not None:
                self._jobs[job.job_id] = process

    def claim(self, job_id: int) -> None:
        """Hear that the command of a job is there."""
        self._jobs.pop(job_id, None)
        self._gone.pop(job_id, None)

    def look(self) -> None:
        """End what belongs to commands that are gone."""
        if self._driver.trouble:
            return
        for job_id, process in list(self._jobs.items()):
            job = self._driver.engine.jobs.get(job_id)
            if job is None or self._is_gone(job, process):
                self.claim(job_id)
                if job is not None:
                    self._driver.report(ev.Cancel(job_id=job_id))
        for key in self._steps.orphans():
            task = asyncio.get_running_loop().create_task(self._steps.lost(*key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_gone(self, job: Job, process: Process) -> bool:
        """Whether a command is gone, and its job cannot be expected to end by itself."""
        now = monotonic()
        if job.state is JobState.PENDING:
            return process.is_gone if process.is_known else now > self._since + _PATIENCE
        return process.is_gone and now > self._gone.setdefault(job.job_id, now) + _ENDS_ITSELF
