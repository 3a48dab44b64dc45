"""Which cores of a node a job gets, where cores are told apart: as Slurm's ``cons_tres`` chooses them.

Cores of a node are numbered socket by socket. A job can use those that are free, with exceptions:

1. Sockets with fewer free cores than the job needs on each are left out.
2. With a largest number of tasks on a socket, it can use no more cores of one than these can; but of those behind the
   cores that suffice for its tasks on the node it can use all.
3. With GPUs, it can use no more than go with them: `near_cores`; so with other GRES: `gres_cores`.

Of these it gets, for the processors that were chosen for it on the node:

- *cyclic*, the default: a core of each socket in turn. If a task has several processors, those of as many tasks as a
  socket has room for are on it, socket after socket. With a largest number of tasks on a socket, sockets are avoided
  that are not needed then.
- *block* (``--distribution=*:block``, planes, and ``CR_CPU``): cores of the socket with the fewest usable cores that
  suffice or, if none does, with the most, and so on.

Where whole sockets are allocated, it gets all cores of each.

Cores are bits in rows of a view, 32 in each. O(cores) for each node of a job that starts.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.resources.pools.bits import BITS, in_rows, ones, read_bits
from rota.resources.pools.gres_cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.node_kinds import NodeKinds
    from rota.resources.pools.near_cores import Usable
    from rota.resources.requests.needs import Needs
    from rota.resources.view import View


class _Shape(NamedTuple):
    """The cores of a node."""

    sockets: int
    per_socket: int
    #: Processors of a core.
    threads: int


class CoreBits:
    """The cores of the nodes of a machine.

    Args:
        nodes: The nodes by their kinds.
        first_row: Index of the first row of cores in a view.
    """

    def __init__(self, nodes: NodeKinds, first_row: int) -> None:
        self._shapes = nodes.values(_shape_of)
        most = max((one.sockets * one.per_socket for one in self._shapes), default=0)
        count = -(-most // BITS)
        #: The rows of cores in a view.
        self.rows = slice(first_row, first_row + count)
        #: All cores that jobs may have.
        self.whole: View = nodes.array(lambda node: in_rows(_offered(node), count), np.uint32)
        self._count = count

    def shape(self, node: int) -> tuple[int, int, int]:
        """Give the number of sockets of a node, of cores on each, and of processors of a core."""
        return self._shapes[node]

    def names(self) -> list[str]:
        """Name the rows."""
        return [f"cores/{number}" for number in range(self._count)]

    def of(self, view: View, node: int) -> int:
        """Give the cores of a node in a view, a bitmap."""
        return read_bits(view[self.rows, node])

    def processors(self, view: View, node: int) -> tuple[int, ...]:
        """Give the processors of a node in a view: those of each core follow each other."""
        threads = self._shapes[node].threads
        return tuple(core * threads + thread for core in ones(self.of(view, node)) for thread in range(threads))

    def on_sockets(self, view: View) -> NDArray[np.int64]:
        """Count the cores of each socket in a view: a row for each socket, a column for each node."""
        bits = np.unpackbits(np.ascontiguousarray(view[self.rows].T).view(np.uint8), axis=1, bitorder="little")
        found = np.zeros((max(one.sockets for one in self._shapes), len(self._shapes)), np.int64)
        for shape in set(self._shapes):
            alike = np.array([one == shape for one in self._shapes])
            used = bits[alike, : shape.sockets * shape.per_socket]
            found[: shape.sockets, alike] = used.reshape(len(used), shape.sockets, shape.per_socket).sum(axis=2).T
        return found

    def by_socket(self, rows: NDArray[np.uint32], node: int) -> list[list[int]]:
        """Give the cores of each socket in the rows of a node."""
        bits, shape = read_bits(rows), self._shapes[node]
        firsts = range(0, shape.sockets * shape.per_socket, shape.per_socket)
        return [[core for core in range(first, first + shape.per_socket) if bits >> core & 1] for first in firsts]

    def usable(self, needs: Needs, view: View, node: int, *, whole: bool) -> list[list[int]]:
        """Give the cores of each socket of a node that a job can use, if it asks for no GRES; see `choose`."""
        threads = min(needs.threads_per_core or self._shapes[node].threads, self._shapes[node].threads)
        return [*_usable(needs, self._free(view, node, whole=whole), threads)]

    def choose(
        self,
        needs: Needs,
        view: View,
        picked: Sequence[tuple[int, int]],
        *,
        block: bool,
        whole: bool,
        near: Sequence[Usable | None] = (),
    ) -> View:
        """Choose the cores of a job.

        Args:
            needs: The evaluated request.
            view: View of the available resources.
            picked: Index and number of used processors of each node.
            block: Whether sockets are filled one after the other.
            whole: Whether sockets are allocated whole.
            near: What it can use of each node, if it asks for GPUs.

        Returns:
            Bits of cores: the rows, with a column for each node of the job.
        """
        chosen = [
            self._choose(needs, view, node, cpus, block=block, whole=whole, near=one)
            for (node, cpus), one in zip_longest(picked, near)
        ]
        if whole:
            chosen = [self._all_of_sockets(node, cores) for (node, _), cores in zip(picked, chosen, strict=True)]
        return np.array([in_rows(sum(1 << core for core in cores), self._count) for cores in chosen], np.uint32).T

    @staticmethod
    def count(held: View) -> NDArray[np.int64]:
        """Count the cores in bits of cores, in each column."""
        bits = np.unpackbits(np.ascontiguousarray(held.T).view(np.uint8), axis=1)
        counts: NDArray[np.int64] = bits.sum(axis=1, dtype=np.int64)
        return counts

    def _free(self, view: View, node: int, *, whole: bool) -> list[list[int]]:
        """Give the free cores of each socket of a node; of whole sockets, those that are not free have none."""
        sockets, each = self.by_socket(view[self.rows, node], node), self._shapes[node].per_socket
        return [[] if whole and len(cores) < each else cores for cores in sockets]

    def _all_of_sockets(self, node: int, cores: Sequence[int]) -> list[int]:
        each = self._shapes[node].per_socket
        return [first + core for first in {core // each * each for core in cores} for core in range(each)]

    def _choose(
        self, needs: Needs, view: View, node: int, cpus: int, *, block: bool, whole: bool, near: Usable | None
    ) -> list[int]:
        free = self._free(view, node, whole=whole)
        threads = min(needs.threads_per_core or self._shapes[node].threads, self._shapes[node].threads)
        sockets = [*_usable(needs, free, threads)]
        if near is not None:
            sockets = [[*own] for own in near.cores]
        elif needs.gres_tasks is not None:
            sockets = usable_cores(needs, sockets, threads, lambda one: int(view[one.row, node]))
        alone = needs.tasks_per_core == 1 and needs.per_task > threads  # a task has cores of its own
        cores = cpus // needs.per_task * -(-needs.per_task // threads) if alone else -(-cpus // threads)
        if block and needs.sockets is not None and needs.sockets.tasks:
            most = -(-needs.sockets.tasks * needs.per_task // threads)
            sockets = [own[:most] for own in sockets]
        chosen = _block(sockets, cores) if block else _cyclic(needs, sockets, cores, threads)
        if len(chosen) < cores:  # such as those of a job that began when cores were not told apart
            others = (core for own in free for core in own if core not in chosen)
            chosen += [core for core, _ in zip(others, range(cores - len(chosen)), strict=False)]
        return chosen


def _usable(needs: Needs, free: list[list[int]], threads: int) -> Iterator[list[int]]:
    """Give the cores of each socket that a job can use."""
    asked, per_task = needs.sockets, needs.per_task
    sockets = [cores if asked is None or len(cores) >= asked.cores else [] for cores in free]
    total = sum(map(len, sockets))
    on_socket = asked.tasks if asked else 0
    tasks = sum(min(len(cores) * threads, on_socket or len(cores) * threads) for cores in sockets)
    if needs.tasks_per_node and not needs.cpus_per_gpu:
        tasks = min(tasks, needs.tasks_per_node)
    if needs.tasks_per_core == 1 and per_task > threads:
        each = -(-per_task // threads)
        left = total // each * each
    else:
        cpus = min(tasks, total * threads // per_task) * per_task if per_task > 1 else tasks
        left = -(-max(cpus, needs.on_each) // threads)
    for cores in sockets:
        count = min(len(cores), left)
        if on_socket:
            count = min(count, -(-on_socket * per_task // threads))
        left -= count
        yield cores[:count] if left else cores


def _cyclic(needs: Needs, sockets: list[list[int]], cores: int, threads: int) -> list[int]:
    """Choose cores of each socket in turn."""
    chosen: list[int] = []
    most = 0 if needs.sockets is None else needs.sockets.tasks
    if most:
        sockets = _not_avoided(sockets, cores, most * needs.per_task, threads)
    elif needs.per_task > 1:
        left = []
        for own in sockets:
            room = -(-(len(own) * threads // needs.per_task * needs.per_task) // threads)
            count = min(room, cores - len(chosen))
            chosen += own[:count]
            left.append(own[count:])
        sockets = left
    turn = 0
    while len(chosen) < cores and any(len(own) > turn for own in sockets):
        chosen += [own[turn] for own in sockets if len(own) > turn][: cores - len(chosen)]
        turn += 1
    return chosen


def _not_avoided(sockets: list[list[int]], cores: int, on_socket: int, threads: int) -> list[list[int]]:
    """Leave out sockets that are not needed, if only so many processors of a socket are used."""
    counts = [len(own) * threads for own in sockets]
    needed, total = cores * threads, sum(counts)
    for number, count in enumerate(counts):
        if total > needed and count > on_socket:
            counts[number] = on_socket
            total -= count - on_socket
    for number, count in enumerate(counts):
        if total > needed and count <= on_socket and total - count >= needed:
            sockets = [*sockets[:number], [], *sockets[number + 1 :]]
            total -= count
    return sockets


def _block(sockets: list[list[int]], cores: int) -> list[int]:
    """Choose cores of as few sockets as can be, those that fit best."""
    chosen: list[int] = []
    left, wanted = [*sockets], cores
    while len(chosen) < cores and any(left):
        enough = [own for own in left if len(own) >= wanted]
        best = min(enough, key=len) if enough else max(left, key=len)
        chosen += best[: cores - len(chosen)]
        left[left.index(best)] = []
    return chosen


def threads_of_core(node: Node) -> int:
    """Give the number of processors of a core.

    ``CPUs`` may be the number of cores even if they have several threads, and if it is more than there are threads,
    nothing is known of cores: each processor is one.
    """
    return min(max(node.cpus // (node.sockets * node.cores_per_socket), 1), node.threads_per_core)


def _shape_of(node: Node) -> _Shape:
    """Give the cores of a node; if it has more processors than it says it has cores for, each is one."""
    threads = threads_of_core(node)
    return _Shape(node.sockets, max(node.cores_per_socket, -(-node.cpus // (node.sockets * threads))), threads)


def _offered(node: Node) -> int:
    """Give the cores of a node that are for jobs: as in Slurm the last ones of its sockets, in turn, are not."""
    shape = _shape_of(node)
    bits = (1 << shape.sockets * shape.per_socket) - 1
    places = (
        socket * shape.per_socket + core
        for core in reversed(range(shape.per_socket))
        for socket in reversed(range(shape.sockets))
    )
    for place, _ in zip(places, range(node.core_spec_count), strict=False):
        bits &= ~(1 << place)
    return bits
