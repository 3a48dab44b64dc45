"""What the commands of users work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.controller.rights import Rights

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.known_jobs import KnownJobs
    from rota.controller.live_runs import LiveRuns
    from rota.controller.mail.carrier import Carrier
    from rota.controller.steps.clients import StepClients
    from rota.controller.steps.registry import Steps
    from rota.controller.tokens import Tokens
    from rota.controller.unclaimed import Unclaimed
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
    unclaimed: Unclaimed
    clock: ClusterClock
    tokens: Tokens
    known_jobs: KnownJobs
    mail: Carrier
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

    @property
    def rights(self) -> Rights:
        """Who may do what."""
        return Rights(self.driver.engine)
