"""Pools: which resources of the machine are up and free, and which a job would get.

A resource set is an ``int`` on all kinds of machine (see `rota.interfaces.controller`): disjoint sets are united with
``+``, and subsets are removed with ``-``. Pools differ in the units of requests, the selection of resources, and the
intersection of sets.
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
    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.pools.one_node import OneNode
    from rota.resources.requests.needs import Choose
    from rota.resources.view import Shares


class Pool(Protocol):
    """The resources of a machine."""

    #: Resource set that is up and not allocated.
    free: int
    #: Resource set that is up.
    up: int
    #: Whether a resource set is a number of processors; else it is a bitmap of nodes.
    interchangeable: bool

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Give the smallest number of units that a request needs; 0: the partition can never serve it.

        Raises:
            RequestError: the request has a node name, feature or kind of GRES that does not exist.
        """

    def select(self, job: PlacedJob, avail: int, heavier: int = 0) -> int:
        """Give the part of ``avail`` that the job gets; 0: it does not fit.

        Args:
            job: The job.
            avail: The resource set.
            heavier: Bitmap of nodes that are a little heavier than others of their weight.
        """

    def could_start(self, job: PlacedJob, avail: int) -> bool:
        """Whether ``avail`` suffices for the job; that it waits for few switches does not matter."""

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is a valid allocation for the job: neither too small nor larger than needed."""

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets."""

    def size(self, resources: int) -> int:
        """Count the units of a resource set."""

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of the nodes of which a resource set has resources."""

    def least_nodes(self, job: PlacedJob) -> int:
        """Give the smallest number of nodes that a job needs."""

    def tres(self, resources: int) -> dict[str, int]:
        """Count the TRES of a resource set by name; TRES that are not counted on this machine are left out."""

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count the TRES of each node, except nodes: an array by the index of the node for each name."""

    def processor_ids(self, resources: int, node: int) -> tuple[int, ...]:
        """Say which processors of a node (its index) are in a resource set; empty: only their number is known."""

    def gpu_ids(self, resources: int, node: int) -> dict[str, tuple[int, ...]]:
        """Say which GPUs of a node are in a resource set, by ``gpu`` or their type; empty: only numbers are known."""

    def class_of(self, job: HandedJob[PlacedJob]) -> Hashable:
        """Give the request class of a job."""

    def by_index(self, resources: int) -> Shares:
        """Give the amounts of each kind in a resource set, by the index of the node."""

    def from_indices(self, shares: Shares) -> int:
        """Make a resource set from amounts by the index of the node.

        Raises:
            ValueError: these are no amounts that can be allocated on this machine.
        """

    def problem(self, held: Sequence[int]) -> str:
        """Say what is inconsistent if these resource sets are all that is allocated; empty: nothing."""

    def without(self, avail: int, nodes: int) -> int:
        """Remove all resources of some nodes (a bitmap) from ``avail``."""

    def take(self, resources: int) -> None:
        """Allocate free resources."""

    def release(self, resources: int) -> None:
        """Free an allocation, as far as its nodes are up."""

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Compute which resources are up and free, after states of nodes have changed.

        Args:
            nodes: The nodes with their present states.
            allocated: All allocated resource sets.
        """

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which the resources of some jobs are free."""


class Allocated(Protocol):
    """The allocations of jobs, in the order of their expected ends."""

    #: Bitmaps of the nodes of each job.
    nodes: Blocks

    def insert(self, index: int, job: PlacedJob) -> None:
        """Insert a job."""

    def added(self, view: Any, first: int, last: int) -> Any:
        """Give a view plus the allocations of the jobs from ``first`` to before ``last``."""

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
    """The resources of a machine with nodes. A view is a resource set in a form that can be read quickly."""

    #: Bitmap of the nodes that are up.
    up_nodes: int
    #: Whether planning assumes that running jobs end one by one; else several are assumed to end together.
    ends_one_by_one: bool

    def view(self, resources: int) -> Any:
        """Give the view of a resource set, which is read-only."""

    def in_order(self, jobs: Sequence[PlacedJob]) -> Allocated:
        """Give the allocations of jobs, in order."""

    def without_allocation(self, view: Any, resources: int) -> Any:
        """Give a view without an allocation."""

    def find(self, job: PlacedJob, view: Any, open_nodes: int, busy: int = 0) -> int:
        """Give the bitmap of the nodes that a job gets if it starts in the future; 0: it does not fit.

        Args:
            job: The job.
            view: View of the available resources.
            open_nodes: Bitmap of the nodes that it may use.
            busy: Bitmap of nodes that are preferred, as they are in use now.
        """

    def find_now(self, job: PlacedJob, view: Any, open_nodes: int) -> int:
        """Give the bitmap of the nodes that a job gets if it starts now; only then preferred features count."""

    def feasible_nodes(self, job: PlacedJob, view: Any) -> int:
        """Give the bitmap of the nodes of a view that could serve part of the job; `find` gives no others."""

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give a value that is equal for jobs with the same feasible nodes, whatever the view."""

    def one_node(self, job: PlacedJob, allocated: Any, free: Any) -> OneNode | None:
        """Give where jobs like this one fit after ends, if it is of one node and that is known; ``None``: see `find`.

        Args:
            job: The job.
            allocated: The allocations that end, as given by `in_order`.
            free: View of what is free now.
        """

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the bitmap of the nodes that could ever serve part of the job."""

    def is_whole(self, job: PlacedJob) -> bool:
        """Whether the job gets whole nodes."""


