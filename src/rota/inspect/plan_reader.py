"""The scheduler's plan: which pending jobs are to start when and where, and which nodes are not available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.config.hostlist import NodeNames
from rota.model import NodeState
from rota.results.plan_history import (
    MAX_PLANNED,
    NodeKind,
    Plan,
    PlannedJob,
    UnavailableNodes,
    UsableNodes,
    WaitingJobs,
)

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
        """Read the nodes, and divide them into kinds by features, GRES, processors and memory."""
        self._machine = self._cluster.machine
        self._bits = {name: 1 << index for index, (name, _) in enumerate(self._machine)}
        self._names = NodeNames(self._bits)
        alike: dict[tuple[Any, ...], list[str]] = {}
        for node in () if self._cluster.interchangeable else self._cluster.nodes():
            alike.setdefault((node.cpus, node.memory, node.gres, node.features), []).append(node.name)
        parts = [sum(self._bits[name] for name in names) for names in alike.values()]
        self._usable = self._cluster.usable_parts(parts)
        self.kinds = tuple(
            NodeKind(
                nodes=self._names.fold(part),
                count=part.bit_count(),
                cpus=cpus,
                memory=memory,
                gres=gres,
                features=features,
            )
            for part, (cpus, memory, gres, features) in zip(parts, alike, strict=True)
        )

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
            reasons=tuple(
                WaitingJobs(reason=reason.value, jobs=jobs, cpus=cpus)
                for reason, (jobs, cpus) in cluster.reasons().items()
            ),
            usable=tuple(UsableNodes(jobs=jobs, cpus=cpus) for jobs, cpus in self._usable.count()),
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
        for kind in (NodeState.DOWN, NodeState.DRAIN, NodeState.FAIL):
            if nodes := cluster.nodes_in(kind):
                yield UnavailableNodes(what=kind.value, begin=cluster.now, end=None, nodes=self._names.fold(nodes))
        for one in cluster.reservations():
            names = self._names.fold(sum(self._bits[name] for name in one.nodes))
            yield UnavailableNodes(what=f"reservation {one.name}", begin=one.start_time, end=one.end_time, nodes=names)
