"""What a job needs of the nodes that it runs on: its request, worked out for one machine and one partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.resources.contiguous import each_run
from rota.resources.nodeset import from_mask
from rota.resources.requests.request_class import RequestClass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    #: Picks nodes: gives those of the candidates that the job gets, with how many processors of each; ``None``: it
    #: does not fit.
    Choose = Callable[["Needs", "Candidates"], list[tuple[int, int]] | None]


class SocketNeeds(NamedTuple):
    """What a job asks of the sockets of its nodes; 0: nothing."""

    #: Least sockets that it could use, and least free cores of a socket that it could.
    sockets: int
    cores: int
    #: Most tasks of a socket.
    tasks: int


class Gres(NamedTuple):
    """So many of one kind of GRES."""

    #: Row of a view that tells how many there are.
    lane: int
    number: int
    #: The row of the sum of all types, if the kind is a type.
    total: int | None
    #: The rows of the types, if it is the sum of some: they are taken in this order.
    types: tuple[int, ...]
    #: Whether these are GPUs.
    gpu: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needs(RequestClass):
    """A request in the machine's terms. Masks have one place a node."""

    #: Processors in all.
    cpus: int
    #: Processors that stay together on one node: those of a task.
    per_task: int
    #: Processors that each of its nodes gives at least: those of a task, or of the GPUs that it has there.
    on_each: int
    #: Least and most nodes; the most is 0 where there is no bound.
    min_nodes: int
    max_nodes: int
    #: Nodes that it would have: of a range that it asks for the most, else the least.
    req_nodes: int
    #: Least processors of a node.
    min_cpus: int
    #: Most tasks of a node, and most threads of a core; 0: no bound.
    tasks_per_node: int
    threads_per_core: int
    #: The threads of a core that memory for each processor is for; 0: all.
    own_threads: int
    #: What it asks of sockets; ``None``: nothing.
    sockets: SocketNeeds | None
    #: MiB of each node; -1: all that it has. Or MiB for each processor. 0: memory is not counted.
    memory: int
    memory_per_cpu: int
    #: MiB for each GPU, which ``memory`` holds as well where GPUs are asked for by node.
    memory_per_gpu: int
    #: Processors that each GPU of the whole job has with it; 0: no bound.
    cpus_per_gpu: int
    #: For each node, for each task, and in all.
    gres: tuple[Gres, ...]
    gres_per_task: tuple[Gres, ...]
    gres_per_job: tuple[Gres, ...]
    #: Whether GRES are asked for in a way that whole nodes do not have them.
    divides_gres: bool
    #: Whole nodes, which nobody else uses.
    whole: bool
    #: Its partition, and whether it has cores together with others of that.
    partition: str
    shares: bool
    contiguous: bool
    #: Bitmaps of nodes that may be used; all of the job's must be in one of these sets, the first that will do.
    allowed: tuple[int, ...]
    #: Nodes that must all be used.
    required: NDArray[np.bool_] | None
    #: Sets of nodes of which at least so many are needed.
    counted: tuple[tuple[NDArray[np.bool_], int], ...]
    #: The same with the features that are preferred in the place of those that are needed: what starts now tries this
    #: first.
    preferred: Needs | None = None
    #: Processors that each node has, where the least loaded nodes are taken first; ``None``: the load does not matter.
    least_loaded: NDArray[np.uint32] | None = None
    #: Processors of each node are given out together, and the job uses so many of these; ``None``: one by one. And so
    #: many of these count for memory.
    granule: NDArray[np.int64] | None = None
    own_granule: NDArray[np.int64] | None = None
    #: A number that is the same for jobs that ask the same of each node, however many nodes and processors in all.
    of_each: int = 0

    def would_have(self, picked: Sequence[tuple[int, int]]) -> bool:
        """Whether the job could have got so many processors on these nodes: not too few, and nothing in vain."""
        bitmap = sum(1 << node for node, _ in picked)
        count, cpus = len(picked), sum(used for _, used in picked)
        if not self._has_nodes(bitmap) or not self.min_nodes <= count <= (self.max_nodes or count) or cpus < self.cpus:
            return False
        # Of those that are given out together one may be all that it needs.
        spare = [0 if self.granule is None else int(self.granule[node]) - 1 for node, _ in picked]
        fewest = [used - more for (_, used), more in zip(picked, spare, strict=True)]
        if count > max(self.min_nodes, self.req_nodes) and not self.gres_per_job:
            # Without the last one it would be too few; of whole nodes that may have been any.
            return sum(fewest) - (max if self.whole else min)(fewest) < self.cpus
        # Each node gives as many as it must; of several a part of a task may be left over on each.
        left_over = count * (self.on_each - 1) if count > 1 else 0
        return self.whole or sum(fewest) <= max(self.cpus, count * self.on_each) + left_over

    def _has_nodes(self, bitmap: int) -> bool:
        """Whether some nodes are those that the job asks for."""
        if not any(bitmap & ~allowed == 0 for allowed in self.allowed):
            return False
        if self.required is not None and from_mask(self.required) & ~bitmap:
            return False
        if any((from_mask(group) & bitmap).bit_count() < count for group, count in self.counted):
            return False
        return not self.contiguous or next(each_run(bitmap)) == bitmap


class Candidates(NamedTuple):
    """Nodes that could each take part of a job; all arrays are of one length."""

    #: Places of the nodes, ascending.
    nodes: NDArray[np.int64]
    #: Processors that the job could have on each; at least what each of its nodes must have.
    cpus: NDArray[np.int64]
    #: Lower is preferred.
    weight: NDArray[np.int64]
    #: Which are in use now, where these are to be taken before others of their weight; ``None``: it does not matter.
    busy: NDArray[np.bool_] | None = None

    def where(self, mask: NDArray[np.bool_]) -> Candidates:
        """Give some of them."""
        busy = None if self.busy is None else self.busy[mask]
        return Candidates(self.nodes[mask], self.cpus[mask], self.weight[mask], busy)


def first_fit(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Pick the lightest nodes, the first ones first, until processors and nodes suffice: what is done without a plugin.

    Jobs that need particular nodes, or nodes that follow each other, are not served.
    """
    if needs.required is not None or needs.counted or needs.contiguous:
        return None
    picked: list[tuple[int, int]] = []
    cpus, count = needs.cpus, needs.min_nodes
    for place in np.argsort(candidates.weight, kind="stable").tolist():
        if cpus <= 0 and count <= 0:
            break
        if needs.max_nodes and len(picked) == needs.max_nodes:
            return None
        given = min(int(candidates.cpus[place]), max(cpus - max(count - 1, 0) * needs.on_each, needs.on_each))
        picked.append((int(candidates.nodes[place]), given))
        cpus -= given
        count -= 1
    return sorted(picked) if cpus <= 0 and count <= 0 else None
