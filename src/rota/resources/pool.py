"""The machine's resources: what is up, what is free, what a job would be given.

A resource set is an ``int``, with one notation for both kinds of machine (see `rota.interfaces.controller`): disjoint
sets are joined with ``+``, a subset is taken away with ``-``. What differs is here: how a job's request becomes units,
which part of a set it is given, and what two sets have in common.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from rota.model import NodeState
from rota.resources.nodeset import lowest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.model import Job, JobSpec, Node, Partition


class Pool(Protocol):
    """What the engine asks of the machine."""

    #: Resource set that is up and not allocated.
    free: int
    #: Resource set that is up.
    up: int
    #: Whether a resource set is a number of processors; else it is a bitmap of nodes.
    interchangeable: bool

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Count the units that a request needs at least, 0 when the partition could never serve it."""

    def select(self, job: Job, avail: int) -> int:
        """Give the part of ``avail`` that the job gets, 0 when it does not fit."""

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets."""

    def size(self, resources: int) -> int:
        """Count the units of a resource set."""

    def without_partition(self, avail: int, partition: Partition) -> int:
        """Take all of a partition's nodes out of ``avail``."""

    def release(self, resources: int) -> None:
        """Free what a job held, as far as it is up."""

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free, after node states have changed."""


class ProcessorPool:
    """Interchangeable processors: one node whose processors are handed out one by one."""

    __slots__ = ("_total", "free", "up")

    interchangeable = True

    def __init__(self, total: int) -> None:
        self._total = total
        self.up = total
        self.free = total

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Count processors."""
        fits = spec.num_cpus <= self._total and spec.min_nodes <= 1 and partition.nodes
        return spec.num_cpus if fits else 0

    def select(self, job: Job, avail: int) -> int:
        """Give as many processors as the job asks for."""
        units = job.units
        return units if units <= avail else 0

    def common(self, a: int, b: int) -> int:
        """Give the smaller number."""
        return a if a < b else b

    def size(self, resources: int) -> int:
        """Count processors."""
        return resources

    def without_partition(self, avail: int, partition: Partition) -> int:  # noqa: ARG002 - it is the whole machine
        """Leave nothing."""
        return 0

    def release(self, resources: int) -> None:
        """Free processors."""
        if self.up:
            self.free += resources

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free."""
        self.up = self._total if nodes[0].state is NodeState.UP else 0
        self.free = self.up and self.up - sum(allocated)


class WholeNodePool:
    """Whole nodes: a job gets all of every node it runs on, lightest nodes first."""

    __slots__ = ("_by_size", "_by_weight", "_capacity", "_cpus", "free", "up")

    interchangeable = False

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._cpus = [node.cpus for node in nodes]
        #: Nodes of one weight and size as (processors a node, bitmap), in the order in which jobs are given them.
        self._by_weight = _classes(nodes, lambda node: (node.weight, -node.cpus))
        self._by_size = _classes(nodes, lambda node: (-node.cpus, node.weight))
        #: Partition bitmap to processors of its n largest nodes, for n = 1, 2, ...
        self._capacity: dict[int, list[int]] = {}
        self.up = 0
        self.free = 0
        self.refresh(nodes, ())

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Count the nodes that the request needs at least."""
        capacity = self._capacity.get(partition.nodes)
        if capacity is None:
            sizes = sorted((n for i, n in enumerate(self._cpus) if partition.nodes >> i & 1), reverse=True)
            capacity = self._capacity[partition.nodes] = list(accumulate(sizes))
        nodes = max(bisect_left(capacity, spec.num_cpus) + 1, spec.min_nodes, partition.min_nodes)
        return nodes if nodes <= len(capacity) else 0

    def select(self, job: Job, avail: int) -> int:
        """Give whole nodes of the job's partition."""
        candidates = avail & job.partition.nodes
        if candidates.bit_count() < job.units:
            return 0
        chosen = _take(self._by_weight, job, candidates)
        limit = job.partition.max_nodes
        if limit is not None and chosen.bit_count() > limit:
            chosen = _take(self._by_size, job, candidates)
            return chosen if chosen.bit_count() <= limit else 0
        return chosen

    def common(self, a: int, b: int) -> int:
        """Intersect."""
        return a & b

    def size(self, resources: int) -> int:
        """Count nodes."""
        return resources.bit_count()

    def without_partition(self, avail: int, partition: Partition) -> int:
        """Take the partition's nodes out."""
        return avail & ~partition.nodes

    def release(self, resources: int) -> None:
        """Free nodes, as far as they are up."""
        self.free |= resources & self.up

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free."""
        self.up = sum(1 << i for i, node in enumerate(nodes) if node.state is NodeState.UP)
        self.free = self.up & ~sum(allocated)


def make_pool(nodes: Sequence[Node]) -> Pool:
    """Choose the pool for a machine: one node is shared by processor, several are handed out whole."""
    if len(nodes) == 1:
        pool = ProcessorPool(nodes[0].cpus)
        pool.refresh(nodes, ())
        return pool
    return WholeNodePool(nodes)


def _classes(nodes: Sequence[Node], order: Callable[[Node], tuple[int, int]]) -> list[tuple[int, int]]:
    """Group like nodes into bitmaps, in ``order``."""
    bitmaps: dict[tuple[int, int], int] = {}
    for i, node in sorted(enumerate(nodes), key=lambda item: order(item[1])):
        key = (node.weight, node.cpus)
        bitmaps[key] = bitmaps.get(key, 0) | 1 << i
    return [(cpus, bitmap) for (_, cpus), bitmap in bitmaps.items()]


def _take(classes: Sequence[tuple[int, int]], job: Job, candidates: int) -> int:
    """Take nodes class by class until processors and nodes suffice; 0 when they do not."""
    chosen = 0
    cpus, nodes = job.num_cpus, job.units
    for cpus_per_node, bitmap in classes:
        here = candidates & bitmap
        if not here:
            continue
        count = min(max(-(-cpus // cpus_per_node), nodes), here.bit_count())
        chosen |= lowest(here, count)
        cpus -= count * cpus_per_node
        nodes -= count
        if cpus <= 0 and nodes <= 0:
            return chosen
    return 0
