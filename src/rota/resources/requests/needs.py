"""What a job needs of its nodes: its request, evaluated for one machine and one partition."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.resources.contiguous import each_run
from rota.resources.nodeset import from_mask
from rota.resources.requests.request_class import RequestClass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.model import JobSpec
    from rota.resources.switches import Switches

    #: The node selection plugin: chooses among the candidates, and gives index and number of processors of each chosen
    #: node, or ``None`` if the job does not fit.
    Choose = Callable[["Needs", "Candidates"], list[tuple[int, int]] | None]


#: Memory of a node: all of it; or none, but of nodes whose memory nobody has, as in Slurm with ``DefMemPerCPU=0``.
ALL, NONE = -1, -2


class SocketNeeds(NamedTuple):
    """What a job needs of the sockets of its nodes; 0: no bound."""

    #: Smallest number of usable sockets of a node, and of free cores of a socket that makes it usable.
    sockets: int
    cores: int
    #: Largest number of tasks on a socket.
    tasks: int


class Gres(NamedTuple):
    """A number of one kind of GRES."""

    #: Row of the view in which this kind is counted.
    row: int
    number: int
    #: For a kind with a type: the row in which all types are counted.
    total: int | None
    #: For a kind without a type: the rows of its types, in the order in which they are allocated.
    types: tuple[int, ...]
    #: Whether it is GPUs.
    gpu: bool


class GresTasks(NamedTuple):
    """The tasks of a job with GRES, by which its cores on a node are bounded."""

    #: Smallest and largest number of tasks on a node; 0: no upper bound.
    least: int
    most: int
    #: Processors of a task, and that go with each GPU; 0: any.
    per_task: int
    cpus_per_gres: int
    #: Whether tasks have cores of their own.
    alone: bool
    #: Number of tasks of the job, 0: it is not given; and whether they share processors.
    total: int = 0
    overcommit: bool = False

    @classmethod
    def of(cls, spec: JobSpec, per_gpu: int) -> GresTasks:
        """Give the bounds that Slurm derives from a request in which so many processors go with each GPU."""
        nodes, tasks = max(spec.min_nodes, 1), spec.num_tasks
        least, most = 1, 0
        if spec.ntasks_per_node:
            least = most = spec.ntasks_per_node
        elif spec.ntasks_per_socket or spec.ntasks_per_core:
            least = spec.ntasks_per_socket or spec.ntasks_per_core
        elif spec.ntasks_per_gpu:
            least = most = max(tasks // nodes, 1)
        elif spec.max_nodes == 1 and tasks:
            least = most = tasks
        elif tasks == 1 or tasks == nodes == spec.max_nodes:
            most = 1
        return cls(least, most, spec.cpus_per_task, per_gpu, spec.ntasks_per_core == 1, tasks, spec.overcommit)

    def on_node(self, cpus: int, per_task: int) -> int:
        """Count the tasks on a node of which a job uses so many processors, which may be more than they need."""
        return min(cpus // per_task, self.most or cpus)

    def on_nodes(self, used: Sequence[int], per_task: int) -> list[int]:
        """Count the tasks on nodes of which a job uses so many processors: if they share these, they are dealt out."""
        if not self.overcommit or not self.total:
            return [self.on_node(cpus, per_task) for cpus in used]
        return [len(range(place, self.total, len(used))) for place in range(len(used))]

    def task_cpus(self, threads: int) -> int:
        """Count the processors that a task takes, if a job uses so many of a core."""
        return -(-self.per_task // threads) * threads if self.alone else self.per_task


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needs(RequestClass):
    """An evaluated request. Masks have an element for each node."""

    #: Number of processors on all nodes together.
    cpus: int
    #: Number of processors of a task, which must be on one node.
    per_task: int
    #: Smallest number of processors on each of its nodes: those of its tasks there, those that were asked for, or those
    #: that go with GPUs on the node.
    on_each: int
    #: Smallest and largest number of nodes; 0: no upper bound.
    min_nodes: int
    max_nodes: int
    #: Number of nodes to aim at: the largest of a range that was asked for, else the smallest.
    req_nodes: int
    #: Smallest number of processors that a node must have for the job: those of tasks that go together.
    min_cpus: int
    #: Largest number of tasks on a node, of tasks on a core, and of threads used of a core; 0: no bound.
    tasks_per_node: int
    tasks_per_core: int
    threads_per_core: int
    #: Threads of a core that count for memory for each processor; 0: all.
    own_threads: int
    #: Whether its tasks fill one socket after the other.
    fills_sockets: bool
    #: What it needs of sockets; ``None``: nothing.
    sockets: SocketNeeds | None
    #: Memory of each node in MiB (`ALL`, or `NONE`), or memory for each processor in MiB. 0: memory is not counted.
    memory: int
    memory_per_cpu: int
    #: Memory for each GPU in MiB. If GPUs are asked for by node, ``memory`` includes it.
    memory_per_gpu: int
    #: Processors that go with each GPU of the whole job; 0: no bound.
    cpus_per_gpu: int
    #: GRES for each node, for each socket, for each task, and for the whole job.
    gres: tuple[Gres, ...]
    gres_per_socket: tuple[Gres, ...]
    gres_per_task: tuple[Gres, ...]
    gres_per_job: tuple[Gres, ...]
    #: Whether it has only GPUs of sockets of which it has cores.
    enforces_binding: bool
    #: The tasks that these are for; ``None``: it asks for no GRES.
    gres_tasks: GresTasks | None
    #: Whether it asks for GRES in a way that whole nodes do not support.
    divides_gres: bool
    #: Whether it needs whole nodes, which no other job uses.
    whole: bool
    #: Name of its partition, and whether it shares cores with other jobs of it.
    partition: str
    shares: bool
    contiguous: bool
    #: Whether it has as many nodes as it may.
    spread: bool
    #: Bitmaps of usable nodes: all nodes of the job must be from one of these, the first on which it fits.
    allowed: tuple[int, ...]
    #: Nodes that the job must get.
    required: NDArray[np.bool_] | None
    #: Sets of nodes, and the number of nodes that it needs of each.
    counted: tuple[tuple[NDArray[np.bool_], int], ...]
    #: The same with preferred features in place of required ones, which is tried first when a job starts.
    preferred: Needs | None = None
    #: Processors of each node, if the least loaded nodes are allocated first; ``None``: they are not.
    least_loaded: NDArray[np.uint32] | None = None
    #: The network, if nodes are chosen by their switches; ``None``: they are not.
    switches: Switches | None = None
    #: Largest number of leaf switches on which the nodes hang; 0: any.
    leaves: int = 0
    #: Number of processors of each node that go to one job together (a core's threads), of which the job uses so many;
    #: ``None``: they go one by one. And the number of them that counts for memory.
    granule: NDArray[np.int64] | None = None
    own_granule: NDArray[np.int64] | None = None
    #: These processors of a core or socket, used or not.
    together: NDArray[np.int64] | None = None
    #: A number that is the same for jobs that need the same of each node, whatever their total numbers.
    node_request_class: int = 0
    #: Whether it is a job of one node, for which nodes differ by their cores and by what is free.
    one_node: bool = False

    def would_have(self, picked: Sequence[tuple[int, int]]) -> bool:
        """Whether a choice of nodes and processors is valid: neither too few nor more than needed."""
        bitmap = sum(1 << node for node, _ in picked)
        count, cpus = len(picked), sum(used for _, used in picked)
        if self.leaves and self.has_too_many_switches(picked):
            return False
        if not self._has_nodes(bitmap) or not self.min_nodes <= count <= (self.max_nodes or count) or cpus < self.cpus:
            return False
        fewest = [
            used if self.granule is None else used - self._spare(self.granule[node], used) for node, used in picked
        ]
        if count > max(self.min_nodes, self.req_nodes) and not self.gres_per_job:
            # Without the last node it must be too few; of whole nodes any may be the last.
            return sum(fewest) - (max if self.whole else min)(fewest) < self.cpus
        if self.enforces_binding:  # a core of each socket whose GPUs it has
            return True
        # Each node gives at least what it must; on each of several nodes a part of a task may be left over.
        left_over = count * (self.on_each - 1) if count > 1 else 0
        return self.whole or sum(fewest) <= max(self.cpus, count * self.on_each) + left_over

    @property
    def sockets_asked(self) -> int:
        """The number of sockets of a node that it asks for, at least one."""
        return max(self.sockets.sockets, 1) if self.sockets is not None else 1

    def has_too_many_switches(self, picked: Sequence[tuple[int, int]]) -> bool:
        """Whether the nodes of a choice hang on more leaf switches than they may."""
        return self.switches is not None and self.switches.leaves([node for node, _ in picked]) > self.leaves

    def _spare(self, granule: np.int64, used: int) -> int:
        """Give how many of the used processors of a node the job may not need: so many are allocated together."""
        together = int(granule)
        if self.tasks_per_core == 1 and self.per_task > together:  # tasks have cores of their own
            of_task = -(-self.per_task // together) * together
            return used // of_task * (of_task - self.per_task)
        return together - 1

    def _has_nodes(self, bitmap: int) -> bool:
        """Whether the nodes of a bitmap satisfy the request for particular nodes."""
        if not any(bitmap & ~allowed == 0 for allowed in self.allowed):
            return False
        if self.required is not None and from_mask(self.required) & ~bitmap:
            return False
        if any((from_mask(group) & bitmap).bit_count() < count for group, count in self.counted):
            return False
        return not self.contiguous or next(each_run(bitmap)) == bitmap


#: What a job asks of each node, on which it depends which nodes could serve it; ``granule`` depends on threads, tasks
#: and sockets.
asked_of_node = attrgetter(
    "whole",
    "min_cpus",
    "per_task",
    "on_each",
    "tasks_per_core",
    "threads_per_core",
    "own_threads",
    "sockets",
    "memory",
    "memory_per_cpu",
    "memory_per_gpu",
    "cpus_per_gpu",
    "gres",
    "gres_per_socket",
    "gres_per_task",
    "gres_per_job",
    "partition",
    "shares",
)


class Candidates(NamedTuple):
    """Nodes that could each serve part of a job, as arrays of equal length."""

    #: Indices of the nodes, ascending.
    nodes: NDArray[np.int64]
    #: Number of processors that the job could have on each node; at least what it needs on each.
    cpus: NDArray[np.int64]
    #: Weights; nodes of lower weight are preferred.
    weight: NDArray[np.int64]
    #: Nodes that are in use now, if these are preferred to others of their weight; ``None``: they are not.
    busy: NDArray[np.bool_] | None = None
    #: Share of the processors of each node that is free, if the least loaded are preferred; ``None``: they are not.
    idle: NDArray[np.float64] | None = None

    def where(self, mask: NDArray[np.bool_]) -> Candidates:
        """Select candidates by a mask."""
        busy = None if self.busy is None else self.busy[mask]
        idle = None if self.idle is None else self.idle[mask]
        return Candidates(self.nodes[mask], self.cpus[mask], self.weight[mask], busy, idle)


def first_fit(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Choose nodes by weight, then in their order, until there are enough: the default without a plugin.

    Jobs that need particular or adjacent nodes are not served.
    """
    if needs.required is not None or needs.counted or needs.contiguous:
        return None
    picked: list[tuple[int, int]] = []
    cpus, count = needs.cpus, needs.min_nodes
    for index in np.argsort(candidates.weight, kind="stable").tolist():
        if cpus <= 0 and count <= 0:
            break
        if needs.max_nodes and len(picked) == needs.max_nodes:
            return None
        given = min(int(candidates.cpus[index]), max(cpus - max(count - 1, 0) * needs.on_each, needs.on_each))
        picked.append((int(candidates.nodes[index]), given))
        cpus -= given
        count -= 1
    return sorted(picked) if cpus <= 0 and count <= 0 else None
