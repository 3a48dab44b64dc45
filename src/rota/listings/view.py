"""What the listings are made of: one moment of a cluster, as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Association, PriorityFactors, PriorityWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    """One job as ``squeue`` shows it; times are Unix seconds, ``None`` where there is none."""

    job_id: int
    #: Several are joined by commas.
    partition: str
    name: str
    user: str
    user_id: int
    account: str
    qos: str
    #: Slurm's long form, such as PENDING.
    state: str
    #: Its compact form, such as PD.
    state_compact: str
    reason: str
    priority: int
    nice: int
    num_nodes: int
    num_cpus: int
    #: Seconds; ``None``: no limit.
    time_limit: int | None
    submit_time: int
    eligible_time: int | None
    #: Of a pending job the planned one.
    start_time: int | None
    end_time: int | None
    #: Hostlist expressions; empty: none.
    nodes: str = ""
    planned_nodes: str = ""
    #: Of a job array: its job id, and the task's own id or, of those that wait together, all of theirs in brackets.
    array_job_id: int | None = None
    array_task: str = ""

    @property
    def shown_id(self) -> str:
        """The job id as people see it: ``17``, ``17_2``, ``17_[3-5%2]``."""
        return str(self.job_id) if self.array_job_id is None else f"{self.array_job_id}_{self.array_task}"

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.state == "PENDING"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One moment of a cluster."""

    #: Unix seconds.
    now: int
    #: Local time minus UTC in seconds, at a Unix time.
    utc_offset: Callable[[int], int]
    #: In any order.
    jobs: tuple[JobLine, ...] = ()
    #: In any order.
    factors: tuple[PriorityFactors, ...] = ()
    weights: PriorityWeights
    #: As people see the tree, each with its depth.
    associations: tuple[tuple[Association, int], ...] = ()
    #: Names of the TRES that associations count.
    tres: tuple[str, ...] = ()
    #: Fair-share is Fair Tree's.
    fair_tree: bool = True
