"""The machine's resources: what is up, what is free, what a job would be given.

A resource set is an ``int``, with one notation for all kinds of machine (see `rota.interfaces.controller`): disjoint
sets are joined with ``+``, a subset is taken away with ``-``. What differs is in the pools: how a job's request becomes
units, which part of a set it is given, and what two sets have in common.
"""

from __future__ import annotations

import operator
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from rota.model import NodeState
from rota.resources.pools.oversubscribed import OversubscribedNodePool
from rota.resources.pools.shared import SharedNodePool
from rota.resources.pools.whole import WholeNodePool
from rota.resources.requests.needs import first_fit

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from rota.model import ClusterConfig, JobSpec, Node, Partition
    from rota.resources.blocks import Blocks
    from rota.resources.job import PlacedJob
    from rota.resources.requests.needs import Choose
    from rota.resources.view import Shares


class Pool(Protocol):
    """What the engine asks of the machine."""

    #: Resource set that is up and not allocated.
    free: int
    #: Resource set that is up.
    up: int
    #: Whether a resource set is a number of processors; else it is a bitmap of nodes.
    interchangeable: bool

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Count the units that a request needs at least, 0 when the partition could never serve it.

        Raises:
            RequestError: it asks for what no node has, by name, feature or GRES.
        """

    def select(self, job: PlacedJob, avail: int) -> int:
        """Give the part of ``avail`` that the job gets, 0 when it does not fit."""

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is one that the job could have got: not less than it needs, and nothing in vain."""

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets."""

    def size(self, resources: int) -> int:
        """Count the units of a resource set."""

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of the nodes of which a resource set has something."""

    def least_nodes(self, job: PlacedJob) -> int:
        """Count the nodes that a job needs at least."""

    def tres(self, resources: int) -> dict[str, int]:
        """Count what a resource set has, by TRES; what is not named is not given out by the piece."""

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count the same of each node, the number of nodes apart: arrays by its place."""

    def class_of(self, job: PlacedJob) -> Hashable:
        """Give what is equal for jobs that would be placed alike."""

    def by_index(self, resources: int) -> Shares:
        """Say how much of what a resource set has of each node, by the node's place."""

    def from_indices(self, shares: Shares) -> int:
        """Make the resource set that has so much of each node.

        Raises:
            ValueError: that is not how this machine is given out.
        """

    def problem(self, held: Sequence[int]) -> str:
        """Say what is wrong when jobs hold these sets; empty: nothing."""

    def without(self, avail: int, nodes: int) -> int:
        """Take all that is of some nodes out of ``avail``."""

    def take(self, resources: int) -> None:
        """Give a job what is free."""

    def release(self, resources: int) -> None:
        """Free what a job held, as far as it is up."""

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free, after node states have changed."""

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which some of the jobs that hold resources do not."""


class Allocated(Protocol):
    """What jobs hold, in their order."""

    #: Bitmaps of the nodes of which they have something.
    nodes: Blocks

    def insert(self, index: int, job: PlacedJob) -> None:
        """Put in what one more job holds."""

    def added(self, view: Any, first: int, last: int) -> Any:
        """Give a view with what the jobs from ``first`` to before ``last`` hold added."""

    def reach(self, view: Any, index: int, limit: int, nodes: int, count: int) -> int:
        """Give a lower bound of the number of ends after which another job fits; it is larger than ``index``.

        Args:
            view: View of the resources that are free after ``index`` ends.
            index: A number of ends after which the job does not fit.
            limit: Largest number of ends that matters; if more are needed, any number above it may be given.
            nodes: Bitmap of the nodes on which the job can run.
            count: Smallest number of nodes that it needs.
        """


