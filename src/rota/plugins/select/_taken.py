"""What has been chosen for a job so far, and what is still needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.interfaces.select import Needs


class Taken:
    """The nodes chosen so far, and how many processors and nodes are still needed."""

    def __init__(self, needs: Needs, count: int) -> None:
        self.nodes: list[tuple[int, int]] = []
        self.cpus = needs.cpus
        #: Number of nodes to aim at, how many fewer will do, and bounds.
        self.count = count
        self.spare = count - needs.min_nodes
        self.least = needs.min_nodes
        self.most = needs.max_nodes or 2**31
        self.on_each = needs.on_each
        self.granule = needs.granule
        self.whole = needs.whole

    def take(self, node: int, cpus: int) -> None:
        """Choose a node with so many processors for the job; a core is kept back for each that is still needed."""
        rest = self.cpus
        if self.least > 1:
            rest -= (self.least - 1) * (1 if self.granule is None else int(self.granule[node]))
        given = cpus if self.whole or cpus <= rest else max(rest, self.on_each)
        self.nodes.append((node, given))
        self.cpus -= given
        self.count -= 1
        self.least -= 1
        self.most -= 1

    def take_all(self, nodes: list[int], cpus: list[int]) -> None:
        """Choose nodes with so many processors each."""
        self.nodes += zip(nodes, cpus, strict=True)
        self.cpus -= sum(cpus)
        self.count -= len(nodes)
        self.least -= len(nodes)
        self.most -= len(nodes)

    def suffices(self) -> bool:
        """Whether nothing more is wanted."""
        return max(self.cpus, self.count) <= 0

    def serves(self) -> bool:
        """Whether the job can do with these nodes, even if more are wanted."""
        return self.cpus <= 0 and self.count <= self.spare
