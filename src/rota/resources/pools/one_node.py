"""Where jobs of one node fit after a number of ends, read from what each node has free after each end on it.

Most jobs of most clusters have one node. For them it is known after how many ends each node suffices, so that neither
a view of the machine has to be summed up for each number of ends that is tried, nor does one have to be tried after
which no node suffices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rota.resources.nodeset import from_mask, to_mask
from rota.resources.requests.needs import Candidates
from rota.resources.view import CPU

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.resources.job import PlacedJob
    from rota.resources.requests.needs import Choose, Needs
    from rota.resources.view import View


class Timeline:
    """What is free on each node as running jobs end: a column for now, and one for each end of a job on the node.

    Args:
        free: View of what is free now.
        positions: Flat indices in a view of what the jobs hold, job by job. On each of its nodes a job has something of
            the first row.
        counts: How much each of these is.
        begin: Begin of each job's part in these arrays, and the end of the last one.
    """

    __slots__ = ("_begin", "_ends", "_keys", "_size", "_width", "never", "of_node", "view")

    def __init__(
        self, free: View, positions: NDArray[np.intp], counts: NDArray[np.uint32], begin: NDArray[np.intp]
    ) -> None:
        rows, count = free.shape
        #: By node request class.
        self.of_node: dict[int, OfNode] = {}
        #: More ends than there are.
        self.never = len(begin)
        self._width = self.never + 1
        ends = np.repeat(np.arange(1, len(begin)), np.diff(begin))
        row, node = np.divmod(positions, count)
        there = node * self._width + ends
        now = np.arange(count) * self._width
        #: Node and number of ends of each column, as one number; ascending.
        self._keys = np.concatenate((now, there[positions < count]))
        self._keys.sort()
        self._ends = self._keys % self._width
        self._begin = self._keys.searchsorted(now)
        self._size = np.diff(self._begin, append=len(self._keys))
        #: What is free, as in other views, but with these columns.
        self.view: View = np.zeros((rows, len(self._keys)), np.uint32)
        self.view[:, self._begin] = free
        self.view[row, self._keys.searchsorted(there)] = counts
        # Sums go on from node to node, and beyond 32 bits: what is before a node's first column is subtracted again.
        np.cumsum(self.view, axis=1, dtype=np.uint32, out=self.view)
        self.view -= np.repeat(self.view[:, self._begin] - free, self._size, axis=1)

    def ends_until(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Give the number of ends after which each node is in a mask of columns, in which it stays; else `never`."""
        before = self._size - np.add.reduceat(mask, self._begin, dtype=np.intp)
        ends: NDArray[np.intp] = self._ends.take(self._begin + before, mode="clip")
        ends[before == self._size] = self.never
        return ends

    def of_columns(self, needs: Needs) -> Needs:
        """Give a request with an element for each column where it has one for each node."""
        if needs.granule is None:
            return needs
        node = self._keys // self._width
        names = ("granule", "own_granule", "together")
        return replace(needs, **{name: of[node] for name in names if (of := getattr(needs, name)) is not None})

    def columns(self, nodes: NDArray[np.intp], ended: int) -> NDArray[np.intp]:
        """Give the columns of some nodes after a number of ends."""
        return self._keys.searchsorted(nodes * self._width + ended, "right") - 1


def nodes_of_choice(picked: Sequence[tuple[int, int]]) -> int:
    """Give the bitmap of the nodes that were chosen."""
    nodes = 0
    for node, _ in picked:
        nodes |= 1 << node
    return nodes


class OfNode(NamedTuple):
    """What jobs of one node request class find in the columns of a timeline."""

    #: Whether the node could serve a part of such a job, and the largest number of processors it could have.
    feasible: NDArray[np.bool_]
    cpus: NDArray[np.integer[Any]]
    #: Number of ends after which each node could serve a part.
    able: NDArray[np.intp]


class OneNode:
    """Where jobs of one node fit that ask for as many processors, and for the same of each node.

    Args:
        timeline: What is free on each node.
        of_node: What such jobs find there.
        asked: Number of processors that they ask for.
        weight: Weight of each node.
        choose: The function of the node selection plugin.
        needs_of: Gives the evaluated request of a job.
    """

    __slots__ = ("_choose", "_count", "_enough", "_masked", "_needs_of", "_of_node", "_timeline", "_weight")

    def __init__(
        self,
        timeline: Timeline,
        of_node: OfNode,
        asked: int,
        weight: NDArray[np.int64],
        *,
        choose: Choose,
        needs_of: Callable[[PlacedJob], Needs],
    ) -> None:
        self._timeline, self._of_node = timeline, of_node
        self._enough = timeline.ends_until(of_node.feasible & (of_node.cpus >= asked))
        self._weight, self._choose, self._needs_of, self._count = weight, choose, needs_of, len(weight)
        #: Last result of `_mask`, with its argument.
        self._masked = 0, np.zeros(self._count, np.bool_)

    def _mask(self, nodes: int) -> NDArray[np.bool_]:
        known, mask = self._masked
        if nodes != known:
            mask = to_mask(nodes, self._count)
            self._masked = nodes, mask
        return mask

    def by(self, ended: int) -> int:
        """Give the nodes that suffice after a number of ends."""
        return from_mask(self._enough <= ended)

    def first(self, nodes: int) -> int:
        """Give the number of ends after which the first of some nodes suffices; more than there are: none does."""
        enough = self._enough[self._mask(nodes)]
        return int(np.minimum.reduce(enough, initial=self._timeline.never))

    def find(self, job: PlacedJob, ended: int, nodes: int, busy: int) -> int:
        """Give the node that a job gets of some nodes after a number of ends; 0: it does not fit."""
        needs = self._needs_of(job)
        able = self._of_node.able <= ended
        for allowed in needs.allowed:
            some = (able & self._mask(nodes & allowed)).nonzero()[0]
            if not len(some):
                continue
            columns = self._timeline.columns(some, ended)
            cpus = self._of_node.cpus[columns].astype(np.int64, copy=False)
            in_use, idle = to_mask(busy, self._count)[some] if busy else None, None
            if needs.least_loaded is not None:
                idle = self._timeline.view[CPU, columns] / needs.least_loaded[some]
            if picked := self._choose(needs, Candidates(some, cpus, self._weight[some], in_use, idle)):
                return nodes_of_choice(picked)
        return 0
