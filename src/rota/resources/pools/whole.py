"""Whole nodes, as with Slurm's ``select/linear``: a resource set is a bitmap of nodes."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from rota.model import NodeState
from rota.resources.blocks import Blocks
from rota.resources.nodeset import indices, to_mask
from rota.resources.requests.reader import Requests
from rota.resources.requests.whole_nodes import WholeNodeNeeds, WholeNodeReader
from rota.resources.view import CPU

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rota.model import ClusterConfig, JobSpec, Node, Partition
    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.requests.needs import Needs
    from rota.resources.view import Shares


class AllocatedNodes:
    """The allocations of jobs that have whole nodes, in order; see `Allocated`.

    Args:
        jobs: The jobs.
        up: Bitmap of the nodes that are up.
    """

    __slots__ = ("_up", "nodes")

    def __init__(self, jobs: Sequence[PlacedJob], up: int) -> None:
        self._up = up
        self.nodes = Blocks([job.alloc for job in jobs])

    def insert(self, index: int, job: PlacedJob) -> None:
        """Insert a job."""
        self.nodes.insert(index, job.alloc)

    def added(self, view: int, first: int, last: int) -> int:
        """Give a view plus the allocations of the jobs from ``first`` to before ``last``."""
        return view | self.nodes.union(first, last) & self._up

    def reach(self, view: int, index: int, limit: int, nodes: int, count: int) -> int:
        """Give a lower bound of the number of ends after which another job fits."""
        there = view & nodes
        if there.bit_count() >= count:  # there are enough nodes, but not the right ones
            return self.nodes.next_on(index, nodes, limit) + 1
        return self.nodes.reach(index, limit, nodes & self._up, count, there)


class WholeNodePool:
    """A pool of whole nodes.

    Args:
        config: The configuration (slurm.conf).
        nodes: The nodes with their present states.
    """

    __slots__ = ("_reader", "_requests", "free", "up")

    interchangeable = False
    ends_one_by_one = True

    def __init__(self, config: ClusterConfig, nodes: Sequence[Node]) -> None:
        counts_memory = "MEMORY" in config.get("SelectTypeParameters").upper()
        self._requests = Requests(config, nodes, counts_memory=counts_memory, make=self._make)
        self._reader = WholeNodeReader(nodes, self._requests.whole)
        self.up = 0
        self.free = 0
        self.refresh(nodes, ())

    # ---- requests ---------------------------------------------------------------------------------------------

    def _make(self, needs: Needs) -> WholeNodeNeeds:
        return self._reader.make(needs)

    def _needs(self, job: PlacedJob) -> WholeNodeNeeds:
        known = job.request_class
        if type(known) is not WholeNodeNeeds:
            known = job.request_class = self._requests.read(job.spec, job.partition)
        return known

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Give the smallest number of nodes that a request needs; 0: the partition can never serve it."""
        return self._requests.read(spec, partition).least_ever

    # ---- node selection ---------------------------------------------------------------------------------------

    def select(self, job: PlacedJob, avail: int, heavier: int = 0) -> int:
        """Give the nodes that the job gets if it starts now; 0: it does not fit."""
        needs = self._needs(job)
        if needs.preferred is not None and (chosen := needs.preferred.find(avail, heavier=heavier)):
            return chosen
        return needs.find(avail, heavier=heavier)

    def could_start(self, job: PlacedJob, avail: int) -> bool:
        """Whether ``avail`` suffices for the job: switches are not modelled here."""
        return self.select(job, avail) != 0

    def processor_ids(self, resources: int, node: int) -> tuple[int, ...]:  # noqa: ARG002 - nodes are whole
        """Give nothing: jobs have all processors of their nodes."""
        return ()

    def gpu_ids(self, resources: int, node: int) -> dict[str, tuple[int, ...]]:  # noqa: ARG002 - nodes are whole
        """Give nothing: jobs have all GPUs of their nodes."""
        return {}

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether some nodes are a valid allocation for the job."""
        return self.select(job, resources) == resources

    def find(self, job: PlacedJob, view: int, open_nodes: int, busy: int = 0) -> int:  # noqa: ARG002 - as in Slurm
        """Give the nodes that the job gets if it starts in the future; 0: it does not fit. See `NodePool.find`.

        As in Slurm, weights matter only when it starts.
        """
        return self._needs(job).find(view & open_nodes, by_weight=False)

    def find_now(self, job: PlacedJob, view: int, open_nodes: int) -> int:
        """Give the nodes that the job gets if it starts now; 0: it does not fit."""
        return self.select(job, view & open_nodes)

    def feasible_nodes(self, job: PlacedJob, view: int) -> int:
        """Give the nodes of a view that could serve the job; 0: one that it names could not."""
        needs = self._needs(job)
        nodes = view & needs.usable
        return nodes if needs.required & nodes == needs.required else 0

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give the bitmaps of the usable nodes and of the required nodes."""
        needs = self._needs(job)
        return needs.usable, needs.required

    def one_node(self, job: PlacedJob, allocated: Any, free: Any) -> None:
        """Give nothing: ends are gone through one by one."""

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the nodes that could ever serve the job."""
        needs = self._needs(job)
        return needs.ever_usable

    def least_nodes(self, job: PlacedJob) -> int:
        """Give the smallest number of nodes that the job needs: its units."""
        return job.units

    def class_of(self, job: HandedJob[PlacedJob]) -> Hashable:
        """Give the identity of the evaluated request, which equal requests share."""
        return id(self._needs(job._record))

    def is_whole(self, job: PlacedJob) -> bool:  # noqa: ARG002 - all do
        """Give ``True``: all jobs get whole nodes."""
        return True

    # ---- resource sets ----------------------------------------------------------------------------------------

    def common(self, a: int, b: int) -> int:
        """Intersect two sets of nodes."""
        return a & b

    def size(self, resources: int) -> int:
        """Count the nodes of a set."""
        return resources.bit_count()

    def nodes_of(self, resources: int) -> int:
        """Give the set itself, which is a bitmap."""
        return resources

    def tres(self, resources: int) -> dict[str, int]:
        """Count the nodes of a set, and all processors of these."""
        cpus = self._requests.whole[CPU]
        return {"cpu": sum(int(cpus[index]) for index in indices(resources)), "node": resources.bit_count()}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count all processors of each node of a set."""
        cpus = self._requests.whole[CPU]
        return {"cpu": cpus * to_mask(resources, len(cpus))}

    @property
    def up_nodes(self) -> int:
        """Bitmap of the nodes that are up."""
        return self.up

    def view(self, resources: int) -> int:
        """Give the set itself, which is its own view."""
        return resources

    def in_order(self, jobs: Sequence[PlacedJob]) -> AllocatedNodes:
        """Give the allocations of jobs, in order."""
        return AllocatedNodes(jobs, self.up)

    def without_allocation(self, view: int, resources: int) -> int:
        """Give a view without an allocation."""
        return view & ~resources

    def by_index(self, resources: int) -> Shares:
        """Give 1 node for each index."""
        return {index: {"node": 1} for index in indices(resources)}

    def from_indices(self, shares: Shares) -> int:
        """Make a set from the indices of nodes.

        Raises:
            ValueError: the amounts are not whole nodes.
        """
        if any(kinds != {"node": 1} for kinds in shares.values()):
            raise ValueError("nodes are given out whole")
        return sum(1 << index for index in shares)

    def problem(self, held: Sequence[int]) -> str:
        """Say whether a node is allocated twice or lost; empty: none is."""
        union = 0
        for resources in held:
            if union & resources:
                return "a node is allocated twice"
            union |= resources
        return "" if self.free == self.up & ~union else "free + allocated nodes are not the whole"

    def without(self, avail: int, nodes: int) -> int:
        """Remove nodes from a set."""
        return avail & ~nodes

    def take(self, resources: int) -> None:
        """Allocate free nodes."""
        self.free -= resources

    def release(self, resources: int) -> None:
        """Free allocated nodes, as far as they are up."""
        self.free |= resources & self.up

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Compute which nodes are up and free."""
        self.up = sum(1 << i for i, node in enumerate(nodes) if node.state is NodeState.UP)
        self.free = self.up & ~sum(allocated)

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which the nodes of some jobs are free."""
        other = copy(self)
        for job in jobs:
            other.release(job.alloc)
        return other
