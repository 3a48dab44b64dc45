"""The availability profile: a step function of time, as two arrays.

``avail[i]`` is the resource set that is free from ``times[i]`` to before ``times[i + 1]``; the last step has no end.
The same algorithm serves both kinds of machine: windows are first searched by the *number* of free units (``sizes``),
which is sufficient for interchangeable processors; on nodes the resource sets of the window are then intersected.

Costs, for n steps: `earliest` O(n), `take` and `give` O(log n + steps touched).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.pools.pool import Pool


#: After all other times.
_FOREVER = 2**63


class FutureProfile:
    """An availability profile."""

    __slots__ = ("_avail", "_pool", "_sizes", "_times")

    def __init__(self, pool: Pool, now: int, ends: Iterable[tuple[int, int]]) -> None:
        """Make a profile with the resources that are free now, and those that running jobs free.

        Args:
            pool: The machine.
            now: The time now, Unix seconds.
            ends: Expected end and resource set of every running job, by end. Ends in the past count as now.
        """
        self._pool = pool
        #: Begin of each step, strictly ascending.
        self._times = [now]
        #: Free resource set of each step.
        self._avail = [pool.free]
        #: Number of free units of each step; for interchangeable processors the same list.
        self._sizes = self._avail
        for end, resources in ends:
            free = self._avail[-1] + resources
            if end <= self._times[-1]:
                self._avail[-1] = free
            else:
                self._times.append(end)
                self._avail.append(free)
        if not pool.interchangeable:
            self._sizes = list(map(pool.size, self._avail))

    def __len__(self) -> int:
        """Give the number of steps."""
        return len(self._times)

    def steps(self) -> list[tuple[int, int]]:
        """Give the steps as pairs of time and resource set."""
        return list(zip(self._times, self._avail, strict=True))

    def earliest(
        self, job: HandedJob[PlacedJob], duration: int, after: int, before: int | None = None, held: int = 0
    ) -> tuple[int, int] | None:
        """Find the earliest time at which the job fits; see `rota.interfaces.profile.Profile.earliest`."""
        times, sizes, record = self._times, self._sizes, job._record
        need = record.units
        horizon = _FOREVER if before is None else before
        count = len(times)
        i = max(bisect_right(times, after) - 1, 0)
        while i < count:
            if sizes[i] < need:
                i += 1
                continue
            start = times[i]
            if start < after:
                start = after
            if start >= horizon:
                return None
            end = start + duration
            if held and end > horizon:
                end = horizon
            j = i + 1
            while j < count and times[j] < end and sizes[j] >= need:
                j += 1
            if j < count and times[j] < end:
                i = j + 1
                continue
            resources = self._place(record, i, j, start + duration, held)
            if resources:
                return start, resources
            i += 1
        return None

    def _place(self, job: PlacedJob, i: int, j: int, end: int, held: int) -> int:
        """Choose resources that are free in steps ``i`` to ``j`` and, with ``held``, until ``end``."""
        if self._sizes is self._avail:
            return job.units
        common = self._avail[i]
        for k in range(i + 1, j):
            common = self._pool.common(common, self._avail[k])
        if held:
            for k in range(j, bisect_left(self._times, end)):
                common = self._pool.common(common, self._avail[k] + held)
        return self._pool.select(job, common)

    def take(self, start: int, end: int, resources: int) -> None:
        """Reserve resources; see `rota.interfaces.profile.Profile.take`."""
        self._add(start, end, -resources)

    def take_what_is_free(self, start: int, end: int, resources: int) -> None:
        """Reserve what is free of some resources; see `rota.interfaces.profile.Profile.take_what_is_free`."""
        steps = self.steps()
        ends = [time for time, _ in steps[1:]] + [end]
        for (begin, avail), until in zip(steps, ends, strict=True):
            first, last = max(begin, start), min(until, end)
            if first < last and (part := self._pool.common(avail, resources)):
                self.take(first, last, part)

    def give(self, start: int, end: int, resources: int) -> None:
        """Free reserved resources; see `rota.interfaces.profile.Profile.give`."""
        self._add(start, end, resources)

    def _add(self, start: int, end: int, change: int) -> None:
        """Add a resource set to the steps from ``start`` to ``end``, or remove it if ``change`` is negative."""
        times, avail, sizes = self._times, self._avail, self._sizes
        start = max(start, times[0])
        if end <= start:
            return  # all in the past
        i = self._split(start)
        j = self._split(end)
        avail[i:j] = changed = [resources + change for resources in avail[i:j]]
        if sizes is not avail:
            sizes[i:j] = map(self._pool.size, changed)
        if j < len(avail) and avail[j] == avail[j - 1]:
            self._drop(j)
        if i and avail[i] == avail[i - 1]:
            self._drop(i)

    def _split(self, time: int) -> int:
        """Split the steps at a time; give the index of the one that begins then."""
        i = bisect_left(self._times, time)
        if i == len(self._times) or self._times[i] != time:
            self._times.insert(i, time)
            self._avail.insert(i, self._avail[i - 1])
            if self._sizes is not self._avail:
                self._sizes.insert(i, self._sizes[i - 1])
        return i

    def _drop(self, i: int) -> None:
        """Merge a step with the one before."""
        del self._times[i]
        del self._avail[i]
        if self._sizes is not self._avail:
            del self._sizes[i]

    def advance(self, now: int) -> None:
        """Discard everything before ``now``."""
        times = self._times
        i = bisect_right(times, now) - 1
        if i > 0:
            del times[:i]
            del self._avail[:i]
            if self._sizes is not self._avail:
                del self._sizes[:i]
        if times[0] < now:
            times[0] = now
