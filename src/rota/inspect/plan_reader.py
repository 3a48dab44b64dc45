"""The plan of a scheduler as it stands: which waiting jobs are to start, when and where, and what is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import NodeNames
from rota.model import NodeState
from rota.resources import SharedNodePool
from rota.results.plan_history import MAX_PLANNED, Closed, Plan, PlannedJob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core import Engine
    from rota.core.job import Job


class PlanReader:
    """Reads the plan off an engine.

    Args:
        engine: To look at.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        state = engine.state
        self._cpus = [node.cpus for node in state.nodes]
        self._names = NodeNames(node.name for node in state.nodes)

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        """Name and processors of each node; none where processors are interchangeable."""
        state = self._engine.state
        return () if state.pool.interchangeable else tuple((node.name, node.cpus) for node in state.nodes)

    def plan(self) -> Plan:
        """Give the plan as it stands now."""
        state = self._engine.state
        queue = self._engine.cluster.queue
        queue.flush()
        waiting = queue.waiting()
        first = ((place, job) for place, job in enumerate(waiting, 1) if job.planned_start is not None)
        return Plan(
            time=state.now,
            waiting=len(waiting),
            planned=tuple(
                self._planned(place, job) for (place, job), _ in zip(first, range(MAX_PLANNED), strict=False)
            ),
            closed=tuple(self._closed()),
        )

    def _planned(self, place: int, job: Job) -> PlannedJob:
        nodes = 0 if self._engine.state.pool.interchangeable else job.planned_nodes
        return PlannedJob(
            job_id=job.job_id,
            place=place,
            start=max(job.planned_start or 0, self._engine.state.now),
            cpus=self._processors(job, nodes),
            nodes=self._names.fold(nodes),
            reason=str(self._engine.reason(job)),
        )

    def _processors(self, job: Job, nodes: int) -> int:
        """Count the processors that a job gets on planned nodes: all, where it gets whole ones."""
        pool = self._engine.state.pool
        # Of a job with several partitions the record that is planned first is meant.
        record = next((one for one in job.records if one.planned_start == job.planned_start), job)
        by_piece = isinstance(pool, SharedNodePool) and not pool.is_whole(record)
        if nodes and not by_piece:
            return sum(cpus for place, cpus in enumerate(self._cpus) if nodes >> place & 1)
        return job.num_cpus

    def _closed(self) -> Iterator[Closed]:
        state = self._engine.state
        for kind in (NodeState.DOWN, NodeState.DRAIN):
            nodes = sum(1 << place for place, node in enumerate(state.nodes) if node.state is kind)
            if nodes:
                yield Closed(what=kind.value, begin=state.now, end=None, nodes=self._names.fold(nodes))
        for one in self._engine.cluster.reservations.all.values():
            names = self._names.fold(one.nodes)
            yield Closed(what=f"reservation {one.name}", begin=one.start_time, end=one.end_time, nodes=names)
