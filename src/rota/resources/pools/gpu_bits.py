"""The GPUs of nodes, where cores are told apart. Which of them a job gets depends on its cores: `near_choice`.

GPUs of a node are numbered in the order of its ``Gres``, so that those of one type follow each other. They are bits in
rows of a view, 32 in each. Of types beyond `_MOST` GPUs of a node only the number is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.model.gres import GPU, gpus_of
from rota.resources.pools.bits import BITS, in_rows, ones, read_bits
from rota.resources.pools.near_cores import Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.node_kinds import NodeKinds
    from rota.resources.view import View

#: A configuration may say any number.
_MOST = 1024


class GpuBits:
    """The GPUs of the nodes of a machine.

    Args:
        nodes: The nodes by their kinds.
        gres_rows: Rows in which each kind of GRES is counted.
        first_row: Index of the first row of GPUs in a view.
    """

    def __init__(self, nodes: NodeKinds, gres_rows: Mapping[str, int], first_row: int) -> None:
        #: The GPUs of each node.
        self.groups = nodes.values(lambda node: tuple(_groups_of(node)))
        most = max((group.gpus.bit_length() for groups in self.groups for group in groups), default=0)
        self._count = -(-most // BITS)
        self._gres_rows = gres_rows
        #: The rows of GPUs in a view.
        self.rows = slice(first_row, first_row + self._count)
        #: All GPUs.
        self.whole: View = nodes.array(
            lambda node: in_rows(sum(one.gpus for one in _groups_of(node)), self._count), np.uint32
        )

    def names(self) -> list[str]:
        """Name the rows."""
        return [f"gpus/{number}" for number in range(self._count)]

    def by_type(self, view: View, node: int) -> dict[str, tuple[int, ...]]:
        """Give the GPUs of a node in a view, by their type; types of which it has none are left out."""
        bits, found = self.of(view, node), dict[str, int]()
        for one in self.groups[node]:
            if one.gpus & bits:
                found[one.kind] = found.get(one.kind, 0) | one.gpus & bits
        return {kind: tuple(ones(gpus)) for kind, gpus in found.items()}

    def of(self, view: View, node: int) -> int:
        """Give the GPUs of a node in a view, a bitmap."""
        return read_bits(view[self.rows, node])

    def in_columns(self, gpus: Iterable[int]) -> View:
        """Give bits of GPUs: the rows, with a column for each of the bitmaps."""
        return np.array([in_rows(bits, self._count) for bits in gpus], np.uint32).T

    def choose(self, view: View, taken: View, nodes: NDArray[np.int64]) -> View:
        """Choose the GPUs of a job, as many of each type as it has been given.

        Args:
            view: View of the available resources.
            taken: View of the allocation, in which they are counted.
            nodes: Indices of its nodes.

        Returns:
            Bits of GPUs: the rows, with a column for each node of the job.
        """
        return self.in_columns(self._choose(view, taken, node) for node in nodes.tolist())

    def _choose(self, view: View, taken: View, node: int) -> int:
        free, chosen = self.of(view, node), 0
        left = {one.kind: int(taken[self._gres_rows[one.kind], node]) for one in self.groups[node]}
        if GPU in left:  # those of a type are among them
            left[GPU] -= sum(left.values()) - left[GPU]
        for one in self.groups[node]:
            gpus = [number for number, _ in zip(ones(one.gpus & free), range(left[one.kind]), strict=False)]
            left[one.kind] -= len(gpus)
            chosen |= sum(1 << number for number in gpus)
        return chosen


def _groups_of(node: Node) -> Iterator[Group]:
    first = 0
    for kind, count, cores in gpus_of(node.gres):
        if count <= _MOST - first:
            sockets = tuple(sorted({core // node.cores_per_socket for core in cores}))
            yield Group(kind, ((1 << count) - 1) << first, sockets)
            first += count
