"""What jobs hold of shared nodes.

A job has something of few nodes, so that most numbers of its resource set are 0. Those that are not are found once, and
kept as long as the job has them: to add them to a view, or to take them away, costs what the job holds and one copy.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import islice
from operator import indexOf, is_
from typing import TYPE_CHECKING

import numpy as np

from rota.resources.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.resources.job import PlacedJob
    from rota.resources.view import View


@dataclass(slots=True)
class Allocation:
    """What one job holds."""

    #: The set; kept, so that no other one has its id.
    resources: int
    #: Where its view is not 0, counted row by row, and what is there.
    positions: NDArray[np.intp]
    counts: NDArray[np.uint32]
    #: What it has, by TRES, once somebody has counted.
    tres: dict[str, int] | None = None


class Allocations:
    """The sets that running jobs hold.

    Args:
        unpack: Gives the view of a set.
    """

    __slots__ = ("_known", "_last", "_unpack")

    def __init__(self, unpack: Callable[[int], View]) -> None:
        self._unpack = unpack
        #: By the id of the set: its hash would take as long as to unpack it.
        self._known: dict[int, Allocation] = {}
        self._last = AllocatedInOrder(self, [])

    def get(self, resources: int) -> Allocation | None:
        """Give what is known of a set, if somebody has asked before."""
        return self._known.get(id(resources))

    def of(self, resources: int) -> Allocation:
        """Find out what a job holds."""
        known = self._known.get(id(resources))
        if known is None:
            numbers = self._unpack(resources).reshape(-1)
            positions = (numbers > 0).nonzero()[0]  # where a mask is not 0 is found faster than where numbers are not
            known = self._known[id(resources)] = Allocation(resources, positions, numbers[positions])
        return known

    def forget(self, resources: int) -> None:
        """Forget a set that nobody holds any more."""
        self._known.pop(id(resources), None)

    def in_order(self, held: Sequence[int]) -> AllocatedInOrder:
        """Line up what some jobs hold. Most of them are those of the last time: only what has changed is done again."""
        if not self._last.update(held):
            self._last = AllocatedInOrder(self, held)
        return copy(self._last)

    def taken(self, view: View, resources: int) -> View:
        """Give a view without what a job holds."""
        allocation = self.of(resources)
        rest = view.copy()
        rest.reshape(-1)[allocation.positions] -= allocation.counts
        return rest


def _first_difference(some: Sequence[int], others: Sequence[int], index: int) -> int:
    """Give the first place, from one on, where two rows do not have the same object, or where one of them ends."""
    same = map(is_, islice(some, index, None), islice(others, index, None))
    try:
        return index + indexOf(same, False)
    except ValueError:
        return min(len(some), len(others))


class AllocatedInOrder:
    """What jobs hold, in the order of their ends: two long arrays, of which some jobs that end together are a slice.

    When something changes, arrays and lists are replaced, so that a copy stays what it is.
    """

    __slots__ = ("_allocated", "_allocations", "_begin", "_counts", "_positions")

    def __init__(self, allocations: Allocations, held: Sequence[int]) -> None:
        self._allocations = allocations
        self._allocated = list(held)
        lined_up = [allocations.of(resources) for resources in held]
        self._positions = np.concatenate([_NO_POSITIONS, *(one.positions for one in lined_up)])
        self._counts = np.concatenate([_NO_COUNTS, *(one.counts for one in lined_up)])
        #: Where that of each job begins, and where that of the last one ends.
        self._begin = np.cumsum([0, *(len(one.positions) for one in lined_up)])

    def update(self, held: Sequence[int]) -> bool:
        """Take out the jobs that are not among some, and put in those that have come; whether these are they, then."""
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
        """Put in what one more job holds."""
        more, held, begin = self._allocations.of(resources), self._allocated, self._begin
        here = begin[index]
        self._positions = np.concatenate((self._positions[:here], more.positions, self._positions[here:]))
        self._counts = np.concatenate((self._counts[:here], more.counts, self._counts[here:]))
        self._allocated = [*held[:index], resources, *held[index:]]
        self._begin = np.concatenate((begin[: index + 1], begin[index:] + len(more.positions)))

    def added(self, view: View, first: int, last: int) -> View:
        """Give a view with what the jobs from ``first`` to before ``last`` hold added."""
        some = slice(self._begin[first], self._begin[last])
        total = view.copy()
        # Jobs that share a node have places in common, each of which counts.
        np.add.at(total.reshape(-1), self._positions[some], self._counts[some])
        return total


class AllocatedShares:
    """What jobs hold of nodes that they share, in their order."""

    __slots__ = ("_shares", "nodes")

    def __init__(self, jobs: Sequence[PlacedJob], allocations: Allocations) -> None:
        self._shares = allocations.in_order([job.alloc for job in jobs])
        self.nodes = Blocks([job.alloc_nodes for job in jobs])

    def insert(self, index: int, job: PlacedJob) -> None:
        """Put in what one more job holds."""
        self._shares.insert(index, job.alloc)
        self.nodes.insert(index, job.alloc_nodes)

    def added(self, view: View, first: int, last: int) -> View:
        """Add what the jobs from ``first`` to before ``last`` hold to a view."""
        return self._shares.added(view, first, last)

    def reach(self, view: View, index: int, limit: int, nodes: int, count: int) -> int:  # noqa: ARG002 - of parts
        """Give how many must have ended at least for a job to fit that did not before."""
        return self.nodes.next_on(index, nodes, limit) + 1


#: Jobs that come and go between two cycles; where there are more, to line all up anew is as fast.
_FEW = 20
_NO_POSITIONS = np.zeros(0, np.intp)
_NO_COUNTS = np.zeros(0, np.uint32)
