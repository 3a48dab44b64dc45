"""What the commands of users work with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.live_runs import LiveRuns
    from rota.controller.steps.clients import StepClients
    from rota.controller.steps.registry import Steps
    from rota.executor.protocol import Executor
    from rota.model import ClusterConfig
    from rota.store import Database


@dataclass(slots=True)
class Cluster:
    """A live cluster."""

    database: Database
    driver: LiveDriver
    runs: LiveRuns
    executor: Executor
    steps: Steps
    step_clients: StepClients
    clock: ClusterClock
    #: Directory of its state.
    state: Path
    #: Path of slurm.conf; empty: there is none.
    conf: str
    #: The open file whose lock says that this is the only controller.
    lock: int
    #: rota's version.
    version: str
    #: Reads slurm.conf again.
    read_config: Callable[[], ClusterConfig]
    #: Ends the controller.
    stop: Callable[[], None]
    log: Callable[[str], None]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.driver.engine.view.config.cluster_name

    def authority(self, uid: int) -> int:
        """Give the user id as which a request counts: root and the user who runs the controller are administrators."""
        return 0 if uid in {0, os.geteuid()} else uid
