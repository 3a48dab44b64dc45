"""A harness that restarts its engine after every event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.effects import Kill, Launch, Log, ResumeRun, SuspendRun
from rota.core.jobs.runs import SIGTERM
from rota.model import JobState
from rota.testing import Harness

if TYPE_CHECKING:
    from rota.core.effects import Effect
    from rota.core.events import Event


class Restarting(Harness):
    """Restores the saved state in a new engine, with newly loaded plugins, after every event and every pass."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._restarts = self._goes_on = False
        super().__init__(*args, **options)

    def send(self, event: Event) -> list[Effect]:
        """Send an event, and restart before anything else happens."""
        effects = self.engine.handle(event, self.now)
        self._check()
        self._take(effects)
        self.restart()
        return effects

    def run_pass(self) -> None:
        """Make a pass, and restart."""
        super().run_pass()
        if not self._restarts:  # a pass may follow a restart
            self._restarts = True
            try:
                self.restart()
            finally:
                self._restarts = False

    def restart(self, *args: Any) -> None:
        """Restart, with the limits as they have been changed."""
        self._associations = self.engine.cluster.accounts.tree
        self._goes_on = True
        super().restart(*args)

    def _take(self, effects: list[Effect]) -> None:
        """Perform effects, except those of a restart, which repeat launches, suspensions or their ends, and kills."""
        if not self._goes_on:
            super()._take(effects)
            return
        self._goes_on = False
        wanted: list[Effect] = []
        for job in self.ctld.running:
            run = {"job_id": job.job_id, "restart_count": job.restart_count}
            wanted.append(Launch(**run, resources=job.alloc))
            wanted.append(SuspendRun(**run) if job.state is JobState.SUSPENDED else ResumeRun(**run))
        state = self.engine.state
        for job in state.completing.values():
            run = {"job_id": job.job_id, "restart_count": job.restart_count}
            wanted.append(Kill(**run, signal=SIGTERM, wait=state.settings.kill_wait))
        assert [one for one in effects if not isinstance(one, Log)] == wanted
