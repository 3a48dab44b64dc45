"""Shared nodes: processors, memory and GRES are allocated (``select/cons_tres``).

A resource set is a packed integer (`PackedPool`): first processors, then memory, then GRES; at the end, where cores are
told apart, a bit for each core and GPU.

The ``select`` plugin chooses the nodes of a job: `Choose`.

Over 400 lines: one class, whose cores, rows and GRES have modules of their own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.resources.nodeset import from_mask, to_mask
from rota.resources.pools import gres
from rota.resources.pools.core_bits import CoreBits
from rota.resources.pools.cores import Cores
from rota.resources.pools.gpu_bits import GpuBits
from rota.resources.pools.near_cores import MOST_NEAR
from rota.resources.pools.near_gpus import NearGpus, Offers
from rota.resources.pools.one_node import OfNode, OneNode, nodes_of_choice
from rota.resources.pools.packed import PackedPool
from rota.resources.pools.processors import most_processors
from rota.resources.pools.rows import CoreRows
from rota.resources.requests.needs import ALL, Candidates, Needs, asked_of_node
from rota.resources.requests.reader import Requests
from rota.resources.view import CPU, MEMORY

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from rota.model import ClusterConfig, JobSpec, Node, Partition
    from rota.resources.job import HandedJob, PlacedJob
    from rota.resources.pools.allocations import AllocatedShares
    from rota.resources.pools.near_cores import Usable
    from rota.resources.requests.needs import Choose
    from rota.resources.view import View

    #: Row of processors that a job gets, and index and number of processors of each node.
    Picked = tuple[int, list[tuple[int, int]]]
    #: Rows of processors to try, each with the bitmap of feasible nodes, the processors available on each node and,
    #: where GPUs are told apart, the GPUs.
    Tries = list[tuple[int, int, NDArray[np.integer[Any]], Offers | None]]

#: Largest number of elements in cached masks, and in cached sets of nodes; and how many an entry is worth by itself.
_MOST_KNOWN_NODES, _ENTRY = 2_000_000, 200
#: Largest number of node request classes.
_MOST_KNOWN = 10_000


class SharedNodePool(PackedPool):
    """A pool of shared nodes.

    Args:
        config: The configuration (slurm.conf).
        nodes: The nodes with their present states.
        choose: The function of the node selection plugin.
    """

    ends_one_by_one = False

    def __init__(self, config: ClusterConfig, nodes: Sequence[Node], choose: Choose) -> None:
        self._choose = choose
        parameters = config.get("SelectTypeParameters", "CR_Core_Memory").upper()
        #: Whether memory is allocated; else it does not matter.
        self._counts_memory = "MEMORY" in parameters
        self._requests = Requests(config, nodes, counts_memory=self._counts_memory, make=self._on_feasible_nodes)
        of_nodes = self._requests.node_kinds
        #: Row of each kind of GRES.
        self._gres_rows = self._requests.gres_rows
        cpus = self._requests.whole[CPU]
        self._rows = CoreRows(config.partitions, cpus, len(self._requests.whole))
        shared = self._rows.count > 0
        self._cores = Cores(of_nodes, parameters, shared=shared)
        #: The same for partitions with ``SelectTypeParameters`` of their own.
        own = {part.name: part.select_parameters for part in config.partitions if part.select_parameters}
        self._cores_of = {name: Cores(of_nodes, text, shared=shared) for name, text in own.items()}
        #: Index of the first row of shared cores, after the GRES; and of the row that counts the processors of cores
        #: that are nobody's: that of processors, or one of its own if a part of such a core may count.
        self._first_row, self._core_row = len(self._requests.whole), CPU
        cores, kinds = [cpus] * self._rows.count, [*self._requests.kinds, *self._rows.names()]
        if self._cores.granular and not self._cores.by_core and not self._rows.count:
            self._core_row = self._first_row
            cores, kinds = [cpus], [*kinds, "core"]
        #: Rows that count the processors which the jobs of a partition may still have of a node.
        self._bounded: dict[str, int] = {}
        for part in config.partitions:
            if part.max_cpus_per_node:
                self._bounded[part.name] = len(kinds)
                cores, kinds = [*cores, np.minimum(cpus, part.max_cpus_per_node)], [*kinds, f"cpu/{part.name}"]
        #: Which cores are free; ``None``: only their number is known.
        self._bits: CoreBits | None = None
        if config.tells_cores_apart() and not shared:
            self._bits = CoreBits(of_nodes, len(kinds))
            cores, kinds = [*cores, *self._bits.whole], [*kinds, *self._bits.names()]
            for one in (self._cores, *self._cores_of.values()):
                one.bits = self._bits
        #: Which GPUs are free; ``None``: only their number is known.
        self._gpus: GpuBits | None = None
        if self._bits is not None and "gpu" in self._gres_rows:
            self._gpus = GpuBits(of_nodes, self._gres_rows, len(kinds))
            cores, kinds = [*cores, *self._gpus.whole], [*kinds, *self._gpus.names()]
        #: Which GPUs are near which cores; ``None``: they are not told apart.
        self._near: NearGpus | None = None
        if self._bits is not None and self._gpus is not None:
            self._near = NearGpus(self._bits, self._gpus, self._gres_rows, self._requests.whole)
        super().__init__(nodes, np.vstack((self._requests.whole, *cores)), kinds)
        if self._bits is not None:  # those of GPUs come last
            self._bit_rows = slice(self._bits.rows.start, len(kinds))
        self._weight = of_nodes.array(lambda node: node.weight)
        #: Numbers of node request classes.
        self._node_request_classes: dict[Hashable, int] = {}
        self._numbers = count()
        #: Cached results of `_tries`, by node request class and id of the view, which is kept so that its id is not
        #: used again.
        self._known_tries: dict[tuple[int, int], tuple[View, Tries]] = {}
        #: Cached needs with a larger number of nodes; see `gres.pick`.
        self._with_more_nodes: dict[tuple[Needs, int], Needs] = {}
        #: Cached results of `_in_arrays`.
        self._known_nodes: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    # ---- requests ---------------------------------------------------------------------------------------------

    def needs(self, spec: JobSpec, partition: Partition) -> Needs:
        """Evaluate a request; equal requests give the same object.

        Raises:
            RequestError: a feature, node or kind of GRES does not exist.
        """
        return self._requests.read(spec, partition)

    def _on_feasible_nodes(self, needs: Needs) -> Needs:
        """Restrict the allowed nodes to those that could ever serve part of the job."""
        if needs.preferred is not None:
            needs = replace(needs, preferred=self._on_feasible_nodes(needs.preferred))
        cores = self._cores_of.get(needs.partition, self._cores)
        if cores.granular:
            used = cores.used(needs.threads_per_core, needs.per_task, needs.sockets)
            own = cores.used(needs.own_threads, needs.per_task, None)
            needs = replace(needs, granule=used, own_granule=own, together=cores.granule)
        if needs.contiguous and (needs.spread or needs.least_loaded is not None):
            needs = replace(needs, contiguous=False)  # as in Slurm, which then looks at each node by itself
        needs = replace(needs, one_node=self._is_of_one_node(needs))
        feasible = from_mask(self._feasible(needs, self._whole, self._whole[CPU])[0])
        asked = asked_of_node(needs)
        if self._near is not None and self._near.matter(needs):
            asked += needs.gres_tasks, needs.enforces_binding, needs.tasks_per_node
        node_request_class = self._node_request_classes.get(asked)
        if node_request_class is None:
            if len(self._node_request_classes) >= _MOST_KNOWN:  # users can make up any number of requests
                self._node_request_classes.clear()
            node_request_class = self._node_request_classes[asked] = next(self._numbers)
        return replace(
            needs, allowed=tuple(nodes & feasible for nodes in needs.allowed), node_request_class=node_request_class
        )

    def _is_of_one_node(self, needs: Needs) -> bool:
        """Whether a job is of one node, and nodes differ for it by their cores and by what is free."""
        of_gres = needs.gres_per_job or needs.gres_per_task or needs.gres_per_socket or needs.cpus_per_gpu
        of_gres = of_gres or (self._near is not None and self._near.matter(needs))
        of_nodes = needs.whole or needs.memory < 0 or needs.sockets is not None or needs.partition in self._bounded
        is_one = needs.max_nodes == 1 or (needs.req_nodes == 1 and needs.cpus <= needs.per_task)
        return is_one and not (of_gres or of_nodes or needs.leaves or needs.preferred or self._rows.count)

    def units(self, spec: JobSpec, partition: Partition) -> int:
        """Give the number of requested processors; 0: the partition can never serve the request."""
        needs = self.needs(spec._replace(switches=0) if spec.switches else spec, partition)
        every = (1 << self._count) - 1
        wanted = needs.preferred or needs  # as in Slurm, which does not check whether other nodes would suffice
        return needs.cpus if self._pick(wanted, self._whole, every) else 0

    # ---- node selection ---------------------------------------------------------------------------------------

    def select(self, job: PlacedJob, avail: int, heavier: int = 0) -> int:
        """Give the part of ``avail`` that the job gets; 0: it does not fit."""
        if not avail:
            return 0
        needs, view = self._needs(job), self.view(avail)
        picked = self._pick_now(needs, view, self.up_nodes, heavier)
        return self._pack(needs, view, *picked) if picked else 0

    def could_start(self, job: PlacedJob, avail: int) -> bool:
        """Whether a resource set suffices for the job; that it waits for few switches does not matter."""
        needs = self.needs(job.spec._replace(switches=0), job.partition) if job.switches else self._needs(job)
        return self._pick_now(needs, self.view(avail), self.up_nodes) is not None

    def suffices(self, job: PlacedJob, resources: int) -> bool:
        """Whether a resource set is a valid allocation for the job."""
        needs, view = self._needs(job), self.view(resources)
        for row in {row for row, _ in self._rows_of(needs, view) if view[row].any()}:
            picked = self._picked(needs, view, row)
            if any(one.would_have(picked) for one in (needs.preferred, needs) if one):
                packed = self._pack(needs, view, row, picked)
                # One that has cores of each socket whose GPUs it has may have more than it could use.
                return packed == resources or (needs.enforces_binding and self.common(packed, resources) == packed)
        return False

    def _picked(self, needs: Needs, view: View, row: int) -> list[tuple[int, int]]:
        """Give index and number of used processors of each node in an allocation."""
        nodes = view[row].nonzero()[0]
        cpus = most = view[row, nodes].astype(np.int64)
        if needs.tasks_per_node:
            most = np.minimum(most, max(needs.tasks_per_node * needs.per_task, needs.on_each))
        for one in needs.gres_per_task:  # the cores may suffice for more tasks
            most = np.minimum(most, gres.processors_of_tasks(needs, view, one)[nodes])
        if needs.whole:
            cpus = self._feasible(needs, view, view[row])[1].astype(np.int64)[nodes]
        elif needs.granule is not None and needs.together is not None and self._core_row == CPU:
            cores = self._cores_of.get(needs.partition, self._cores)
            cpus = cores.used_of(needs, nodes, cpus // needs.together[nodes], most)
        return list(zip(nodes.tolist(), np.minimum(cpus, most).tolist(), strict=True))

    def find_now(self, job: PlacedJob, view: View, open_nodes: int) -> int:
        """Give the nodes that the job gets if it starts now; 0: it does not fit."""
        picked = self._pick_now(self._needs(job), view, open_nodes)
        return nodes_of_choice(picked[1]) if picked else 0

    def find(self, job: PlacedJob, view: View, open_nodes: int, busy: int = 0) -> int:
        """Give the nodes that the job gets if it starts in the future; 0: it does not fit. See `NodePool.find`."""
        picked = self._pick(self._needs(job), view, open_nodes, busy)
        return nodes_of_choice(picked[1]) if picked else 0

    def feasible_nodes(self, job: PlacedJob, view: View) -> int:
        """Give the nodes of a view that could serve part of the job."""
        return reduce(or_, (feasible for _, feasible, *_ in self._tries(self._needs(job), view)))

    def node_request_class(self, job: PlacedJob) -> Hashable:
        """Give the number of the job's node request class, of jobs of one node with that of their processors."""
        needs = self._needs(job)
        return (needs.node_request_class, needs.cpus) if needs.one_node else needs.node_request_class

    def one_node(self, job: PlacedJob, allocated: AllocatedShares, free: View) -> OneNode | None:
        """Give where jobs like this one fit after ends; ``None``: that is not known for it."""
        needs = self._needs(job)
        if not needs.one_node:
            return None
        timeline = allocated.timeline(free)
        of_node = timeline.of_node.get(needs.node_request_class)
        if of_node is None:
            feasible, cpus = self._feasible(timeline.of_columns(needs), timeline.view, timeline.view[self._core_row])
            of_node = OfNode(feasible, cpus, timeline.ends_until(feasible))
            timeline.of_node[needs.node_request_class] = of_node
        return OneNode(timeline, of_node, needs.cpus, self._weight, choose=self._choose, needs_of=self._needs)

    def ever_feasible_nodes(self, job: PlacedJob) -> int:
        """Give the nodes that could ever serve part of the job."""
        needs = self._needs(job)
        return reduce(or_, needs.allowed + needs.preferred.allowed if needs.preferred else needs.allowed)

    def is_whole(self, job: PlacedJob) -> bool:
        """Whether the job gets whole nodes."""
        return self._needs(job).whole

    def _needs(self, job: PlacedJob) -> Needs:
        known = job.request_class
        if type(known) is not Needs:
            spec = job.spec if job.switches or not job.spec.switches else job.spec._replace(switches=0)
            known = job.request_class = self._requests.read(spec, job.partition)
        return known

    def _pick_now(self, needs: Needs, view: View, open_nodes: int, heavier: int = 0) -> Picked | None:
        picked = self._pick(needs.preferred, view, open_nodes, heavier=heavier) if needs.preferred else None
        return picked or self._pick(needs, view, open_nodes, heavier=heavier)

    def _pick(
        self, needs: Needs, view: View, open_nodes: int, busy: int = 0, *, heavier: int = 0, idle: bool = False
    ) -> Picked | None:
        # As in Slurm a job that waits for few switches also waits if it would get too many on a machine without jobs.
        if needs.leaves and not (idle or self._pick(needs, self._idle(view), open_nodes, idle=True)):
            return None
        tries = self._tries(needs, view)
        for allowed in needs.allowed:
            for row, feasible, cpus, offers in tries:
                nodes = feasible & allowed & open_nodes
                if nodes.bit_count() < needs.min_nodes:
                    continue
                positions, weight = self._in_arrays(nodes)
                usable = cpus[positions].astype(np.int64, copy=False)
                if int(np.add.reduce(usable)) < needs.cpus:
                    continue
                if heavier:
                    weight = 2 * weight + to_mask(heavier, self._count)[positions]
                in_use = to_mask(busy, self._count)[positions] if busy else None
                share = None
                if needs.least_loaded is not None:
                    share = view[row][positions] / needs.least_loaded[positions]
                gpus = None
                if offers is not None:
                    weight, gpus = weight * (MOST_NEAR + 1) + MOST_NEAR - offers.near[positions], offers.gpus
                candidates = Candidates(positions, usable, weight, in_use, share)
                if needs.gres_per_job or needs.gres_per_task:
                    picked = gres.pick(self._choose, needs, view, candidates, self._with_more_nodes, gpus=gpus)
                else:
                    picked = self._choose(needs, candidates)
                if picked:
                    return row, picked
        return None

    def _idle(self, view: View) -> View:
        """Give a view with all processors; memory and GRES are as they are."""
        return np.vstack((self._whole[CPU], view[1 : self._first_row], self._whole[self._first_row :]))

    def _in_arrays(self, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give indices and weights of the nodes in a bitmap, as arrays; they are cached."""
        known = self._known_nodes.get(nodes)
        if known is None:
            if len(self._known_nodes) * (self._count + _ENTRY) > _MOST_KNOWN_NODES:
                self._known_nodes.clear()
            positions = to_mask(nodes, self._count).nonzero()[0]
            known = self._known_nodes[nodes] = (positions, self._weight[positions])
        return known

    def _tries(self, needs: Needs, view: View) -> Tries:
        """Give the rows of processors that a job can try, with the feasible nodes and their available processors.

        The result is cached, as many jobs have the same request and are tested with the same view.
        """
        key = needs.node_request_class, id(view)
        known = self._known_tries.get(key)
        if known is None:
            if len(self._known_tries) * (self._count + _ENTRY) > _MOST_KNOWN_NODES:
                self._known_tries.clear()
            tries: Tries = []
            for row, free in self._rows_of(needs, view):
                if self._near is not None and self._near.matter(needs):
                    tries += ((row, *one) for one in self._near_tries(self._near, needs, view, free))
                else:
                    feasible, cpus = self._feasible(needs, view, free)
                    tries.append((row, from_mask(feasible), cpus, None))
            known = self._known_tries[key] = (view, tries)
        return known[1]

    def _near_tries(
        self, near: NearGpus, needs: Needs, view: View, free: NDArray[np.integer[Any]]
    ) -> Iterator[tuple[int, NDArray[np.integer[Any]], Offers]]:
        """Give what a job with GPUs can try: GPUs and cores of the same sockets first."""
        feasible, cpus = self._feasible(near.without_gpus(needs), view, free)
        cores = self._cores_of.get(needs.partition, self._cores)
        for first in (True, False):
            offers = near.offers(needs, view, feasible, cpus, cores, first=first)
            yield from_mask(offers.cpus >= max(needs.min_cpus, 1)), offers.cpus, offers

    def _rows_of(self, needs: Needs, view: View) -> Sequence[tuple[int, NDArray[np.integer[Any]]]]:
        """Give the rows of processors that the job can try, with the free processors of each node."""
        if not self._rows.count:
            return [(CPU, view[self._core_row])]
        if needs.shares:
            return self._rows.of_several(view, needs.partition)
        return [(CPU, self._rows.of_one(view, needs.partition))]

    def _feasible(
        self, needs: Needs, view: View, free: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.bool_], NDArray[np.integer[Any]]]:
        """Give a mask of the feasible nodes, and the largest number of processors on each node."""
        cpus = most_processors(needs, view, free, self._cores_of.get(needs.partition, self._cores))
        if needs.partition in self._bounded:
            bound = self._bounded[needs.partition]
            # Whole nodes that are larger than that have too many.
            cpus = (
                np.where(self._whole[CPU] > self._whole[bound], 0, cpus)
                if needs.whole
                else np.minimum(cpus, view[bound])
            )
        feasible = cpus >= max(needs.min_cpus, 1)
        if needs.whole:
            feasible &= free == self._whole[CPU]
            if needs.gres_tasks is not None and needs.gres_tasks.cpus_per_gres:
                feasible &= gres.have_processors(needs, self._whole)
        if needs.memory > 0:
            feasible &= view[MEMORY] >= needs.memory
        elif needs.memory < 0:
            feasible &= view[MEMORY] == self._whole[MEMORY]
        for one in needs.gres + needs.gres_per_socket:
            feasible &= view[one.row] >= one.number
        for one in needs.gres_per_job:
            feasible &= gres.room(needs, view, one) > 0
        return feasible, cpus

    def _pack(self, needs: Needs, view: View, row: int, picked: list[tuple[int, int]]) -> int:
        """Make the resource set of a job: processors in a row on some nodes, with their memory and GRES."""
        taken = np.zeros_like(self._whole)
        nodes = np.array([node for node, _ in picked])
        of_partition = self._cores_of.get(needs.partition, self._cores)
        near = self._near if self._near is not None and not needs.whole and self._near.matter(needs) else None
        usable: list[Usable | None] = []
        if near is not None:
            most = self._feasible(near.without_gpus(needs), view, view[self._core_row])[1]
            usable = near.on_nodes(needs, view, picked, most, of_partition)
        chosen = near.with_cores(needs, picked, usable, of_partition) if near is not None else picked
        cpus = np.array([count for _, count in chosen])
        own, held = cpus, None
        if self._bits is not None:
            held = self._bits.whole[:, nodes] if needs.whole else of_partition.choose(needs, view, chosen, usable)
            taken[self._bits.rows, nodes] = held
        if needs.whole:
            own = cpus = self._whole[CPU, nodes].astype(np.int64)
        elif needs.granule is not None and needs.own_granule is not None and needs.together is not None:
            cores = of_partition.dealt(needs, nodes, cpus, view[row, nodes], held)
            together = cores * needs.together[nodes]
            if self._core_row == CPU:
                own, cpus = cores * needs.own_granule[nodes], together
            else:
                taken[self._core_row, nodes] = together
        taken[row, nodes] = cpus
        if needs.partition in self._bounded:
            bound = self._bounded[needs.partition]
            taken[bound, nodes] = np.minimum(cpus, view[bound, nodes])
        if needs.memory_per_cpu:
            taken[MEMORY, nodes] = np.minimum(own * needs.memory_per_cpu, self._whole[MEMORY, nodes])
        elif needs.memory == ALL:
            taken[MEMORY, nodes] = self._whole[MEMORY, nodes]
        elif needs.memory > 0:
            taken[MEMORY, nodes] = needs.memory
        if needs.whole:
            taken[2 : self._first_row, nodes] = self._whole[2 : self._first_row, nodes]
            if self._core_row != CPU:
                taken[self._core_row, nodes] = self._whole[CPU, nodes]
        else:
            gres.take(needs, view, picked, taken, gpus=near is None)
        if near is not None and held is not None:
            near.take(needs, view, picked, of_partition, held=held, taken=taken)
        elif self._gpus is not None:
            taken[self._gpus.rows, nodes] = self._gpus.choose(view, taken, nodes)
        if needs.memory_per_gpu and "gpu" in self._gres_rows:
            memory = taken[self._gres_rows["gpu"], nodes] * needs.memory_per_gpu
            taken[MEMORY, nodes] = np.minimum(memory, self._whole[MEMORY, nodes])
        return int.from_bytes(taken.tobytes(), "little")

    # ---- resource sets ----------------------------------------------------------------------------------------

    def _find_nodes(self, resources: int) -> int:
        return from_mask(self.processors(resources) > 0)  # each job has at least one processor of each of its nodes

    def size(self, resources: int) -> int:
        """Count the processors of a resource set; shared ones count several times."""
        return int(self.processors(resources).sum()) if resources else 0

    def processors(self, resources: int) -> NDArray[np.uint32]:
        """Count the processors of each node in a resource set, in all rows."""
        view = self.view(resources)
        cpus: NDArray[np.uint32] = view[CPU]
        if self._rows.count:
            cpus = cpus + view[self._first_row : self._first_row + self._rows.count].sum(axis=0, dtype=np.uint32)
        return cpus

    def processor_ids(self, resources: int, node: int) -> tuple[int, ...]:
        """Say which processors of a node are in a resource set; empty: cores are not told apart."""
        return () if self._bits is None else self._bits.processors(self.view(resources), node)

    def gpu_ids(self, resources: int, node: int) -> dict[str, tuple[int, ...]]:
        """Say which GPUs of a node are in a resource set, by their type; empty: they are not told apart."""
        return {} if self._gpus is None else self._gpus.by_type(self.view(resources), node)

    def least_nodes(self, job: PlacedJob) -> int:
        """Give the smallest number of nodes that the job requests."""
        return self._needs(job).min_nodes

    def tres(self, resources: int) -> dict[str, int]:
        """Count processors, memory, GRES and nodes of a resource set; the result is read-only."""
        allocation = self._allocations.get(resources)
        if allocation is None:
            return self._count_tres(resources)
        if allocation.tres is None:
            allocation.tres = self._count_tres(resources)
        return allocation.tres

    def _count_tres(self, resources: int) -> dict[str, int]:
        counts = {name: int(each.sum()) for name, each in self.tres_by_node(resources).items()}
        return counts | {"node": self.nodes_of(resources).bit_count()}

    def tres_by_node(self, resources: int) -> dict[str, NDArray[np.integer[Any]]]:
        """Count processors, memory and GRES of each node in a resource set."""
        view = self.view(resources)
        counts = {"cpu": self.processors(resources), **({"mem": view[MEMORY]} if self._counts_memory else {})}
        return counts | {f"gres/{kind}": view[row] for kind, row in self._gres_rows.items()}

    def class_of(self, job: HandedJob[PlacedJob]) -> Hashable:
        """Give the evaluated request, which equal requests share."""
        return self._needs(job._record)

    def problem(self, held: Sequence[int]) -> str:
        """Say whether resources are allocated twice or lost; empty: they are not."""
        used = sum((self.view(resources).astype(np.int64) for resources in held), np.zeros(self._whole.shape, np.int64))
        if self._rows.is_mixed((self._whole - used).clip(0).astype(np.uint32)):
            return "a core is shared with a job that shares with none"
        return super().problem(held)
