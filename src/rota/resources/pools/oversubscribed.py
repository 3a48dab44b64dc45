"""Whole nodes that are shared by several jobs: ``OverSubscribe=YES:n`` and ``FORCE:n`` with ``select/linear``.

Each node has a number of *shares* for jobs: the largest n of all partitions. A job that shares nodes takes one share of
each of its nodes. It gets no node that n jobs have already, whatever their partitions. An exclusive job takes all
shares of idle nodes. Memory, if it is allocated, and GRES are allocated as requested.

The nodes of a job that shares and starts now are chosen as follows:

1. Nodes are added by weight, regardless of their lines in slurm.conf, until there are enough.
2. Of these, idle nodes are chosen; if there are too few, nodes with at most one job, and so on.
3. If some of these have jobs, the job gets all nodes of the oldest running job that has as many nodes as it wants, if
   all of them are among these. Otherwise nodes are chosen as in `WholeNodeNeeds`.

For a start in the future it is enough that a node has a free share. Slurm assumes this for an exclusive job as well,
even if another job is on the node. So such a job is planned too early, and later jobs wait for it.

A resource set is a packed integer (`PackedPool`): first shares, then memory, then GRES.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rota.resources.nodeset import from_mask, indices, to_mask
from rota.resources.pools.gres import take_kind
from rota.resources.pools.packed import PackedPool
from rota.resources.requests.reader import Requests
from rota.resources.requests.request_class import RequestClass
from rota.resources.requests.whole_nodes import WholeNodeReader
from rota.resources.view import CPU, MEMORY

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from rota.model import ClusterConfig, JobSpec, Node, Partition
    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.requests.needs import Gres, Needs
    from rota.resources.requests.whole_nodes import WholeNodeNeeds
    from rota.resources.view import View

#: Row of a view in which shares are counted.
_SHARES = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SharedNodeNeeds(RequestClass):
    """An evaluated request for whole nodes that may be shared."""

    whole: WholeNodeNeeds
    #: Largest number of jobs on a node; 1: the job is exclusive.
    most: int
    #: Memory of each node, MiB.
    memory: NDArray[np.int64]
    #: GRES of each node.
    gres: tuple[Gres, ...]


class OversubscribedNodePool(PackedPool):
    """A pool of whole nodes, each for one job or shared by several.

    Args:
        config: The configuration (slurm.conf).
        nodes: The nodes with their present states.
        running: The running jobs, as a live collection.
    """

    ends_one_by_one = True

    def __init__(self, config: ClusterConfig, nodes: Sequence[Node], running: Iterable[PlacedJob]) -> None:
        self._running = running
        self._requests = Requests(
            config,
            nodes,
            counts_memory="MEMORY" in config.get("SelectTypeParameters").upper(),
            make=self._make,
        )
        self._has = self._requests.whole
        self._alone = WholeNodeReader(nodes, self._has)
        self._together = WholeNodeReader(nodes, self._has, by_line=False)
        self._max_share = {part.name: part.max_share for part in config.partitions}
        #: Number of shares of each node.
        self._most = max(self._max_share.values())
        whole = self._has.copy()
        whole[_SHARES] = self._most
        super().__init__(nodes, whole, ["share", *self._requests.kinds[1:]])

    # ---- requests ---------------------------------------------------------------------------------------------

    def _make(self, needs: Needs) -> _SharedNodeNeeds:
        if needs.memory_per_cpu:
            memory = needs.memory_per_cpu * self._has[CPU].astype(np.int64)
        elif needs.memory < 0:
            memory = self._has[MEMORY].astype(np.int64)
        else:
            memory = np.full(self._count, needs.memory, np.int64)
        reader = self._together if needs.shares else self._alone
        most = self._max_share[needs.partition] if needs.shares else 1
        return _SharedNodeNeeds(whole=reader.make(needs), most=most, memory=memory, gres=needs.gres)

    def _needs(self, job: PlacedJob) -> _SharedNodeNeeds:
        known = job.request_class
        if type(known) is not _SharedNodeNeeds:
            known = job.request_class = self._requests.read(job.spec, job.partition)
        return known

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Give the smallest number of nodes that a request needs; 0: the partition can never serve it."""
        return self._requests.read(spec, partition).whole.least_ever

    # ---- node selection ---------------------------------------------------------------------------------------

    def select(self, job: PlacedJob, avail: int, heavier: int = 0) -> int:
        """Give the part of ``avail`` that the job gets; 0: it does not fit.

        Only if the job gets none of the other nodes, it gets ``heavier`` ones.
        """
        if heavier and (found := self.select(job, self.without(avail, heavier))):
            return found
        view = self.view(avail)
        nodes = self._choose(job, view, self.up_nodes)
        return self._pack(self._needs(job), view, nodes) if nodes else 0

    def _choose(self, job: PlacedJob, view: View, open_nodes: int) -> int:
        """Give the nodes that the job gets if it starts now; 0: it does not fit.

        Args:
            job: The job.
            view: View of the available resources.
            open_nodes: Bitmap of the nodes that it may use.
        """
        needs, shares = self._needs(job), view[_SHARES]
        feasible = self._feasible(needs, view)
        # By the largest number of other jobs on the node.
        loaded = [from_mask(feasible & (shares >= self._most - jobs)) & open_nodes for jobs in range(needs.most)]
        if needs.most == 1:
            return next(filter(None, (whole.find(loaded[0]) for whole in needs.whole.tries)), 0)
        there = from_mask(shares > 0) & open_nodes
        return next(filter(None, (self._least_loaded(job, whole, loaded, there) for whole in needs.whole.tries)), 0)

    def _feasible(self, needs: _SharedNodeNeeds, view: View) -> NDArray[np.bool_]:
        """Give a mask of the nodes with enough memory and GRES for a job."""
        feasible: NDArray[np.bool_] = view[MEMORY] >= needs.memory
        for one in needs.gres:
            feasible &= view[one.row] >= one.number
        return feasible

    def _least_loaded(self, job: PlacedJob, whole: WholeNodeNeeds, loaded: list[int], there: int) -> int:
        """Choose nodes with as few jobs as possible, those of lower weight first; 0: the job does not fit.

        Args:
            job: The job.
            whole: Its request.
            loaded: Bitmaps of the feasible nodes without jobs, with at most one job, and so on.
            there: Bitmap of the nodes with free shares.
        """
        for allowed, parts in whole.allowed:
            nodes = whole.required
            for part in parts:
                nodes |= part
                enough = (nodes & there).bit_count() >= whole.wanted or part == parts[-1]
                if enough and (chosen := self._among(job, whole, [some & nodes & allowed for some in loaded])):
                    return chosen
        return 0

    def _among(self, job: PlacedJob, whole: WholeNodeNeeds, loaded: list[int]) -> int:
        """Choose among nodes without jobs, else with at most one job, and so on; 0: the job does not fit."""
        before = 0
        for number, nodes in enumerate(loaded):
            count = nodes.bit_count()
            if count == before or count < whole.least:
                continue
            before = count
            chosen = (self._of_another(job, whole, nodes) if number else 0) or whole.choose(nodes, (nodes,))
            if chosen:
                return chosen
        return 0

    def _of_another(self, job: PlacedJob, whole: WholeNodeNeeds, nodes: int) -> int:
        """Give all nodes of the oldest running job with as many nodes as wanted; 0: there is none."""
        found = [
            other
            for other in self._running
            if not other.alloc_nodes & ~nodes
            and other.alloc_nodes.bit_count() == whole.wanted
            and other.spec.contiguous == job.spec.contiguous
            and whole.choose(other.alloc_nodes, (other.alloc_nodes,)) == other.alloc_nodes
        ]
        return min(found, key=lambda other: other.job_id).alloc_nodes if found else 0

    def _pack(self, needs: _SharedNodeNeeds, view: View, nodes: int) -> int:
        """Make the resource set of a job on some nodes."""
        taken = np.zeros_like(self._whole)
        mask = to_mask(nodes, self._count)
        taken[_SHARES, mask] = 1 if needs.most > 1 else self._most
        taken[MEMORY, mask] = needs.memory[mask]
        for one in needs.gres:
            for node in indices(nodes):
                take_kind(view, taken, one, node, one.number)
        return int.from_bytes(taken.tobytes(), "little")

    def could_start(self, job: PlacedJob, avail: int) -> bool:
        """Whether ``avail`` suffices for the job: switches are not modelled here."""
        return self.select(job, avail) != 0

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is a valid allocation for the job."""
        needs, nodes = self._needs(job), self.nodes_of(resources)
        fits = any(not nodes & ~whole.usable and whole.choose(nodes, (nodes,)) == nodes for whole in needs.whole.tries)
        return fits and self._pack(needs, self.view(resources), nodes) == resources

    def find(self, job: PlacedJob, view: View, open_nodes: int, busy: int = 0) -> int:  # noqa: ARG002 - as in Slurm
        """Give the nodes that the job gets if it starts in the future; 0: it does not fit. See `NodePool.find`."""
        needs = self._needs(job)
        return needs.whole.find(self._with_free_share(needs, view) & open_nodes, by_weight=False)

    def find_now(self, job: PlacedJob, view: View, open_nodes: int) -> int:
        """Give the nodes that the job gets if it starts now; 0: it does not fit."""
        return self._choose(job, view, open_nodes) or self.find(job, view, open_nodes)

    def _with_free_share(self, needs: _SharedNodeNeeds, view: View) -> int:
        """Give the nodes with a free share, and with enough memory and GRES."""
        jobs = max(needs.most - 1, 1)
        return from_mask((view[_SHARES] >= self._most - jobs) & self._feasible(needs, view))

    def feasible_nodes(self, job: PlacedJob, view: View) -> int:
        """Give the nodes on which the job fits; 0: it does not fit on one that it names."""
        needs = self._needs(job)
        nodes = self._with_free_share(needs, view) & needs.whole.usable
        return nodes if needs.whole.required & nodes == needs.whole.required else 0

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give the identity of the evaluated request."""
        return id(self._needs(job))

    def one_node(self, job: PlacedJob, allocated: Any, free: Any) -> None:
        """Give nothing: ends are gone through one by one."""

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the nodes that could ever serve the job."""
        return self._needs(job).whole.ever_usable

    def least_nodes(self, job: PlacedJob) -> int:
        """Give the smallest number of nodes that the job needs: its units."""
        return job.units

    def class_of(self, job: HandedJob[PlacedJob]) -> Hashable:
        """Give the identity of the evaluated request, which equal requests share."""
        return id(self._needs(job._record))

    def is_whole(self, job: PlacedJob) -> bool:
        """Whether the job is exclusive."""
        return self._needs(job).most == 1

    # ---- resource sets ----------------------------------------------------------------------------------------

    def _find_nodes(self, resources: int) -> int:
        return from_mask(self.view(resources)[_SHARES] > 0)

    def size(self, resources: int) -> int:
        """Count the nodes of a resource set."""
        return self.nodes_of(resources).bit_count()

    def tres(self, resources: int) -> dict[str, int]:
        """Count the nodes of a resource set, and all processors of these."""
        nodes = self.nodes_of(resources)
        cpus = self._has[CPU]
        return {"cpu": int(cpus[to_mask(nodes, self._count)].sum()), "node": nodes.bit_count()}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count all processors of each node of a resource set."""
        return {"cpu": self._has[CPU] * to_mask(self.nodes_of(resources), self._count)}

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which the resources of some jobs are free."""
        other = super().without_jobs(jobs)
        other._running = [job for job in self._running if job not in jobs]
        return other
