"""GPUs and the cores near them: on which nodes a job with GPUs fits, and which cores and GPUs it gets there.

See `near_cores` and `near_choice`. Nodes with the same free cores and GPUs are looked at once.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.model.gres import GPU
from rota.resources.pools.near_choice import Place, choose
from rota.resources.pools.near_cores import Node, Usable, usable
from rota.resources.view import MEMORY

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from rota.resources.pools.core_bits import CoreBits
    from rota.resources.pools.cores import Cores
    from rota.resources.pools.gpu_bits import GpuBits
    from rota.resources.requests.needs import Gres, Needs
    from rota.resources.view import View


#: Most results that are remembered.
_MOST_KNOWN = 100_000


class Offers(NamedTuple):
    """What a job could have of each node; all arrays have an element for each node."""

    cpus: NDArray[np.int64]
    gpus: NDArray[np.int64]
    #: GPUs on sockets with free cores.
    near: NDArray[np.int64]


class NearGpus:
    """The GPUs of a machine, some of which may be near some cores only.

    Args:
        cores: Its cores.
        gpus: Its GPUs.
        gres_rows: Rows in which each kind of GRES is counted.
        whole: View of all resources.
    """

    def __init__(self, cores: CoreBits, gpus: GpuBits, gres_rows: Mapping[str, int], whole: View) -> None:
        self._cores = cores
        self._gpus = gpus
        shapes: dict[Hashable, int] = {}
        #: A number of the cores and GPUs of each node, equal where these are.
        self._shapes = [
            shapes.setdefault((groups, cores.shape(node)), len(shapes)) for node, groups in enumerate(gpus.groups)
        ]
        #: What a job can use of a node, by its request, which is kept, and by what is free.
        self._known: dict[Hashable, Usable | None] = {}
        self._rows = {kind: row for kind, row in gres_rows.items() if kind.partition(":")[0] == GPU}
        numbers = dict.fromkeys(self._rows, 0)
        for group in chain.from_iterable(gpus.groups):
            for kind in {group.kind, GPU}:
                numbers[kind] += group.gpus.bit_count()
        #: Rows of the kinds of which each GPU is known by its number.
        self._numbered = {row for kind, row in self._rows.items() if numbers[kind] == int(whole[row].sum())}

    def matter(self, needs: Needs) -> bool:
        """Whether a job asks for GPUs, all of which are told apart."""
        every = (*needs.gres, *needs.gres_per_socket, *needs.gres_per_task, *needs.gres_per_job)
        rows = {one.row for one in every if one.gpu}
        return bool(rows) and rows <= self._numbered

    @staticmethod
    def without_gpus(needs: Needs) -> Needs:
        """Give a request whose processors on a node are not bounded by those of its GPUs and its tasks with GPUs."""
        others = [tuple(one for one in kind if not one.gpu) for kind in (needs.gres, needs.gres_per_task)]
        gres, per_task = others
        return replace(needs, gres=gres, gres_per_socket=(), gres_per_task=per_task, cpus_per_gpu=0)

    def offers(
        self,
        needs: Needs,
        view: View,
        feasible: NDArray[np.bool_],
        cpus: NDArray[np.integer[Any]],
        cores: Cores,
        *,
        first: bool,
    ) -> Offers:
        """Say what a job could have of each node.

        Args:
            needs: The evaluated request.
            view: View of the available resources.
            feasible: Mask of the nodes that would suffice without its GPUs.
            cpus: Largest number of processors on each of these.
            cores: The cores in the job's partition.
            first: Whether the job shall have GPUs and cores of the same sockets.
        """
        offers = Offers(*(np.zeros(len(cpus), np.int64) for _ in Offers._fields))
        rows = np.ascontiguousarray(view[self._cores.rows.start : self._gpus.rows.stop].T)
        free, width = rows.tobytes(), rows.shape[1] * rows.itemsize
        memory = view[MEMORY] // needs.memory_per_gpu if needs.memory_per_gpu else None
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        for node in feasible.nonzero()[0].tolist():
            room = None if memory is None else int(memory[node])
            bits = free[node * width : (node + 1) * width]
            key = needs, first, self._shapes[node], int(cpus[node]), room, bits
            if key not in self._known:
                state = self._state(needs, view, node, int(cpus[node]), cores)
                self._known[key] = usable(needs, state, self._is_of, first=first)
            if (found := self._known[key]) is not None:
                offers.cpus[node], offers.gpus[node], offers.near[node] = found.cpus, found.gpus, found.near
        return offers

    def on_nodes(
        self,
        needs: Needs,
        view: View,
        picked: Sequence[tuple[int, int]],
        cpus: NDArray[np.integer[Any]],
        cores: Cores,
    ) -> list[Usable | None]:
        """Give what a job can use of its nodes: of each the same sockets for cores and GPUs, if that suffices for all.

        Args:
            needs: The evaluated request.
            view: View of the available resources.
            picked: Index and number of used processors of each node.
            cpus: Largest number of processors on each node of the machine.
            cores: The cores in the job's partition.
        """
        states = [self._state(needs, view, node, int(cpus[node]), cores) for node, _ in picked]
        found = [usable(needs, state, self._is_of, first=True) for state in states]
        if all(one is not None and one.cpus >= used for one, (_, used) in zip(found, picked, strict=True)):
            return found
        return [usable(needs, state, self._is_of, first=False) for state in states]

    @staticmethod
    def with_cores(
        needs: Needs, picked: Sequence[tuple[int, int]], usable: Sequence[Usable | None], cores: Cores
    ) -> list[tuple[int, int]]:
        """Give more processors to a job that has to have cores of each socket whose GPUs it has.

        As in Slurm only where it could not use more than it has got.
        """
        found = []
        for (node, used), one in zip(picked, usable, strict=True):
            threads = int(cores.threads[node])
            least = one.least_cores * min(needs.threads_per_core or threads, threads) if one and one.cpus <= used else 0
            found.append((node, max(used, least)))
        return found

    def take(
        self, needs: Needs, view: View, picked: Sequence[tuple[int, int]], cores: Cores, *, held: View, taken: View
    ) -> None:
        """Add the GPUs of a job to its allocation.

        Args:
            needs: The evaluated request.
            view: View of the available resources.
            picked: Index and number of used processors of each node.
            cores: The cores in the job's partition.
            held: Bits of its cores, with a column for each node.
            taken: View of the allocation, which is changed.
        """
        places = []
        tasks = needs.gres_tasks.on_nodes([used for _, used in picked], needs.per_task) if needs.gres_tasks else []
        for column, (node, _) in enumerate(picked):
            state = self._state(needs, view, node, 0, cores)
            own = self._cores.by_socket(held[:, column], node)
            threads = min(needs.threads_per_core or state.threads, state.threads)
            places.append(Place(state, [len(cores) for cores in own], tasks[column], threads))
        choose(needs, places, self._is_of)
        nodes = [node for node, _ in picked]
        taken[self._gpus.rows, nodes] = self._gpus.in_columns(place.gpus for place in places)
        for node, place in zip(nodes, places, strict=True):
            for group in self._gpus.groups[node]:
                count = (group.gpus & place.gpus).bit_count()
                taken[self._rows[group.kind], node] += count
                if group.kind != GPU:
                    taken[self._rows[GPU], node] += count

    def _state(self, needs: Needs, view: View, node: int, cpus: int, cores: Cores) -> Node:
        room = int(view[MEMORY, node]) // needs.memory_per_gpu if needs.memory_per_gpu else None
        sockets = tuple(map(tuple, cores.usable(needs, view, node)))
        threads = int(cores.threads[node])
        return Node(self._gpus.groups[node], self._gpus.of(view, node), sockets, threads, cpus, room)

    def _is_of(self, one: Gres, kind: str) -> bool:
        return one.total is None or self._rows.get(kind) == one.row
