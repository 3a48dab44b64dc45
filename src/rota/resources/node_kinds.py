"""Kinds of nodes: a machine has tens of thousands of nodes, but few kinds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.model import Node

T = TypeVar("T")


class NodeKinds:
    """The nodes of a machine by their kinds: what follows from `rota.model.Node.kind` is computed once for each.

    Args:
        nodes: The nodes.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        numbers: dict[object, int] = {}
        of_nodes = [numbers.setdefault(node.kind, len(numbers)) for node in nodes]
        #: The kind of each node: an index of `examples`.
        self._numbers = np.array(of_nodes, np.int64)
        examples = dict(zip(reversed(of_nodes), reversed(nodes), strict=True))
        #: A node of each kind.
        self.examples = [examples[number] for number in range(len(numbers))]

    def values(self, of: Callable[[Node], T]) -> list[T]:
        """Give a value of each node."""
        values = [of(node) for node in self.examples]
        return [values[number] for number in self._numbers.tolist()]

    def array(self, of: Callable[[Node], object], dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
        """Give an array of a whole number, or of a row of as many, of each node, which are the last axis."""
        return np.array([of(node) for node in self.examples], dtype)[self._numbers].T
