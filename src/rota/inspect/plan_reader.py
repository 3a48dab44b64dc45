"""The plan of a scheduler as it stands: which waiting jobs are to start, when and where, and what is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import NodeNames
from rota.model import NodeState
from rota.results.plan_history import MAX_PLANNED, Closed, Plan, PlannedJob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core import ClusterView
    from rota.model.lines import PlannedLine


class PlanReader:
    """Reads the plan off a cluster.

    Args:
        cluster: To look at.
    """

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self._bits = {name: 1 << place for place, (name, _) in enumerate(cluster.machine)}
        self._names = NodeNames(self._bits)

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        """Name and processors of each node; none where processors are interchangeable."""
        return () if self._cluster.interchangeable else self._cluster.machine

    def plan(self) -> Plan:
        """Give the plan as it stands now."""
        cluster = self._cluster
        return Plan(
            time=cluster.now,
            waiting=cluster.queue_length,
            planned=tuple(map(self._planned, cluster.planned(MAX_PLANNED))),
            closed=tuple(self._closed()),
        )

    def _planned(self, one: PlannedLine) -> PlannedJob:
        return PlannedJob(
            job_id=one.job_id,
            place=one.place,
            start=one.start,
            cpus=one.num_cpus,
            nodes=self._names.fold(one.nodes),
            reason=one.reason,
        )

    def _closed(self) -> Iterator[Closed]:
        cluster = self._cluster
        for kind in (NodeState.DOWN, NodeState.DRAIN):
            if nodes := cluster.nodes_in(kind):
                yield Closed(what=kind.value, begin=cluster.now, end=None, nodes=self._names.fold(nodes))
        for one in cluster.reservations():
            names = self._names.fold(sum(self._bits[name] for name in one.nodes))
            yield Closed(what=f"reservation {one.name}", begin=one.start_time, end=one.end_time, nodes=names)
