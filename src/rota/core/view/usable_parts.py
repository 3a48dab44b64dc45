"""Which parts of the machine pending jobs could use, whatever runs there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.resources.requests.request_class import RequestClass


class UsableParts:
    """Counts pending jobs by the parts that they could use: on which they would fit alone, if these were empty.

    Equal requests are tried once, until nodes fail or come back.

    Args:
        cluster: The cluster.
        parts: Bitmaps of nodes.
    """

    def __init__(self, cluster: Cluster, parts: Sequence[int]) -> None:
        self._state = cluster.state
        self._queue = cluster.queue
        self._parts = parts
        self._up = -1
        #: Indices of the parts by request class, with what keeps the class from being another's.
        self._known: dict[Hashable, tuple[RequestClass | None, tuple[int, ...]]] = {}

    def count(self) -> list[tuple[int, int]]:
        """Give for each part the number of jobs that could use it, and the processors that they ask for."""
        if not self._parts:
            return []
        up = self._state.pool.up
        if up != self._up:
            self._known.clear()
            self._up = up
        counts = [[0, 0] for _ in self._parts]
        for job in (*self._queue.waiting(), *self._queue.parked.values()):
            tasks = max(job.waiting_tasks, 1)
            for part in {part for record in job.records or (job,) for part in self._of(record)}:
                counts[part][0] += tasks
                counts[part][1] += tasks * job.num_cpus
        return [(jobs, cpus) for jobs, cpus in counts]

    def _of(self, job: Job) -> tuple[int, ...]:
        pool = self._state.pool
        key = pool.class_of(job)
        known = self._known.get(key)
        if known is None:
            fits = (i for i, nodes in enumerate(self._parts) if pool.select(job, pool.without(self._up, ~nodes)))
            known = self._known[key] = (job.request_class, tuple(fits))
        return known[1]
