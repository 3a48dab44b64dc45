"""The nodes and GRES of each job, as Slurm writes them: ``n[01-04],m7``, ``32(x4),8`` and ``gres/gpu=2``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.config.hostlist import NodeNames, fold_counts
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from rota.core import ClusterView
    from rota.core.job import Job
    from rota.results.schedule import Schedule

#: Bitmap of nodes and, where nodes are shared, the processors on each.
_Given = tuple[int, bytes]


class AllocationRecorder:
    """Records on which nodes each job runs, and with how many processors on each.

    Args:
        cluster: The view of a machine with nodes.
        count: Number of jobs in the workload.
    """

    def __init__(self, cluster: ClusterView, count: int) -> None:
        self._cluster = cluster
        self._cpus = [cpus for _, cpus in cluster.machine]
        self._names = NodeNames(name for name, _ in cluster.machine)
        #: By row of the workload; ``None``: the job has not started.
        self._given: list[_Given | None] = [None] * count
        self._gres = [""] * count

    def launched(self, row: int, job: Job) -> None:
        """Record a job that has just started. A later start replaces it."""
        of_nodes = self._cluster.cpus_by_node(job)
        cpus = b"" if of_nodes is None else of_nodes[of_nodes > 0].tobytes()
        self._given[row] = job.alloc_nodes, cpus
        self._gres[row] = ",".join(f"{name}={number}" for name, number in self._cluster.gres_of(job).items())

    def added_to(self, schedule: Schedule) -> Schedule:
        """Add the nodes and GRES of all jobs to a schedule."""
        known: dict[_Given | None, tuple[str, str]] = {None: ("", "")}
        texts = []
        for given, start in zip(self._given, schedule.start.tolist(), strict=True):
            key = given if start >= 0 else None
            if key is not None and key not in known:
                known[key] = self._texts(*key)
            texts.append(known[key])
        return replace(
            schedule,
            nodes=tuple(nodes for nodes, _ in texts),
            node_cpus=tuple(cpus for _, cpus in texts),
            gres=tuple(self._gres) if any(self._gres) else None,
        )

    def _texts(self, nodes: int, cpus: bytes) -> tuple[str, str]:
        counts = memoryview(cpus).cast("I").tolist() or [self._cpus[index] for index in indices(nodes)]
        return self._names.fold(nodes), fold_counts(counts)
