"""The scheduler's plan: which pending jobs are to start when and where, and which nodes are not available."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import NodeNames
from rota.model import NodeState
from rota.results.plan_history import MAX_PLANNED, Plan, PlannedJob, UnavailableNodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core import ClusterView
    from rota.model.lines import PlannedLine


class PlanReader:
    """Reads the scheduler's plan from a view.

    Args:
        cluster: The view.
    """

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self._read_machine()

    def _read_machine(self) -> None:
        self._machine = self._cluster.machine
        self._bits = {name: 1 << index for index, (name, _) in enumerate(self._machine)}
        self._names = NodeNames(self._bits)

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        """Name and number of processors of each node; empty for interchangeable processors."""
        return () if self._cluster.interchangeable else self._cluster.machine

    def plan(self) -> Plan:
        """Give the plan as of now."""
        cluster = self._cluster
        if cluster.machine != self._machine:  # slurm.conf has been read again
            self._read_machine()
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

    def _closed(self) -> Iterator[UnavailableNodes]:
        cluster = self._cluster
        for kind in (NodeState.DOWN, NodeState.DRAIN):
            if nodes := cluster.nodes_in(kind):
                yield UnavailableNodes(what=kind.value, begin=cluster.now, end=None, nodes=self._names.fold(nodes))
        for one in cluster.reservations():
            names = self._names.fold(sum(self._bits[name] for name in one.nodes))
            yield UnavailableNodes(what=f"reservation {one.name}", begin=one.start_time, end=one.end_time, nodes=names)