class ProcessorPool:
    """A pool of interchangeable processors: one node, of which only processors are allocated.

    Args:
        total: Number of processors.
    """

    __slots__ = ("_total", "free", "up")

    interchangeable = True

    def __init__(self, total: int) -> None:
        self._total = total
        self.up = total
        self.free = total

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Give the number of processors that the job gets, all for the whole node; 0: it can never be served."""
        if spec.num_cpus > self._total or spec.min_nodes > 1 or not partition.nodes:
            return 0
        return self._total if spec.exclusive or partition.exclusive else spec.num_cpus

    def select(self, job: PlacedJob, avail: int, heavier: int = 0) -> int:  # noqa: ARG002 - there is one node
        """Give as many processors as the job requests; 0: it does not fit."""
        units = job.units
        return units if units <= avail else 0

    def could_start(self, job: PlacedJob, avail: int) -> bool:
        """Whether ``avail`` suffices for the job: there are no switches."""
        return self.select(job, avail) != 0

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is as many processors as the job requests."""
        return resources == job.units

    # A resource set is a number of processors: an intersection is the smaller number, and a size the number itself.
    # Schedulers call these several times for each job.

    @staticmethod
    def common(a: int, b: int) -> int:
        """Give the smaller set; ``min`` takes twice as long, for all the other ways in which it can be called."""
        return a if a < b else b

    size = staticmethod(operator.index)

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of the only node; 0 for the empty set."""
        return 1 if resources else 0

    def least_nodes(self, job: PlacedJob) -> int:  # noqa: ARG002 - there is only one node
        """Give 1, for the only node."""
        return 1

    def tres(self, resources: int) -> dict[str, int]:
        """Count the processors and the only node."""
        return {"cpu": resources, "node": 1}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count the processors of the only node."""
        return {"cpu": np.array([resources])}

    def processor_ids(self, resources: int, node: int) -> tuple[int, ...]:  # noqa: ARG002 - they are interchangeable
        """Give nothing: processors are not told apart."""
        return ()

    def gpu_ids(self, resources: int, node: int) -> dict[str, tuple[int, ...]]:  # noqa: ARG002 - there are none
        """Give nothing: there are no GPUs."""
        return {}

    def class_of(self, job: HandedJob[PlacedJob]) -> Hashable:
        """Give the request class: partition and number of processors."""
        record = job._record
        return record.partition.name, record.units

    def by_index(self, resources: int) -> Shares:
        """Give the processors of the only node."""
        return {0: {"cpu": resources}}

    def from_indices(self, shares: Shares) -> int:
        """Make a resource set from the processors of the only node.

        Raises:
            ValueError: there are other nodes or kinds.
        """
        if shares.keys() - {0} or any(kinds.keys() != {"cpu"} for kinds in shares.values()):
            raise ValueError("the processors of one node are given out")
        return sum(kinds["cpu"] for kinds in shares.values())

    def problem(self, held: Sequence[int]) -> str:
        """Say whether processors are allocated twice or lost; empty: they are not."""
        if self.free < 0:
            return f"{-self.free} processors oversubscribed"
        return "free + allocated processors are not the whole" if self.up and self.free + sum(held) != self.up else ""

    def without(self, avail: int, nodes: int) -> int:
        """Give the empty set if the only node is removed."""
        return 0 if nodes & 1 else avail

    def take(self, resources: int) -> None:
        """Allocate free processors."""
        self.free -= resources

    def release(self, resources: int) -> None:
        """Free processors."""
        if self.up:
            self.free += resources

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Compute which processors are up and free."""
        self.up = self._total if nodes[0].state is NodeState.UP else 0
        self.free = self.up and self.up - sum(allocated)

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which the processors of some jobs are free."""
        other = copy(self)
        for job in jobs:
            other.release(job.alloc)
        return other


def _gives_whole_nodes(config: ClusterConfig) -> bool:
    """Whether whole nodes are allocated. The default of ``SelectType`` is cons_tres."""
    return config.get("SelectType") == "select/linear"


def shares_nodes(config: ClusterConfig) -> bool:
    """Whether jobs can share nodes, so that a ``select`` plugin chooses the nodes.

    With only one node, of which only processors are allocated, there is nothing to choose.
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
        config: The configuration (slurm.conf).
        nodes: The nodes with their present states.
        choose: The function of the node selection plugin, for shared nodes.
        running: The running jobs, as a live collection.
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
