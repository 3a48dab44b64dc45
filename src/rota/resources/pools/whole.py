"""Nodes that are given out whole, as Slurm's ``select/linear`` does: a resource set is a bitmap of nodes."""

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
    from rota.resources.job import PlacedJob
    from rota.resources.requests.needs import Needs
    from rota.resources.view import Shares


class AllocatedNodes:
    """The nodes that jobs hold, in their order; of those that are up is known what is free when they have ended."""

    __slots__ = ("_up", "nodes")

    def __init__(self, jobs: Sequence[PlacedJob], up: int) -> None:
        self._up = up
        self.nodes = Blocks([job.alloc for job in jobs])

    def insert(self, index: int, job: PlacedJob) -> None:
        """Put in what one more job holds."""
        self.nodes.insert(index, job.alloc)

    def added(self, view: int, first: int, last: int) -> int:
        """Add what the jobs from ``first`` to before ``last`` hold to a view."""
        return view | self.nodes.union(first, last) & self._up

    def reach(self, view: int, index: int, limit: int, nodes: int, count: int) -> int:
        """Give how many must have ended at least for a job to fit that did not before."""
        there = view & nodes
        if there.bit_count() >= count:  # they are not those that it needs
            return self.nodes.next_on(index, nodes, limit) + 1
        return self.nodes.reach(index, limit, nodes & self._up, count, there)


class WholeNodePool:
    """Whole nodes: a job gets all of every node it runs on.

    Args:
        config: The machine, with ``SelectTypeParameters``.
        nodes: Its nodes as they are now.
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
        """Count the nodes that the request needs at least."""
        return self._requests.read(spec, partition).least_ever

    # ---- placing ----------------------------------------------------------------------------------------------

    def select(self, job: PlacedJob, avail: int) -> int:
        """Give whole nodes that could serve the job."""
        needs = self._needs(job)
        if needs.preferred is not None and (chosen := needs.preferred.find(avail)):
            return chosen
        return needs.find(avail)

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is just what the job gets if there is nothing else."""
        return self.select(job, resources) == resources

    def find(self, job: PlacedJob, view: int, open_nodes: int, busy: int = 0) -> int:  # noqa: ARG002 - as in Slurm
        """Give the part of a view that the job gets, if only some nodes are open; 0 when it does not fit."""
        needs = self._needs(job)
        return needs.find(view & open_nodes)

    def find_now(self, job: PlacedJob, view: int, open_nodes: int) -> int:
        """Give the same if the job starts at once: then it gets nodes that it prefers, if it can."""
        return self.select(job, view & open_nodes)

    def feasible_nodes(self, job: PlacedJob, view: int) -> int:
        """Give the nodes that could serve the job, 0 if some that it names could not."""
        needs = self._needs(job)
        nodes = view & needs.usable
        return nodes if needs.required & nodes == needs.required else 0

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give which nodes could serve the job, and which of them must."""
        needs = self._needs(job)
        return needs.usable, needs.required

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the nodes that could serve the job."""
        needs = self._needs(job)
        return needs.ever_usable

    def least_nodes(self, job: PlacedJob) -> int:
        """Count units."""
        return job.units

    def class_of(self, job: PlacedJob) -> Hashable:
        """Name its needs: there is but one record of each."""
        return id(self._needs(job))

    def is_whole(self, job: PlacedJob) -> bool:  # noqa: ARG002 - all do
        """Whether the job gets whole nodes."""
        return True

    # ---- resource sets ----------------------------------------------------------------------------------------

    def common(self, a: int, b: int) -> int:
        """Intersect."""
        return a & b

    def size(self, resources: int) -> int:
        """Count nodes."""
        return resources.bit_count()

    def nodes_of(self, resources: int) -> int:
        """Give the set itself."""
        return resources

    def tres(self, resources: int) -> dict[str, int]:
        """Count nodes and all of their processors."""
        cpus = self._requests.whole[CPU]
        return {"cpu": sum(int(cpus[index]) for index in indices(resources)), "node": resources.bit_count()}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count all processors of its nodes."""
        cpus = self._requests.whole[CPU]
        return {"cpu": cpus * to_mask(resources, len(cpus))}

    @property
    def up_nodes(self) -> int:
        """The nodes that are up."""
        return self.up

    def view(self, resources: int) -> int:
        """Give the set itself."""
        return resources

    def in_order(self, jobs: Sequence[PlacedJob]) -> AllocatedNodes:
        """Line up what jobs hold."""
        return AllocatedNodes(jobs, self.up)

    def without_allocation(self, view: int, resources: int) -> int:
        """Take what a job gets out of a view."""
        return view & ~resources

    def by_index(self, resources: int) -> Shares:
        """Give whole nodes."""
        return {index: {"node": 1} for index in indices(resources)}

    def from_indices(self, shares: Shares) -> int:
        """Give whole nodes."""
        if any(kinds != {"node": 1} for kinds in shares.values()):
            raise ValueError("nodes are given out whole")
        return sum(1 << index for index in shares)

    def problem(self, held: Sequence[int]) -> str:
        """Say whether a node is allocated twice, or lost."""
        union = 0
        for resources in held:
            if union & resources:
                return "a node is allocated twice"
            union |= resources
        return "" if self.free == self.up & ~union else "free + allocated nodes are not the whole"

    def without(self, avail: int, nodes: int) -> int:
        """Take nodes out."""
        return avail & ~nodes

    def take(self, resources: int) -> None:
        """Take nodes that are free."""
        self.free -= resources

    def release(self, resources: int) -> None:
        """Free nodes, as far as they are up."""
        self.free |= resources & self.up

    def refresh(self, nodes: Sequence[Node], allocated: Iterable[int]) -> None:
        """Work out anew what is up and free."""
        self.up = sum(1 << i for i, node in enumerate(nodes) if node.state is NodeState.UP)
        self.free = self.up & ~sum(allocated)

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which some jobs hold nothing."""
        other = copy(self)
        for job in jobs:
            other.release(job.alloc)
        return other
