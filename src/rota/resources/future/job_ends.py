"""The resources that running jobs free at their expected ends, summed up.

What is free after a number of ends is computed once for all jobs of a cycle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property, reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rota.resources.job import PlacedJob
    from rota.resources.pools.one_node import OneNode
    from rota.resources.pools.pool import Allocated, NodePool

#: Largest number of ends after which an intermediate sum is kept.
_STRIDE = 256
#: Expected end of a running or completing job.
_end = attrgetter("end_time")


class Releases:
    """Running jobs by their expected ends, and the resources that are free after each number of ends.

    Args:
        pool: The machine.
        jobs: The jobs, sorted by expected ends.
        ends: The expected ends, ascending, Unix seconds.
        free: View of the resources that are free now.
    """

    def __init__(self, pool: NodePool, jobs: Sequence[PlacedJob], ends: Sequence[int], free: Any) -> None:
        self._pool = pool
        self.jobs = list(jobs)
        self.ends = list(ends)
        #: Views of what is free after a number of ends, as far as computed; and these numbers, ascending.
        self._views: dict[int, Any] = {0: free}
        self._asked = [0]
        #: Nodes that could serve part of a job, by what it asks of each node.
        self._feasible: dict[Hashable, FeasibleNodes] = {}

    @cached_property
    def _allocated(self) -> Allocated:
        return self._pool.in_order(self.jobs)

    def ended_by(self, time: int | None) -> int:
        """Count the jobs that have ended by a time; all jobs for ``None``."""
        return len(self.ends) if time is None else bisect_right(self.ends, time)

    def next_on(self, index: int, nodes: int, limit: int) -> int:
        """Give the index of the next job with some of the nodes; ``limit`` if there is none before."""
        return self._allocated.nodes.next_on(index, nodes, limit)

    def reach(self, gone: int, limit: int, nodes: int, count: int) -> int:
        """Give a lower bound of the number of ends after which a job fits, more than ``gone``; see `Allocated`."""
        return self._allocated.reach(self.view(gone), gone, limit, nodes, count)

    def last_end_on(self, gone: int, nodes: int) -> int:
        """Give the last end of a job on some of the nodes, among the first ``gone`` jobs; there has to be one."""
        return self.ends[self._allocated.nodes.last_on(gone, nodes)]

    def view(self, gone: int) -> Any:
        """Give the view of what is free after ``gone`` ends."""
        views = self._views
        if gone not in views:
            index = bisect_right(self._asked, gone)
            before = self._asked[index - 1]
            for stop in (*range(before + _STRIDE, gone, _STRIDE), gone):
                views[stop] = self._allocated.added(views[before], before, stop)
                self._asked.insert(index, stop)
                before, index = stop, index + 1
        return views[gone]

    def feasible_nodes(self, job: PlacedJob) -> FeasibleNodes:
        """Give the nodes that could serve part of a job, by time."""
        asked = self._pool.node_request_class(job)
        known = self._feasible.get(asked)
        if known is None:
            one = self._pool.one_node(job, self._allocated, self._views[0])
            known = self._feasible[asked] = FeasibleNodes(self._pool, job, self, one)
        return known

    def started(self, job: PlacedJob, end: int) -> None:
        """Include a job that has just started, with its expected end."""
        index = bisect_left(self.ends, end)
        while index < len(self.ends) and self.ends[index] == end and self.jobs[index].job_id < job.job_id:
            index += 1
        self._allocated.insert(index, job)
        self.ends.insert(index, end)
        self.jobs.insert(index, job)
        # Before its end less is free than before; after it, as much.
        before = {
            gone: self._pool.without_allocation(view, job.alloc) for gone, view in self._views.items() if gone <= index
        }
        after = {gone + 1: view for gone, view in self._views.items() if gone >= index}
        self._views = before | after
        self._asked = sorted(self._views)
        self._feasible.clear()

    def without(self, jobs: Sequence[PlacedJob]) -> Releases:
        """Give the same as if some of the jobs had ended."""
        gone = set(map(id, jobs))
        rest = [index for index, job in enumerate(self.jobs) if id(job) not in gone]
        return Releases(
            self._pool,
            [self.jobs[index] for index in rest],
            [self.ends[index] for index in rest],
            self._pool.in_order(jobs).added(self._views[0], 0, len(jobs)),
        )


class FeasibleNodes(dict[int | None, int]):
    """Bitmaps of the nodes that could serve part of a job, by time; computed on demand."""

    def __init__(self, pool: NodePool, job: PlacedJob, releases: Releases, one: OneNode | None) -> None:
        super().__init__()
        self._pool = pool
        self._job = job
        self.releases = releases
        #: Where such jobs fit if they are of one node, as far as that is known.
        self.one = one

    def __missing__(self, time: int | None) -> int:
        ended, one = self.releases.ended_by(time), self.one
        nodes = self._pool.feasible_nodes(self._job, self.releases.view(ended)) if one is None else one.by(ended)
        self[time] = nodes
        return nodes


def soft_end(job: PlacedJob, now: int) -> int:
    """Give the end of a running job according to its ``--time-min``, if it has one, Unix seconds.

    A job that has run longer is expected to end in the middle of what is left of its time limit, or in a second.
    """
    end = job.end_time or 0
    if job.spec.time_min:
        first = (job.start_time or 0) + job.spec.time_min
        end = min(first, end) if first >= now else (now + end) // 2
    return max(end, now + 1)


def expected_ends(
    jobs: Sequence[PlacedJob], now: int, *, soft: bool, last: int | None = None
) -> tuple[Sequence[PlacedJob], list[int]]:
    """Sort running jobs by expected end; give them and the ends, Unix seconds.

    Args:
        jobs: The jobs, sorted by ``end_time``. Those past their ends are expected to end in a second.
        now: The time now, Unix seconds.
        soft: Use `soft_end`.
        last: Jobs that end after this may be left out.
    """
    if not soft:
        if last is not None:
            jobs = jobs[: bisect_right(jobs, last, key=_end)]
        ends = list(map(_end, jobs))
        late = bisect_right(ends, now)
        ends[:late] = [now + 1] * late
        return jobs, ends
    order = sorted(jobs, key=lambda job: soft_end(job, now))
    return order, [soft_end(job, now) for job in order]


def allocated_nodes(jobs: Sequence[PlacedJob]) -> int:
    """Give the bitmap of the nodes on which some jobs hold resources."""
    return reduce(or_, (job.alloc_nodes for job in jobs), 0)
