"""The network of a cluster as a tree: ``topology/tree``.

A switch is above those that hang on it. Levels count from the switches that nodes hang on, the leaves, which are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.model import Node, Switch


class Switches:
    """The switches, in the order of topology.conf; arrays have an element, a row or a column for each.

    Args:
        switches: The switches, a tree or several.
        nodes: The nodes, in the order of their bits. Those that hang on no switch are never chosen.
    """

    def __init__(self, switches: Sequence[Switch], nodes: Sequence[Node]) -> None:
        place = {switch.name: number for number, switch in enumerate(switches)}
        leaf = {node: place[switch.name] for switch in switches for node in switch.nodes}
        #: Index of the switch on which each node hangs; -1: none. It has an element for each node.
        self.leaf_of: NDArray[np.int64] = np.array([leaf.get(node.name, -1) for node in nodes], np.int64)
        #: Index of the switch above each; of the topmost, its own.
        self.above = list(range(len(switches)))
        for switch in switches:
            for below in switch.switches:
                self.above[place[below]] = place[switch.name]
        chains = [self._chain(number) for number in range(len(switches))]
        self.level = [0] * len(switches)
        #: Whether the second is the first switch, or below it.
        self.covers: NDArray[np.bool_] = np.zeros((len(switches), len(switches)), np.bool_)
        for chain in chains:
            self.covers[chain, chain[0]] = True
            for height, number in enumerate(chain):
                self.level[number] = max(self.level[number], height)
        topmost = [number for number, above in enumerate(self.above) if above == number]
        #: The switch above all others; ``None``: there are several trees.
        self.root = topmost[0] if len(topmost) == 1 else None
        #: Number of steps from one switch to another; infinite where no way leads there.
        self.hops: NDArray[np.float64] = np.array([[_hops(one, other) for other in chains] for one in chains])

    def _chain(self, number: int) -> list[int]:
        """Give a switch and all above it."""
        chain = [number]
        while self.above[chain[-1]] != chain[-1]:
            chain.append(self.above[chain[-1]])
        return chain

    def below(self, number: int, leaves: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each of some leaves, as in ``leaf_of``, whether it is a switch or below it."""
        found: NDArray[np.bool_] = (leaves >= 0) & self.covers[number, leaves]
        return found

    def leaves(self, nodes: Sequence[int]) -> int:
        """Count the leaf switches on which some nodes hang."""
        return len(np.unique(self.leaf_of[nodes]))

    def count(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the nodes on each switch and below it."""
        leaves = self.leaf_of[nodes]
        counts: NDArray[np.int64] = self.covers @ np.bincount(leaves[leaves >= 0], minlength=len(self.above))
        return counts


def _hops(one: list[int], other: list[int]) -> float:
    """Give the number of steps between two switches, each with all above it."""
    for steps, number in enumerate(one):
        if number in other:
            return steps + other.index(number)
    return np.inf
