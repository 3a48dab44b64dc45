"""The result of one backfill cycle: which jobs start, and when and where the others are planned.

This changes the engine: the cycle is made, and jobs have started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold
from rota.model import JobState

if TYPE_CHECKING:
    from rota.core import Engine
    from rota.core.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A job of the queue after the cycle."""

    job_id: int
    #: Job id of the job array, and its task: ``2``, or ``[3-5%2]`` for pending tasks together. ``None`` and empty: the
    #: job is of no array.
    array_job_id: int | None
    array_task: str
    name: str
    #: RUNNING: the job was started by the cycle; else PENDING.
    state: str
    #: Hostlist of its nodes or, for a pending job, of those planned; empty: none.
    nodes: str
    #: Seconds from now; ``None``: no start is planned.
    start: int | None


def plan_queue(engine: Engine, backfill: Any) -> list[Planned]:
    """Make a cycle of ``sched/backfill``, a started plugin; give the jobs that were in the queue, in order."""
    waiting = [engine.jobs[job_id] for job_id in engine.view.waiting()]
    before = set(engine.jobs)
    backfill.cycle()
    return [_planned(engine, one) for job in waiting for one in _with_tasks(job, before)]


def _with_tasks(job: Job, before: set[int]) -> list[Job]:
    """Give a job; before an array those of its tasks that have started since."""
    array = job.array
    if array is None or array.record is not job:
        return [job]
    return [*(task for _, task in sorted(array.tasks.items()) if task.job_id not in before), job]


def _planned(engine: Engine, job: Job) -> Planned:
    started = job.state is JobState.RUNNING
    start = job.start_time if started else job.planned_start
    nodes = job.alloc_nodes if started else job.planned_nodes
    return Planned(
        job_id=job.job_id,
        array_job_id=None if job.array is None else job.array.job_id,
        array_task=job.array_task,
        name=job.spec.name,
        state=job.state.value,
        nodes=fold(engine.view.names(nodes)),
        start=None if start is None else start - engine.view.now,
    )
