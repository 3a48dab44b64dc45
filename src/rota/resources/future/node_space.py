"""The node space map of backfill: reserved nodes over time, and running jobs with their expected ends.

On machines with nodes it is Slurm's ``node_space``: time slots, each with the nodes that are not reserved in it, and
the running jobs by expected ends. A job is placed at the earliest time at which it fits into what will be free, on
nodes that are not reserved as long as it would run. Interchangeable processors are counted in a `FutureProfile`
instead.

Costs, for n slots and r running jobs: `NodeSpace.earliest` tests O(n + log r) placements, each after O(n) operations on
bitmaps. What running jobs free is summed up once for all jobs of a cycle.

Over 400 lines: the two maps, of nodes and of processors, have the same functions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import reduce
from itertools import accumulate
from operator import and_
from typing import TYPE_CHECKING, Generic, Protocol

from rota.resources.future.batches import batches
from rota.resources.future.job_ends import FeasibleNodes, Releases, allocated_nodes, expected_ends, soft_end
from rota.resources.future.profile import FutureProfile
from rota.resources.job import J

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.pools.pool import NodePool, Pool


class PreemptionRules(Protocol[J]):
    """Determines which running jobs can be preempted for a job."""

    def preemption_class(self, job: J) -> Hashable | None:
        """Give a value that is equal for jobs for which the same ones can be preempted; ``None``: none can."""

    def candidates(self, job: J) -> Sequence[J]:
        """Give the running jobs that can be preempted for a job."""

    def is_preemptable(self, job: J) -> bool:
        """Whether a running job can be preempted for some other job."""


class ProcessorSpace:
    """The node space map of interchangeable processors: a profile, with times rounded to the resolution.

    Args:
        pool: The machine.
        now: The time now, Unix seconds.
        running: The running jobs, by expected end.
        resolution: Seconds to a multiple of which ends are rounded up.
        ends_rounded_up: Whether ends of reservations are rounded up too, or down.
        window: How far ahead to plan, seconds.
        soft_limits: Whether running jobs are expected to end after their ``--time-min``.
    """

    def __init__(
        self,
        pool: Pool,
        now: int,
        running: Sequence[PlacedJob],
        *,
        resolution: int,
        window: int,
        soft_limits: bool = False,
        ends_rounded_up: bool = True,
    ) -> None:
        self._resolution = resolution
        self._later = resolution - 1 if ends_rounded_up else 0
        self._now, self._before = now, now + window
        self._soft = soft_limits
        running, ends = expected_ends(running, now, soft=soft_limits)
        common, up = pool.common, pool.up
        on_grid = [
            (-(-end // resolution) * resolution, common(job.alloc, up)) for job, end in zip(running, ends, strict=True)
        ]
        self._profile = FutureProfile(pool, now, on_grid)

    @property
    def size(self) -> int:
        """Number of time slots."""
        return len(self._profile)

    def earliest(
        self, job: HandedJob[PlacedJob], duration: int, after: int, *, not_before: int = 0, now_only: bool = False
    ) -> tuple[int, int, int] | None:
        """Find the earliest time at which the job fits."""
        after = max(after, not_before)
        found = self._profile.earliest(job, duration, after, before=after + 1 if now_only else self._before)
        return None if found is None else (found[0], 1, found[0])

    def startable(self, job: HandedJob[PlacedJob], duration: int) -> int:
        """Give the only node if the job could start now, else 0."""
        return self._profile.earliest(job, duration, self._now, before=self._now + 1) is not None

    def open_nodes(self, job: HandedJob[PlacedJob], start: int, duration: int) -> int:  # noqa: ARG002 - whatever is taken
        """Give the only node."""
        return 1

    def is_open(self, job: HandedJob[PlacedJob], start: int, duration: int, nodes: int) -> bool:  # noqa: ARG002 - there is one node
        """Whether the job's processors are not reserved at that time."""
        end = start + duration
        steps = self._profile.steps()
        return all(
            avail >= job.units
            for (begin, avail), (after, _) in zip(steps, [*steps[1:], (end, 0)], strict=True)
            if begin < end and (after > start or after == end)
        )

    def reserve(self, job: HandedJob[PlacedJob], start: int, duration: int, nodes: int) -> None:  # noqa: ARG002 - there is one node
        """Reserve the job's processors."""
        end = (start + duration + self._later) // self._resolution * self._resolution
        self._profile.take(start, max(end, start + 1), job.units)

    def started(self, job: HandedJob[PlacedJob]) -> None:
        """Include a job that has just started."""
        start = job.start_time or 0
        end = soft_end(job._record, start) if self._soft else start + job.time_limit
        self.reserve(job, start, end - start, job.alloc_nodes)


