"""Which GPUs of a node a job gets, where cores are told apart: the first that are free, as in Slurm's ``cons_tres``.

GPUs of a node are numbered in the order of its ``Gres``, so that those of one type follow each other. They are bits in
rows of a view, 32 in each. Of types beyond `_MOST` GPUs of a node only the number is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.model.tres import gres_counts
from rota.resources.pools.bits import BITS, in_rows, ones, read_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.view import View

_GPU = "gpu"
#: A configuration may say any number.
_MOST = 1024


class _Type(NamedTuple):
    """GPUs of one type of a node."""

    #: ``gpu``, ``gpu:a100``.
    kind: str
    #: A bitmap.
    gpus: int


class GpuBits:
    """The GPUs of the nodes of a machine.

    Args:
        nodes: The nodes.
        gres_rows: Rows in which each kind of GRES is counted.
        first_row: Index of the first row of GPUs in a view.
    """

    def __init__(self, nodes: Sequence[Node], gres_rows: Mapping[str, int], first_row: int) -> None:
        self._types = [[*_types_of(node)] for node in nodes]
        every = [sum(one.gpus for one in types) for types in self._types]
        self._count = -(-max((bits.bit_length() for bits in every), default=0) // BITS)
        self._gres_rows = gres_rows
        #: The rows of GPUs in a view.
        self.rows = slice(first_row, first_row + self._count)
        #: All GPUs.
        self.whole: View = np.array([in_rows(bits, self._count) for bits in every], np.uint32).T.reshape(
            self._count, -1
        )

    def names(self) -> list[str]:
        """Name the rows."""
        return [f"gpus/{number}" for number in range(self._count)]

    def by_type(self, view: View, node: int) -> dict[str, tuple[int, ...]]:
        """Give the GPUs of a node in a view, by their type; types of which it has none are left out."""
        bits = read_bits(view[self.rows, node])
        return {one.kind: tuple(ones(one.gpus & bits)) for one in self._types[node] if one.gpus & bits}

    def choose(self, view: View, taken: View, nodes: NDArray[np.int64]) -> View:
        """Choose the GPUs of a job, as many of each type as it has been given.

        Args:
            view: View of the available resources.
            taken: View of the allocation, in which they are counted.
            nodes: Indices of its nodes.

        Returns:
            Bits of GPUs: the rows, with a column for each node of the job.
        """
        chosen = [in_rows(self._choose(view, taken, node), self._count) for node in nodes.tolist()]
        return np.array(chosen, np.uint32).T

    def _choose(self, view: View, taken: View, node: int) -> int:
        free, chosen = read_bits(view[self.rows, node]), 0
        without_type = int(taken[self._gres_rows[_GPU], node])
        for one in sorted(self._types[node], key=lambda one: one.kind == _GPU):
            count = without_type if one.kind == _GPU else int(taken[self._gres_rows[one.kind], node])
            without_type -= count
            chosen |= sum(1 << number for number, _ in zip(ones(one.gpus & free), range(count), strict=False))
        return chosen


def _types_of(node: Node) -> Iterator[_Type]:
    first = 0
    for item in node.gres:
        counts = gres_counts(item)
        if 0 < (count := counts.get(_GPU, 0)) <= _MOST - first:
            yield _Type(max(counts, key=len), ((1 << count) - 1) << first)
            first += count
