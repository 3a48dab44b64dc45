"""What one cycle of backfill makes of a queue: which jobs start, and when and where it plans the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold
from rota.model import JobState
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from rota.core import Engine
    from rota.model import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One job of the queue after the cycle."""

    job_id: int
    name: str
    #: RUNNING: it has started; PENDING.
    state: str
    #: Hostlist of its nodes, those planned if it waits; empty: none.
    nodes: str
    #: Seconds from now; ``None``: no start is planned.
    start: int | None


def plan_queue(engine: Engine, backfill: Any) -> list[Planned]:
    """Make a cycle of ``sched/backfill``, loaded and started; give the jobs that waited before, first in line first."""
    state = engine.state
    state.settle()
    waiting = [*state.waiting(), *state.parked.values()]
    backfill.cycle()
    return [_planned(engine, job) for job in waiting]


def _planned(engine: Engine, job: Job) -> Planned:
    started = job.state is JobState.RUNNING
    start = job.start_time if started else job.planned_start
    nodes = job.alloc_nodes if started else job.planned_nodes
    return Planned(
        job_id=job.job_id,
        name=job.spec.name,
        state=job.state.value,
        nodes=fold(engine.state.nodes[place].name for place in indices(nodes)),
        start=None if start is None else start - engine.state.now,
    )
