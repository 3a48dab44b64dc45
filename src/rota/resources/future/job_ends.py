"""What running jobs free when they end, added up for whoever asks.

What is free when so many of them have ended is worked out once for all jobs of a cycle.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rota.resources.job import PlacedJob
    from rota.resources.pools.pool import Held, NodePool

#: What running jobs free is not added up further than this without keeping the sum: others may ask for less.
_STRIDE = 256
#: When a job that runs, or is completing, is expected to end.
_end = attrgetter("end_time")


class Releases:
    """Running jobs by their expected ends, and what is free when the first so many of them have ended.

    Args:
        pool: The machine.
        jobs: They, by their expected ends.
        ends: These ends, ascending, Unix seconds.
        free: View of what is free now.
    """

    def __init__(self, pool: NodePool, jobs: Sequence[PlacedJob], ends: Sequence[int], free: Any) -> None:
        self._pool = pool
        self.jobs = list(jobs)
        self.ends = list(ends)
        #: What is free when so many of them have ended, as far as somebody has asked; and how many, ascending.
        self._views: dict[int, Any] = {0: free}
        self._asked = [0]
        #: By what jobs ask of each node.
        self._able: dict[Hashable, AbleNodes] = {}

    @cached_property
    def _held(self) -> Held:
        return self._pool.in_order(self.jobs)

    def ended_by(self, time: int | None) -> int:
        """Count the jobs that will have ended at a time, all if there is none."""
        return len(self.ends) if time is None else bisect_right(self.ends, time)

    def next_on(self, place: int, nodes: int, limit: int) -> int:
        """Give the place of the next job that holds some of the nodes, ``limit`` if none before that does."""
        return self._held.nodes.next_on(place, nodes, limit)

    def reach(self, gone: int, limit: int, nodes: int, count: int) -> int:
        """Give how many must have ended, more than ``gone``, for a job to fit; see `Held.reach`."""
        return self._held.reach(self.view(gone), gone, limit, nodes, count)

    def last_end_on(self, gone: int, nodes: int) -> int:
        """Give when the last of the first ``gone`` jobs ends that holds some of the nodes; one of them does."""
        return self.ends[self._held.nodes.last_on(gone, nodes)]

    def view(self, gone: int) -> Any:
        """Give what is free when ``gone`` of the jobs have ended: what more of them free is added up."""
        views = self._views
        if gone not in views:
            place = bisect_right(self._asked, gone)
            before = self._asked[place - 1]
            for stop in (*range(before + _STRIDE, gone, _STRIDE), gone):
                views[stop] = self._held.added(views[before], before, stop)
                self._asked.insert(place, stop)
                before, place = stop, place + 1
        return views[gone]

    def able(self, job: PlacedJob) -> AbleNodes:
        """Give which nodes could take part of a job, by time."""
        asked = self._pool.of_each(job)
        known = self._able.get(asked)
        if known is None:
            known = self._able[asked] = AbleNodes(self._pool, job, self)
        return known

    def started(self, job: PlacedJob, end: int) -> None:
        """Take in a job that has just started, with its expected end."""
        place = bisect_right(self.ends, end)
        self._held.insert(place, job)
        self.ends.insert(place, end)
        self.jobs.insert(place, job)
        # Until it ends less is free than before; then, as much as if it had never been.
        before = {gone: self._pool.parted(view, job.alloc) for gone, view in self._views.items() if gone <= place}
        after = {gone + 1: view for gone, view in self._views.items() if gone >= place}
        self._views = before | after
        self._asked = sorted(self._views)
        self._able.clear()

    def without(self, jobs: Sequence[PlacedJob]) -> Releases:
        """Give the same as if some of the jobs had ended already."""
        gone = set(map(id, jobs))
        rest = [place for place, job in enumerate(self.jobs) if id(job) not in gone]
        return Releases(
            self._pool,
            [self.jobs[place] for place in rest],
            [self.ends[place] for place in rest],
            self._pool.in_order(jobs).added(self._views[0], 0, len(jobs)),
        )


class AbleNodes(dict[int | None, int]):
    """Bitmaps of the nodes that could take part of a job, by time; they are worked out when somebody asks."""

    def __init__(self, pool: NodePool, job: PlacedJob, releases: Releases) -> None:
        super().__init__()
        self._pool = pool
        self._job = job
        self._releases = releases

    def __missing__(self, time: int | None) -> int:
        releases = self._releases
        nodes = self[time] = self._pool.able(self._job, releases.view(releases.ended_by(time)))
        return nodes


def soft_end(job: PlacedJob, now: int) -> int:
    """Give when a running job is expected to end, Unix seconds: after its ``--time-min``, if it has one.

    Who has run for longer is expected to end in the middle of what is left of the time limit, in a second at least.
    """
    end = job.end_time or 0
    if job.spec.time_min:
        first = (job.start_time or 0) + job.spec.time_min
        end = min(first, end) if first >= now else (now + end) // 2
    return max(end, now + 1)


def expected_ends(
    jobs: Sequence[PlacedJob], now: int, *, soft: bool, last: int | None = None
) -> tuple[Sequence[PlacedJob], list[int]]:
    """Give running jobs in the order in which they are expected to end, and these ends, Unix seconds.

    Args:
        jobs: They, by their ends; who should have ended will have in a second.
        now: Unix seconds.
        soft: Take each one's `soft_end`.
        last: Leave out, if that is easy, who ends later.
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


def nodes_held(jobs: Sequence[PlacedJob]) -> int:
    """Give the nodes of which some jobs have something, as a bitmap."""
    return reduce(or_, (job.alloc_nodes for job in jobs), 0)