class Windows:
    """Intersects the slots of a window whose begin and end only increase. Each slot is used about twice.

    Args:
        opened: Bitmap of the open nodes of each slot.
    """

    __slots__ = ("_end", "_later", "_opened", "_suffixes", "_until")

    def __init__(self, opened: list[int]) -> None:
        self._opened = opened
        #: Intersections of the last, the last two … slots before ``_until``; and of all slots from there to before
        #: ``_end``.
        self._suffixes: list[int] = []
        self._until = -1
        self._later = self._end = 0

    def move(self, first: int, last: int) -> int:
        """Intersect the slots from ``first`` to before ``last``; neither may be less than before."""
        if self._until < 0:  # nothing is prepared for a second window before one is asked for
            self._until = 0
            return reduce(and_, self._opened[first:last])
        if first >= self._until:
            self._suffixes = list(accumulate(reversed(self._opened[first:last]), and_))
            self._later, self._until, self._end = self._suffixes[0], last, last
        elif last > self._end:
            self._later = reduce(and_, self._opened[self._end : last], self._later)
            self._end = last
        return self._suffixes[self._until - first - 1] & self._later


class NodeSpace(Generic[J]):
    """The node space map of a machine with nodes.

    Args:
        pool: The machine.
        now: The time now, Unix seconds.
        running: The running jobs, by expected end.
        resolution: Seconds between points of time at which reservations may begin and end.
        ends_rounded_up: Whether they end at the next point of time, or at the one before.
        window: How far ahead to plan, seconds.
        preemption_rules: Determines which jobs can be preempted.
        prefer_busy: Whether nodes that are in use now are preferred for jobs that start later.
        reserve_running: Whether the nodes of running jobs that have whole nodes are reserved until their ends, unless
            the jobs can be preempted.
        step: Number of seconds by which each batch of running jobs that are assumed to end together is longer than the
            one before; 0: it is twice as long.
        soft_limits: Whether running jobs are expected to end after their ``--time-min``.
        from_start: Whether a later start is tested with what is free then, or, as if it were now, first with what is
            free now, and then with what ends of running jobs free.
    """

    def __init__(
        self,
        pool: NodePool,
        now: int,
        running: Sequence[J],
        *,
        resolution: int,
        window: int,
        preemption_rules: PreemptionRules[J] | None = None,
        prefer_busy: bool = False,
        reserve_running: bool = False,
        step: int = 0,
        soft_limits: bool = False,
        ends_rounded_up: bool = True,
        from_start: bool = True,
    ) -> None:
        self._pool = pool
        self._now = now
        self._from_start = from_start
        self._resolution = resolution
        self._later = resolution - 1 if ends_rounded_up else 0
        self._last = now + window
        #: Begin of each slot, ascending, and the nodes that are not reserved in it.
        self._begin = [self._floor(now)]
        self._up = pool.up_nodes
        self._open: list[int] = [self._up]
        #: Results of `_next_gain`, by slot.
        self._gains: dict[int, int | None] = {}
        self._soft = soft_limits
        # If jobs end one by one, those that end after the window do not matter.
        last = self._last if pool.ends_one_by_one else None
        self._releases = Releases(pool, *expected_ends(running, now, soft=soft_limits, last=last), pool.view(pool.free))
        self._preemption_rules = preemption_rules
        #: Releases without the jobs that can be preempted, by `preemption_class`, until some job starts.
        self._preempted: dict[Hashable, Releases] = {}
        #: Nodes in use, if these are preferred.
        self._busy = allocated_nodes(running) if prefer_busy else 0
        self._step = step
        for job in running if reserve_running else ():
            if pool.is_whole(job) and not (preemption_rules and preemption_rules.is_preemptable(job)):
                self.reserve(job, now, (job.end_time or 0) - now, job.alloc_nodes)

    def _floor(self, time: int) -> int:
        return time // self._resolution * self._resolution

    @property
    def size(self) -> int:
        """Number of time slots."""
        return len(self._begin)

    def earliest(
        self, job: HandedJob[J], duration: int, after: int, *, not_before: int = 0, now_only: bool = False
    ) -> tuple[int, int, int] | None:
        """Find the earliest time at which the job fits, its nodes, and from where that was searched for."""
        pool, start, record = self._pool, after, job._record
        usable, least = pool.ever_feasible_nodes(record), pool.least_nodes(record)
        feasible, gains, begins, opened = self._releases.feasible_nodes(record), self._gains, self._begin, self._open
        if start <= self._now >= not_before:
            nodes = self.open_nodes(job, start, duration) & usable
            could = nodes & feasible[start] if feasible.one else nodes
            if could.bit_count() >= least and (found := pool.find_now(record, self._releases.view(0), nodes)):
                return start, found, start
            if now_only:
                return None
        if self._preemption_rules is not None:
            feasible = self._releases_for(record, self._preemption_rules).feasible_nodes(record)
        windows = Windows(opened)
        while True:
            slot = max(bisect_right(begins, start) - 1, 0)
            later = gains[slot] if slot in gains else self._next_gain(slot)
            end = bisect_right(begins, start + duration)
            # Of jobs of one node it is asked, once it is known which nodes are open, when the first of them suffices.
            could = usable if feasible.one else usable & feasible[later]
            if (
                (could & opened[slot] & opened[end - 1]).bit_count() >= least  # fails most often
                and ((nodes := windows.move(slot, end)) & could).bit_count() >= least
            ):
                nodes &= usable
                begin, taken = self._will_run(record, feasible, nodes, start, later, not_before=not_before)
                if taken and (later is None or begin <= later):
                    if begin == start or self._can_be_reserved(begin, duration, taken):
                        return begin, taken, start
                    later = begin
            if now_only or later is None or later > self._last:
                return None
            start = later

    def startable(self, job: HandedJob[J], duration: int) -> int:
        """Give the nodes on which a job might start now; 0: it cannot."""
        pool, feasible, record = self._pool, self._releases, job._record
        if self._preemption_rules is not None:
            feasible = self._releases_for(record, self._preemption_rules)
        nodes = pool.ever_feasible_nodes(record) & feasible.feasible_nodes(record)[self._now]
        least = pool.least_nodes(record)
        if nodes.bit_count() < least:
            return 0
        nodes &= self.open_nodes(job, self._now, duration)
        return nodes if nodes.bit_count() >= least else 0

    def _next_gain(self, slot: int) -> int | None:
        """Give the begin of the first later slot in which a node is free that was reserved in the slot before."""
        before, later = self._open[slot], None
        for index in range(slot + 1, len(self._open)):
            after = self._open[index]
            if after & before != after:
                later = self._begin[index]
                break
            before = after
        self._gains[slot] = later
        return later

    def _releases_for(self, job: J, rules: PreemptionRules[J]) -> Releases:
        """Give the releases without the jobs that can be preempted for a job."""
        if (preemption_class := rules.preemption_class(job)) is None:
            return self._releases
        if preemption_class not in self._preempted:
            self._preempted[preemption_class] = self._releases.without(rules.candidates(job))
        return self._preempted[preemption_class]

    def _will_run(
        self, job: J, feasible: FeasibleNodes, nodes: int, start: int, later: int | None, *, not_before: int
    ) -> tuple[int, int]:
        """Find the first time at which a job fits.

        Args:
            job: The job.
            feasible: Nodes that could serve part of it, with the running jobs by expected end.
            nodes: Bitmap of the nodes that it may use.
            start: Earliest time, Unix seconds.
            later: Time after which it is searched for anew, Unix seconds; ``None``: none.
            not_before: Time before which it is known not to fit, Unix seconds.

        Returns:
            The time, and the bitmap of the nodes; 0 nodes: it does not fit by then.
        """
        pool, busy, releases, one = self._pool, self._busy, feasible.releases, feasible.one
        gone = releases.ended_by(start) if self._from_start else 0
        known = releases.ended_by(not_before - 1) + 1 if not_before > start else 0
        least = max(one.first(nodes) if one else 0, known)
        is_tried = start <= self._now and releases is self._releases
        if not is_tried and least <= gone and (found := self._fits_at_once(job, releases, nodes, gone)):
            return start, found
        if pool.ends_one_by_one:
            end, found = self._next_end(job, releases, nodes, max(gone, known - 1), releases.ended_by(later))
            return max(start, end), found
        last = self._last if later is None else min(later, self._last)
        if one and least > releases.ended_by(last):
            return start, 0
        for number in batches(releases, nodes, gone, self._step, least):
            end = releases.last_end_on(number, nodes)
            if end > last:
                break
            view = None if one else releases.view(number)
            if found := one.find(job, number, nodes, busy) if one else pool.find(job, view, nodes, busy):
                return max(start, end), found
        return start, 0

    def _fits_at_once(self, job: J, releases: Releases, nodes: int, gone: int) -> int:
        """Give the nodes on which a job fits without further ends; 0: it does not."""
        pool, first = self._pool, self._releases
        if self._from_start:
            return pool.find(job, releases.view(gone), nodes, self._busy)
        found = 0 if releases is first else pool.find(job, first.view(0), nodes)
        return found or pool.find(job, releases.view(0), nodes)

    def _next_end(self, job: J, releases: Releases, nodes: int, gone: int, limit: int) -> tuple[int, int]:
        """Find the end after which a job fits if jobs end one by one: with a bound from the pool, and bisection."""
        pool, busy, step = self._pool, self._busy, 0
        least = pool.least_nodes(job)
        while (first := releases.reach(gone, limit, nodes, least)) <= limit and releases.ends[first - 1] <= self._last:
            gone = min(first + step, limit)
            step += step or 1
            found = pool.find(job, releases.view(gone), nodes, busy)
            while found and first < gone:
                middle = (first + gone) // 2
                if sooner := pool.find(job, releases.view(middle), nodes, busy):
                    gone, found = middle, sooner
                else:
                    first = middle + 1
            if found:
                return releases.ends[gone - 1], found
        return self._now, 0

    def open_nodes(self, job: HandedJob[J], start: int, duration: int) -> int:  # noqa: ARG002 - as for processors
        """Give the nodes that are not reserved at that time."""
        first = max(bisect_right(self._begin, start) - 1, 0)
        return reduce(and_, self._open[first : bisect_right(self._begin, start + duration)])

    def is_open(self, job: HandedJob[J], start: int, duration: int, nodes: int) -> bool:  # noqa: ARG002 - as for processors
        """Whether the nodes are not reserved at that time."""
        first = max(bisect_right(self._begin, self._floor(start)) - 1, 0)
        last = bisect_left(self._begin, self._end(start, duration))
        return reduce(and_, self._open[first:last], nodes) == nodes

    def _can_be_reserved(self, start: int, duration: int, nodes: int) -> bool:
        """Whether nothing is reserved of what `reserve` would reserve for a job."""
        first = max(bisect_right(self._begin, self._floor(start)) - 1, 0)
        last = bisect_left(self._begin, self._reserved_until(start, duration))
        return reduce(and_, self._open[first:last], nodes) == nodes

    def _end(self, start: int, duration: int) -> int:
        return self._floor(start + duration + self._resolution - 1)

    def _reserved_until(self, start: int, duration: int) -> int:
        return max(self._floor(start + duration + self._later), self._floor(start) + self._resolution)

    def reserve(self, job: HandedJob[J] | J | None, start: int, duration: int, nodes: int) -> None:
        """Reserve whole nodes for a job; ``None``: for something else, whose end is always rounded up."""
        first = self._split(max(self._floor(start), self._begin[0]))
        end = self._end(start, duration) if job is None else self._reserved_until(start, duration)
        last = self._split(end)
        self._gains.clear()
        others = self._up & ~nodes  # intersections are much cheaper with numbers that are not negative
        self._open[first:last] = [opened & others for opened in self._open[first:last]]
        for index in (last, first):
            if 0 < index < len(self._open) and self._open[index] == self._open[index - 1]:
                del self._open[index], self._begin[index]

    def _split(self, time: int) -> int:
        """Split the slots at a time; give the index of the one that begins then."""
        index = bisect_left(self._begin, time)
        if index == len(self._begin) or self._begin[index] != time:
            self._begin.insert(index, time)
            self._open.insert(index, self._open[index - 1])
        return index

    def started(self, job: HandedJob[J]) -> None:
        """Include a job that has just started; whole nodes are reserved until its end."""
        record = job._record
        if self._pool.is_whole(record):
            self.reserve(job, record.start_time or 0, record.time_limit, record.alloc_nodes)
        self._releases.started(record, soft_end(record, self._now) if self._soft else record.end_time or 0)
        self._preempted.clear()
        if self._busy:
            self._busy |= record.alloc_nodes
