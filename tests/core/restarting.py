"""A harness whose engine does not live long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.testing import Harness

if TYPE_CHECKING:
    from rota.core.effects import Effect, Kill
    from rota.core.events import Event


class Restarting(Harness):
    """Has a fresh engine, with freshly loaded plugins, go on from the saved state after every event and every pass."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._killed: set[tuple[int, int]] = set()
        self._restarts = False
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
        """Restart; limits may be others than at first, and whoever runs the cluster knows."""
        self._associations = self.engine.cluster.accounts.tree
        super().restart(*args)

    def kill(self, effect: Kill) -> None:
        """Let a run end, once."""
        run = effect.job_id, effect.restart_count
        if run not in self._killed:
            self._killed.add(run)
            super().kill(effect)
