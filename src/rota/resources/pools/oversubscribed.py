"""Whole nodes that several jobs have at a time: ``OverSubscribe=YES:n`` and ``FORCE:n`` with ``select/linear``.

A node has a number of *places*, as many as the partition with the highest n allows. A job that shares takes one place
of each of its nodes, and gets no node on which n jobs are already, whatever their partitions. One that shares with none
takes all places of nodes where nobody is. Memory, where it is given out, and GRES are taken as they are asked for.

Which nodes a job that shares gets when it starts:

1. Nodes are added weight by weight, lines of slurm.conf do not matter, until there are enough.
2. Of these it gets nodes where nobody is, else some of those with at most one job, and so on.
3. Where there are other jobs on some of these, it gets all nodes of the oldest running job that has as many as it
   wants, if these are among them. Otherwise they are chosen as `WholeNodeNeeds` says.

For a start later on it is enough that a node has a place. Of one for a job that shares with none, Slurm believes so
even if there is another job on the node: so such a job is planned too early, and those behind it wait for it.

A resource set is a packed integer (`PackedPool`): places first, then memory, then GRES.
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
    from rota.resources.job import PlacedJob
    from rota.resources.requests.needs import Gres, Needs
    from rota.resources.requests.whole_nodes import WholeNodeNeeds
    from rota.resources.view import View

#: The row of a view that tells how many places of each node are free.
_PLACES = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SharedNodeNeeds(RequestClass):
    """What jobs with one request need of nodes that they have whole, or together with others."""

    whole: WholeNodeNeeds
    #: So many jobs may have a node together; 1: it shares with none.
    most: int
    #: MiB of each node.
    memory: NDArray[np.int64]
    #: Of each node.
    gres: tuple[Gres, ...]


class OversubscribedNodePool(PackedPool):
    """Whole nodes, each for one job or for several that share.

    Args:
        config: The machine, with ``SelectTypeParameters``.
        nodes: Its nodes as they are now.
        running: The jobs that run, at any time.
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
        self._shares = {part.name: part.max_share for part in config.partitions}
        #: Places of each node.
        self._most = max(self._shares.values())
        whole = self._has.copy()
        whole[_PLACES] = self._most
        super().__init__(nodes, whole, ["place", *self._requests.kinds[1:]])

    # ---- requests ---------------------------------------------------------------------------------------------

    def _make(self, needs: Needs) -> _SharedNodeNeeds:
        if needs.memory_per_cpu:
            memory = needs.memory_per_cpu * self._has[CPU].astype(np.int64)
        elif needs.memory < 0:
            memory = self._has[MEMORY].astype(np.int64)
        else:
            memory = np.full(self._count, needs.memory, np.int64)
        reader = self._together if needs.shares else self._alone
        most = self._shares[needs.partition] if needs.shares else 1
        return _SharedNodeNeeds(whole=reader.make(needs), most=most, memory=memory, gres=needs.gres)

    def _needs(self, job: PlacedJob) -> _SharedNodeNeeds:
        known = job.request_class
        if type(known) is not _SharedNodeNeeds:
            known = job.request_class = self._requests.read(job.spec, job.partition)
        return known

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Count the nodes that the request needs at least."""
        return self._requests.read(spec, partition).whole.least_ever

    # ---- placing ----------------------------------------------------------------------------------------------

    def select(self, job: PlacedJob, avail: int) -> int:
        """Give the part of ``avail`` that the job gets, 0 when it does not fit."""
        view = self.view(avail)
        nodes = self._choose(job, view, self.up_nodes)
        return self._pack(self._needs(job), view, nodes) if nodes else 0

    def _choose(self, job: PlacedJob, view: View, open_nodes: int) -> int:
        """Give the nodes that the job gets of a view if it starts now, 0 when it does not fit."""
        needs, places = self._needs(job), view[_PLACES]
        feasible = self._feasible(needs, view)
        # By the number of jobs that a node may have before this one.
        loaded = [from_mask(feasible & (places >= self._most - jobs)) & open_nodes for jobs in range(needs.most)]
        if needs.most == 1:
            return next(filter(None, (whole.find(loaded[0]) for whole in needs.whole.tries)), 0)
        there = from_mask(places > 0) & open_nodes
        return next(filter(None, (self._least_loaded(job, whole, loaded, there) for whole in needs.whole.tries)), 0)

    def _feasible(self, needs: _SharedNodeNeeds, view: View) -> NDArray[np.bool_]:
        """Say which nodes have memory and GRES for a job."""
        feasible: NDArray[np.bool_] = view[MEMORY] >= needs.memory
        for one in needs.gres:
            feasible &= view[one.row] >= one.number
        return feasible

    def _least_loaded(self, job: PlacedJob, whole: WholeNodeNeeds, loaded: list[int], there: int) -> int:
        """Give nodes with as few jobs as may be, the lightest that are there first; 0 when it does not fit."""
        for allowed, parts in whole.allowed:
            nodes = whole.required
            for part in parts:
                nodes |= part
                enough = (nodes & there).bit_count() >= whole.wanted or part == parts[-1]
                if enough and (chosen := self._among(job, whole, [some & nodes & allowed for some in loaded])):
                    return chosen
        return 0

    def _among(self, job: PlacedJob, whole: WholeNodeNeeds, loaded: list[int]) -> int:
        """Choose among nodes with no job, else with at most one, and so on."""
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
        """Give all nodes of the oldest running job that has such nodes as one wants, 0 if there is none."""
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
        """Make the resource set of some nodes."""
        taken = np.zeros_like(self._whole)
        mask = to_mask(nodes, self._count)
        taken[_PLACES, mask] = 1 if needs.most > 1 else self._most
        taken[MEMORY, mask] = needs.memory[mask]
        for one in needs.gres:
            for node in indices(nodes):
                take_kind(view, taken, one, node, one.number)
        return int.from_bytes(taken.tobytes(), "little")

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is just what the job gets if there is nothing else."""
        needs, nodes = self._needs(job), self.nodes_of(resources)
        fits = any(not nodes & ~whole.usable and whole.choose(nodes, (nodes,)) == nodes for whole in needs.whole.tries)
        return fits and self._pack(needs, self.view(resources), nodes) == resources

    def find(self, job: PlacedJob, view: View, open_nodes: int, busy: int = 0) -> int:  # noqa: ARG002 - as in Slurm
        """Give the nodes that the job gets of a view, if only some are open; 0 when it does not fit."""
        needs = self._needs(job)
        return needs.whole.find(self._with_free_place(needs, view) & open_nodes)

    def find_now(self, job: PlacedJob, view: View, open_nodes: int) -> int:
        """Give the same if the job starts at once: then it gets nodes that it prefers, if it can."""
        return self._choose(job, view, open_nodes) or self.find(job, view, open_nodes)

    def _with_free_place(self, needs: _SharedNodeNeeds, view: View) -> int:
        """Give the nodes of a view that have room for a job."""
        jobs = max(needs.most - 1, 1)
        return from_mask((view[_PLACES] >= self._most - jobs) & self._feasible(needs, view))

    def feasible_nodes(self, job: PlacedJob, view: View) -> int:
        """Give the nodes that have room for the job, 0 if some that it names have not."""
        needs = self._needs(job)
        nodes = self._with_free_place(needs, view) & needs.whole.usable
        return nodes if needs.whole.required & nodes == needs.whole.required else 0

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Name its needs."""
        return id(self._needs(job))

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the nodes that could serve the job."""
        return self._needs(job).whole.ever_usable

    def least_nodes(self, job: PlacedJob) -> int:
        """Count units."""
        return job.units

    def class_of(self, job: PlacedJob) -> Hashable:
        """Name its needs: there is but one record of each."""
        return id(self._needs(job))

    def is_whole(self, job: PlacedJob) -> bool:
        """Whether nobody else has the job's nodes."""
        return self._needs(job).most == 1

    # ---- resource sets ----------------------------------------------------------------------------------------

    def _find_nodes(self, resources: int) -> int:
        return from_mask(self.view(resources)[_PLACES] > 0)

    def size(self, resources: int) -> int:
        """Count nodes."""
        return self.nodes_of(resources).bit_count()

    def tres(self, resources: int) -> dict[str, int]:
        """Count nodes and all of their processors."""
        nodes = self.nodes_of(resources)
        cpus = self._has[CPU]
        return {"cpu": int(cpus[to_mask(nodes, self._count)].sum()), "node": nodes.bit_count()}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count all processors of its nodes."""
        return {"cpu": self._has[CPU] * to_mask(self.nodes_of(resources), self._count)}

    def without_jobs(self, jobs: Sequence[PlacedJob]) -> Self:
        """Give a copy in which some jobs hold nothing."""
        other = super().without_jobs(jobs)
        other._running = [job for job in self._running if job not in jobs]  # noqa: SLF001 - its own
        return other
