"""What backfill plans with: which nodes are reserved when, and which running jobs free theirs when.

On machines of nodes that is Slurm's ``node_space``: slots of time on a grid, each with the nodes that nobody has
reserved, and the running jobs by their expected ends. A job is placed where it fits by what is free *then*, on nodes
that are reserved at no time while it would run. Interchangeable processors are counted instead, in a
`FutureProfile`.

Costs, for n slots and r running jobs: `NodeSpace.earliest` tries a place O(n + log r) times, each after O(n)
operations on bitmaps; what running jobs free is added up once for all jobs of a cycle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, cast

from rota.resources.profile import FutureProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model import Job
    from rota.resources.pool import NodePool, Pool

#: Running jobs that end within this of the first are taken away together, then within twice that, and so on. Seconds.
_BATCH = 30
#: Running jobs that are passed over together if none of them holds a node in question.
_BLOCK = 64
#: What running jobs free is not added up further than this without keeping the sum: others may ask for less.
_STRIDE = 256


class CountedSpace:
    """The same for interchangeable processors: ends and reservations lie on the grid, and are counted."""

    def __init__(self, pool: Pool, now: int, running: Sequence[Job], *, resolution: int, window: int) -> None:
        self._resolution = resolution
        self._before = now + window
        self._profile = FutureProfile(
            pool,
            now,
            [(-(-(job.end_time or 0) // resolution) * resolution, pool.common(job.alloc, pool.up)) for job in running],
        )

    @property
    def size(self) -> int:
        """Count the slots."""
        return len(self._profile)

    def earliest(self, job: Job, duration: int, after: int, *, now_only: bool = False) -> tuple[int, int] | None:
        """Find the first time when the job fits."""
        found = self._profile.earliest(job, duration, after, before=after + 1 if now_only else self._before)
        return None if found is None else (found[0], 1)

    def is_open(self, job: Job, start: int, duration: int, nodes: int) -> bool:  # noqa: ARG002 - it is the one node
        """Whether the job's processors are free for that time."""
        end = start + duration
        steps = self._profile.steps()
        return all(
            avail >= job.units
            for (begin, avail), (after, _) in zip(steps, [*steps[1:], (end, 0)], strict=True)
            if begin < end and (after > start or after == end)
        )

    def reserve(self, job: Job, start: int, duration: int, nodes: int) -> None:  # noqa: ARG002 - it is the one node
        """Reserve the job's processors."""
        end = -(-(start + duration) // self._resolution) * self._resolution
        self._profile.take(start, end, job.units)

    def started(self, job: Job) -> None:
        """Take account of a job that has just started."""
        self.reserve(job, job.start_time or 0, job.time_limit, job.alloc_nodes)


class NodeSpace:
    """Slots of nodes.

    Args:
        pool: The machine.
        now: Unix seconds.
        running: The running jobs by their expected ends.
        resolution: The grid, seconds.
        window: How far to look, seconds.
    """

    def __init__(self, pool: NodePool, now: int, running: Sequence[Job], *, resolution: int, window: int) -> None:
        self._pool = pool
        self._now = now
        self._resolution = resolution
        self._last = now + window
        #: Beginning of each slot, ascending, and the nodes that nobody has reserved in it.
        self._begin = [self._floor(now)]
        self._up = pool.up_nodes
        self._open: list[int] = [self._up]
        #: Expected ends of the running jobs, ascending, and their nodes.
        self._jobs = list(running)
        self._ends = [job.end_time or 0 for job in running]
        for place in range(bisect_right(self._ends, now)):  # they should have ended: soon they will have
            self._ends[place] = now + 1
        #: Nodes of each `_BLOCK` of running jobs, until one starts; made when somebody asks.
        self._blocks: list[int] = []
        #: What they hold, in this order; made when somebody asks.
        self._held: Any = None
        #: What is free when so many of them have ended, as far as somebody has asked; and how many, ascending.
        self._views: dict[int, Any] = {0: self._pool.view(self._pool.free)}
        self._asked = [0]

    def _floor(self, time: int) -> int:
        return time // self._resolution * self._resolution

    @property
    def size(self) -> int:
        """Count the slots."""
        return len(self._begin)

    def earliest(self, job: Job, duration: int, after: int, *, now_only: bool = False) -> tuple[int, int] | None:
        """Find when and where the job can start first; `None` when that is not within the window."""
        start = after
        while True:
            nodes, later = self._window(start, duration)
            found = self._will_run(job, nodes, start, later, now_only=now_only)
            if found is not None and (later is None or found[0] <= later):
                begin, taken = found
                if begin == start or self.is_open(job, begin, duration, taken):
                    return found
                later = begin
            if now_only or later is None or later > self._last:
                return None
            start = later

    def _window(self, start: int, duration: int) -> tuple[int, int | None]:
        """Give the nodes that nobody has reserved from ``start`` on, and when others are next given back."""
        begin, opened = self._begin, self._open
        first = max(bisect_right(begin, start) - 1, 0)
        nodes = before = opened[first]
        later, end = None, start + duration
        for place in range(first + 1, len(begin)):
            after = opened[place]
            if begin[place] <= end:
                nodes &= after
            elif later is not None:
                break
            if later is None and after & before != after:
                later = begin[place]
            before = after
        return nodes, later

    def _will_run(
        self, job: Job, nodes: int, start: int, later: int | None, *, now_only: bool
    ) -> tuple[int, int] | None:
        """Find when the job fits on some nodes, from ``start`` to ``later``, as running jobs end."""
        nodes &= self._pool.usable(job)
        if nodes.bit_count() < self._pool.least_nodes(job):
            return None
        ends = self._ends
        gone = bisect_right(ends, start)
        if found := self._find(job, gone, nodes):
            return start, found
        window, jobs, limit = _BATCH, self._jobs, len(ends) if later is None else bisect_right(ends, later)
        if now_only or gone >= limit or not self._pool.might_fit(job, self._view(limit), nodes):
            return None
        while (gone := self._next(gone, nodes, limit)) < limit:
            gone = min(bisect_right(ends, ends[gone] + window), limit)
            window *= 2
            if found := self._find(job, gone, nodes):
                return next(ends[i] for i in range(gone - 1, -1, -1) if jobs[i].alloc_nodes & found), found
        return None

    def _next(self, place: int, nodes: int, limit: int) -> int:
        """Give the place of the next running job that holds some of the nodes, ``limit`` if none before that does."""
        jobs, blocks = self._jobs, self._blocks
        if not blocks:
            blocks += [_union(jobs[first : first + _BLOCK]) for first in range(0, len(jobs), _BLOCK)]
        while place < limit:
            if not blocks[place // _BLOCK] & nodes:
                place += _BLOCK - place % _BLOCK
            elif jobs[place].alloc_nodes & nodes:
                return place
            else:
                place += 1
        return limit

    def _view(self, gone: int) -> Any:
        """Give what is free when ``gone`` of the running jobs have ended: what more of them free is added up."""
        views = self._views
        if gone not in views:
            if self._held is None:
                self._held = self._pool.in_order([job.alloc for job in self._jobs])
            place = bisect_right(self._asked, gone)
            before = self._asked[place - 1]
            for stop in (*range(before + _STRIDE, gone, _STRIDE), gone):
                views[stop] = self._pool.joined(views[before], self._held, before, stop)
                self._asked.insert(place, stop)
                before, place = stop, place + 1
        return views[gone]

    def _find(self, job: Job, gone: int, nodes: int) -> int:
        """Find nodes for a job by what is free when ``gone`` of the running jobs have ended."""
        view = self._views.get(gone)
        return self._pool.find(job, self._view(gone) if view is None else view, nodes)

    def is_open(self, job: Job, start: int, duration: int, nodes: int) -> bool:  # noqa: ARG002 - as for processors
        """Whether nobody has reserved one of the nodes for that time."""
        first = max(bisect_right(self._begin, self._floor(start)) - 1, 0)
        last = bisect_left(self._begin, self._end(start, duration))
        return reduce(and_, self._open[first:last], nodes) == nodes

    def _end(self, start: int, duration: int) -> int:
        return self._floor(start + duration + self._resolution - 1)

    def reserve(self, job: Job | None, start: int, duration: int, nodes: int) -> None:  # noqa: ARG002 - as for processors
        """Reserve nodes, whole."""
        first = self._split(max(self._floor(start), self._begin[0]))
        last = self._split(max(self._end(start, duration), self._floor(start) + self._resolution))
        others = self._up & ~nodes  # to intersect with what is not negative is much cheaper
        self._open[first:last] = [opened & others for opened in self._open[first:last]]
        for place in (last, first):
            if 0 < place < len(self._open) and self._open[place] == self._open[place - 1]:
                del self._open[place], self._begin[place]

    def _split(self, time: int) -> int:
        """Make a slot begin at ``time``; give its place."""
        place = bisect_left(self._begin, time)
        if place == len(self._begin) or self._begin[place] != time:
            self._begin.insert(place, time)
            self._open.insert(place, self._open[place - 1])
        return place

    def started(self, job: Job) -> None:
        """Take account of a job that has just started: whole nodes count as reserved until its end, on the grid."""
        if self._pool.is_whole(job):
            self.reserve(job, job.start_time or 0, job.time_limit, job.alloc_nodes)
        end = job.end_time or 0
        place = bisect_right(self._ends, end)
        self._blocks.clear()
        self._ends.insert(place, end)
        self._jobs.insert(place, job)
        if self._held is not None:
            self._held.insert(place, job.alloc)
        # Until it ends less is free than before; then, as much as if it had never been.
        before = {gone: self._pool.parted(view, job.alloc) for gone, view in self._views.items() if gone <= place}
        after = {gone + 1: view for gone, view in self._views.items() if gone >= place}
        self._views = before | after
        self._asked = sorted(self._views)


def _union(jobs: Sequence[Job]) -> int:
    return reduce(or_, (job.alloc_nodes for job in jobs), 0)


def make_space(
    pool: Pool, now: int, running: Sequence[Job], *, resolution: int, window: int
) -> CountedSpace | NodeSpace:
    """Make what is to be planned with on a machine."""
    if pool.interchangeable:
        return CountedSpace(pool, now, running, resolution=resolution, window=window)
    return NodeSpace(cast("NodePool", pool), now, running, resolution=resolution, window=window)