class NodePool(Pool, Protocol):
    """What is asked besides of a machine of nodes. A view is a resource set made ready to look at."""

    #: Bitmap of the nodes that are up.
    up_nodes: int
    #: Whether running jobs are taken to end one by one when a place is sought for a job; else some together.
    ends_one_by_one: bool

    def view(self, resources: int) -> Any:
        """Make a view. Nobody may write to it."""

    def in_order(self, jobs: Sequence[PlacedJob]) -> Allocated:
        """Line up what jobs hold."""

    def without_allocation(self, view: Any, resources: int) -> Any:
        """Take what a job gets out of a view."""

    def find(self, job: PlacedJob, view: Any, open_nodes: int, busy: int = 0) -> int:
        """Give the bitmap of the nodes that the job gets of a view, if only some are open; 0 when it does not fit.

        With ``busy``, a bitmap, it gets nodes of these before others.
        """

    def find_now(self, job: PlacedJob, view: Any, open_nodes: int) -> int:
        """Give the same if the job starts at once: then it gets nodes that it prefers, if it can."""

    def feasible_nodes(self, job: PlacedJob, view: Any) -> int:
        """Give the bitmap of the nodes that could take part of the job: `find` finds no others."""

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give what is equal for jobs that the same nodes are feasible to serve."""

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the bitmap of the nodes that could take part of the job at all."""

    def is_whole(self, job: PlacedJob) -> bool:
        """Whether the job gets whole nodes."""


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

    def select(self, job: PlacedJob, avail: int) -> int:
        """Give as many processors as the job asks for."""
        units = job.units
        return units if units <= avail else 0

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether it is as many processors as the job asks for."""
        return resources == job.units

    # Processors of one node are alike: what two sets have in common is the smaller number, which is also their size.
    # Functions in C, for schedulers ask for these several times a job.
    common = staticmethod(min)
    size = staticmethod(operator.index)

    def nodes_of(self, resources: int) -> int:
        """Give the one node."""
        return 1 if resources else 0

    def least_nodes(self, job: PlacedJob) -> int:  # noqa: ARG002 - there is but one
        """Count the one node."""
        return 1

    def tres(self, resources: int) -> dict[str, int]:
        """Count processors."""
        return {"cpu": resources, "node": 1}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count the processors of the one node."""
        return {"cpu": np.array([resources])}

    def class_of(self, job: PlacedJob) -> Hashable:
        """Give partition and processors."""
        return job.partition.name, job.units

    def by_index(self, resources: int) -> Shares:
        """Give the processors of the one node."""
        return {0: {"cpu": resources}}

    def from_indices(self, shares: Shares) -> int:
        """Give the processors of the one node."""
        if shares.keys() - {0} or any(kinds.keys() != {"cpu"} for kinds in shares.values()):
            raise ValueError("the processors of one node are given out")
        return sum(kinds["cpu"] for kinds in shares.values())

    def problem(self, held: Sequence[int]) -> str:
        """Say whether free and allocated processors are the whole."""
        if self.free < 0:
            return f"{-self.free} processors oversubscribed"
        return "free + allocated processors are not the whole" if self.up and self.free + sum(held) != self.up else ""

    def without(self, avail: int, nodes: int) -> int:
        """Leave nothing, if it is the one node."""
        return 0 if nodes & 1 else avail

    def take(self, resources: int) -> None:
        """Take processors."""
        self.free -= resources

    def release(self, resources: int) -> None:
        """Free processors."""
        if self.up:
            self.free += resources

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free."""
        self.up = self._total if nodes[0].state is NodeState.UP else 0
        self.free = self.up and self.up - sum(allocated)

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which some jobs hold nothing."""
        other = copy(self)
        for job in jobs:
            other.release(job.alloc)
        return other


def _gives_whole_nodes(config: ClusterConfig) -> bool:
    """Whether nodes are given out whole. ``SelectType`` is cons_tres if it is not set."""
    return config.get("SelectType") == "select/linear"


def shares_nodes(config: ClusterConfig) -> bool:
    """Whether nodes are given out by the piece, and so a ``select`` plugin picks them.

    On one node whose processors are all that is given out there is nothing to pick.
    """
    if _gives_whole_nodes(config):
        return False
    counts_memory = "MEMORY" in config.get("SelectTypeParameters").upper()
    return len(config.nodes) > 1 or counts_memory or bool(config.nodes[0].gres)


def make_pool(
    config: ClusterConfig, nodes: Sequence[Node], choose: Choose = first_fit, running: Iterable[PlacedJob] = ()
) -> Pool:
    """Make the pool for a machine.

    Args:
        config: The machine.
        nodes: Its nodes as they are now.
        choose: Picks nodes where jobs share them.
        running: The jobs that run, at any time.
    """
    if shares_nodes(config):
        return SharedNodePool(config, nodes, choose)
    if not _gives_whole_nodes(config):
        pool = ProcessorPool(nodes[0].cpus)
        pool.refresh(nodes, ())
        return pool
    if any(part.max_share > 1 for part in config.partitions):
        return OversubscribedNodePool(config, nodes, running)
    return WholeNodePool(config, nodes)
