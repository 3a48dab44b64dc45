"""Allocations on shared nodes, as sparse arrays.

A job has resources on few nodes, so that most counts in its resource set are 0. The others are extracted once and kept
as long as the job has them. To add them to a view, or to subtract them, costs time proportional to their number, and a
copy of the view.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import islice
from operator import indexOf, is_
from typing import TYPE_CHECKING

import numpy as np

from rota.resources.blocks import Blocks
from rota.resources.pools.one_node import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.resources.job import PlacedJob
    from rota.resources.view import View


@dataclass(slots=True)
class Allocation:
    """The allocation of one job."""

    #: The resource set. It is kept so that its id is not used again.
    resources: int
    #: Flat indices of the elements of its view that are not 0, and these elements.
    positions: NDArray[np.intp]
    counts: NDArray[np.uint32]
    #: Cached counts by TRES.
    tres: dict[str, int] | None = None


class Allocations:
    """The allocations of running jobs.

    Args:
        unpack: Function that gives the view of a resource set.
    """

    __slots__ = ("_known", "_last", "_unpack")

    def __init__(self, unpack: Callable[[int], View]) -> None:
        self._unpack = unpack
        #: Allocations by the id of the resource set, whose hash would take as long as to unpack it.
        self._known: dict[int, Allocation] = {}
        self._last = AllocatedInOrder(self, [])

    def get(self, resources: int) -> Allocation | None:
        """Give the allocation of a resource set if it is cached, else ``None``."""
        return self._known.get(id(resources))

    def of(self, resources: int) -> Allocation:
        """Give the allocation of a resource set."""
        known = self._known.get(id(resources))
        if known is None:
            numbers = self._unpack(resources).reshape(-1)
            positions = (numbers > 0).nonzero()[0]  # `nonzero` is faster for a mask
            known = self._known[id(resources)] = Allocation(resources, positions, numbers[positions])
        return known

    def forget(self, resources: int) -> None:
        """Remove a resource set that has been freed."""
        self._known.pop(id(resources), None)

    def in_order(self, held: Sequence[int]) -> AllocatedInOrder:
        """Give the allocations of some resource sets in order. Those of the last call are reused."""
        if not self._last.update(held):
            self._last = AllocatedInOrder(self, held)
        return copy(self._last)

    def taken(self, view: View, resources: int) -> View:
        """Give a view without a job's allocation."""
        allocation = self.of(resources)
        rest = view.copy()
        rest.reshape(-1)[allocation.positions] -= allocation.counts
        return rest


def _first_difference(some: Sequence[int], others: Sequence[int], index: int) -> int:
    """Give the first index, from ``index`` on, at which two sequences have different objects, or one of them ends."""
    same = map(is_, islice(some, index, None), islice(others, index, None))
    try:
        return index + indexOf(same, False)
    except ValueError:
        return min(len(some), len(others))


class AllocatedInOrder:
    """Allocations in the order of expected ends: concatenated arrays, of which successive jobs are a slice.

    Arrays and lists are replaced when they change, so that copies are not changed.
    """

    __slots__ = ("_allocated", "_allocations", "_begin", "_counts", "_positions")

    def __init__(self, allocations: Allocations, held: Sequence[int]) -> None:
        self._allocations = allocations
        self._allocated = list(held)
        lined_up = [allocations.of(resources) for resources in held]
        self._positions = np.concatenate([_NO_POSITIONS, *(one.positions for one in lined_up)])
        self._counts = np.concatenate([_NO_COUNTS, *(one.counts for one in lined_up)])
        #: Begin of each job's part in the arrays, and the end of the last one.
        self._begin = np.cumsum([0, *(len(one.positions) for one in lined_up)])

    def update(self, held: Sequence[int]) -> bool:
        """Remove and insert resource sets so that they are ``held``; ``False``: too many have changed."""
        index = 0
        if abs(len(held) - len(self._allocated)) >= _FEW:
            return False
        for _ in range(_FEW):
            index = _first_difference(self._allocated, held, index)
            if index == len(self._allocated) == len(held):
                return True
            if index < len(self._allocated) and id(self._allocated[index]) not in map(id, held[index : index + _FEW]):
                self._remove(index)
            else:
                self.insert(index, held[index])
        return False

    def _remove(self, index: int) -> None:
        held, begin = self._allocated, self._begin
        first, end = begin[index : index + 2]
        self._positions = np.concatenate((self._positions[:first], self._positions[end:]))
        self._counts = np.concatenate((self._counts[:first], self._counts[end:]))
        self._allocated = held[:index] + held[index + 1 :]
        self._begin = np.concatenate((begin[:index], begin[index + 1 :] - (end - first)))

    def insert(self, index: int, resources: int) -> None:
        """Insert a resource set."""
        more, held, begin = self._allocations.of(resources), self._allocated, self._begin
        here = begin[index]
        self._positions = np.concatenate((self._positions[:here], more.positions, self._positions[here:]))
        self._counts = np.concatenate((self._counts[:here], more.counts, self._counts[here:]))
        self._allocated = [*held[:index], resources, *held[index:]]
        self._begin = np.concatenate((begin[: index + 1], begin[index:] + len(more.positions)))

    def added(self, view: View, first: int, last: int) -> View:
        """Give a view plus the allocations of the jobs from ``first`` to before ``last``."""
        some = slice(self._begin[first], self._begin[last])
        total = view.copy()
        # Jobs that share a node have positions in common, which are added several times.
        np.add.at(total.reshape(-1), self._positions[some], self._counts[some])
        return total

    def timeline(self, free: View) -> Timeline:
        """Give what each node has free after each end on it."""
        return Timeline(free, self._positions, self._counts, self._begin)


class AllocatedShares:
    """The allocations of jobs on shared nodes, in order; see `Allocated`."""

    __slots__ = ("_shares", "_timeline", "nodes")

    def __init__(self, jobs: Sequence[PlacedJob], allocations: Allocations) -> None:
        self._shares = allocations.in_order([job.alloc for job in jobs])
        self.nodes = Blocks([job.alloc_nodes for job in jobs])
        #: Until a job is inserted.
        self._timeline: Timeline | None = None

    def insert(self, index: int, job: PlacedJob) -> None:
        """Insert a job."""
        self._shares.insert(index, job.alloc)
        self._timeline = None
        self.nodes.insert(index, job.alloc_nodes)

    def added(self, view: View, first: int, last: int) -> View:
        """Give a view plus the allocations of the jobs from ``first`` to before ``last``."""
        return self._shares.added(view, first, last)

    def timeline(self, free: View) -> Timeline:
        """Give what each node has free after each end on it; ``free``: view of what is free now."""
        if self._timeline is None:
            self._timeline = self._shares.timeline(free)
        return self._timeline

    def reach(self, view: View, index: int, limit: int, nodes: int, count: int) -> int:  # noqa: ARG002 - of the protocol
        """Give a lower bound of the number of ends after which another job fits."""
        return self.nodes.next_on(index, nodes, limit) + 1


#: Largest number of changes for which arrays are updated; if there are more, making them again is as fast.
_FEW = 20
_NO_POSITIONS = np.zeros(0, np.intp)
_NO_COUNTS = np.zeros(0, np.uint32)
