"""Resource sets as packed integers, with 32 bits for each kind of resource of each node.

As all resource sets they are united with ``+``, and subsets are removed with ``-``. To be read they are unpacked into
an array with a row for each kind and a column for each node: a view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from rota.model import NodeState
from rota.resources.nodeset import from_mask, to_mask
from rota.resources.pools.allocations import AllocatedShares, Allocations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.job import PlacedJob
    from rota.resources.view import Shares, View

COUNT_BYTES = 4


class PackedPool(ABC):
    """A pool whose resource sets are packed integers.

    Args:
        nodes: The nodes with their present states.
        whole: View of all resources of the nodes.
        kinds: Names of the kinds of resource, one for each row.
    """

    interchangeable = False

    def __init__(self, nodes: Sequence[Node], whole: View, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)
        self._count = len(nodes)
        self._whole = whole
        self._bytes = whole.size * COUNT_BYTES
        self._all = int.from_bytes(whole.tobytes(), "little")
        #: Rows whose elements are bits, not counts; ``None``: there are none.
        self._bit_rows: slice | None = None
        #: Last result of `nodes_of`, with its argument.
        self._nodes_of: tuple[int, int] = (0, 0)
        #: Last result of `view`, with its argument.
        self._viewed: tuple[int, View] = (0, np.zeros_like(whole))
        self._allocations = Allocations(self.view)
        self.up_nodes = 0
        self.up = 0
        self.free = 0
        self.refresh(nodes, ())

    @abstractmethod
    def _find_nodes(self, resources: int) -> int:
        """Give the bitmap of the nodes of which a resource set has resources."""

    def view(self, resources: int) -> View:
        """Unpack a resource set into a view, which is read-only."""
        known, view = self._viewed
        if known is not resources:
            packed = resources.to_bytes(self._bytes, "little")
            view = np.frombuffer(packed, np.uint32).reshape(self._whole.shape)
            self._viewed = resources, view
        return view

    def in_order(self, jobs: Sequence[PlacedJob]) -> AllocatedShares:
        """Give the allocations of jobs, in order."""
        return AllocatedShares(jobs, self._allocations)

    def without_allocation(self, view: View, resources: int) -> View:
        """Give a view without an allocation."""
        return self._allocations.taken(view, resources)

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of the nodes of which a resource set has resources."""
        known, nodes = self._nodes_of
        if known is not resources:
            nodes = self._find_nodes(resources)
            self._nodes_of = resources, nodes
        return nodes

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets: the smaller count of each resource."""
        if b in (a, self._all):
            return a
        common, rows = np.minimum(self.view(a), self.view(b)), self._bit_rows
        if rows is not None:
            common[rows] = self.view(a)[rows] & self.view(b)[rows]
        return int.from_bytes(common.tobytes(), "little")

    def by_index(self, resources: int) -> Shares:
        """Give the amounts of each kind in a resource set, by the index of the node."""
        view, found = self.view(resources), {}
        for index in np.flatnonzero(view.any(axis=0)).tolist():
            counts = zip(self._kinds, view[:, index].tolist(), strict=True)
            found[index] = {kind: count for kind, count in counts if count}
        return found

    def from_indices(self, shares: Shares) -> int:
        """Make a resource set from amounts by the index of the node.

        Raises:
            ValueError: a node has less, or there is no such kind.
        """
        taken, rows = np.zeros_like(self._whole), {kind: row for row, kind in enumerate(self._kinds)}
        for index, kinds in shares.items():
            for kind, count in kinds.items():
                if kind not in rows or count > self._whole[rows[kind], index]:
                    raise ValueError(f"a node has not {count} of {kind}")
                taken[rows[kind], index] = count
        return int.from_bytes(taken.tobytes(), "little")

    def processor_ids(self, resources: int, node: int) -> tuple[int, ...]:  # noqa: ARG002 - nodes are shared whole
        """Give nothing: only numbers are known."""
        return ()

    def gpu_ids(self, resources: int, node: int) -> dict[str, tuple[int, ...]]:  # noqa: ARG002 - as above
        """Give nothing: only numbers are known."""
        return {}

    def problem(self, held: Sequence[int]) -> str:
        """Say whether resources are allocated twice or lost; empty: they are not."""
        used = sum((self.view(resources).astype(np.int64) for resources in held), np.zeros(self._whole.shape, np.int64))
        if (used > self._whole).any():
            return "something of a node is allocated twice"
        free = (self._whole - used) * self._up_mask
        return "" if (self.view(self.free) == free).all() else "free + allocated are not the whole"

    def without(self, avail: int, nodes: int) -> int:
        """Remove all resources of some nodes from a resource set."""
        return self._only(avail, ~to_mask(nodes & ((1 << self._count) - 1), self._count))

    def _only(self, resources: int, nodes: NDArray[np.bool_]) -> int:
        return int.from_bytes((self.view(resources) * nodes).tobytes(), "little")

    def take(self, resources: int) -> None:
        """Allocate free resources."""
        self.free -= resources
        self._allocations.of(resources)

    def release(self, resources: int) -> None:
        """Free an allocation, as far as its nodes are up."""
        self._allocations.forget(resources)
        self.free += resources if self.up == self._all else self._only(resources, self._up_mask)

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Compute which resources are up and free."""
        self._up_mask = np.array([node.state is NodeState.UP for node in nodes])
        self.up_nodes = from_mask(self._up_mask)
        self.up = int.from_bytes((self._whole * self._up_mask).tobytes(), "little")
        self.free = self.up - sum(self._only(held, self._up_mask) for held in allocated)

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which the resources of some jobs are free."""
        other = copy(self)
        for job in jobs:
            other.free += job.alloc if self.up == self._all else self._only(job.alloc, self._up_mask)
        return other
