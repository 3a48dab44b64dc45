"""Cores and sockets of nodes, and the processors of them that a job can use.

Where cores are not told apart, only the number of free processors of a node is known. For requests about sockets, free
cores are assumed then to be distributed evenly over the sockets, since tasks are distributed cyclically; if whole
sockets are allocated, to be those of whole sockets.

Where whole sockets are allocated, Slurm deals the cores of a job on a node out to the free sockets in turn, so that it
gets as many sockets as it needs cores. A task of several processors has them on one socket, if that is large enough,
and with a largest number of tasks on a socket a job gets as few sockets as that allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.resources.pools.core_bits import CoreBits, threads_of_core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.resources.node_kinds import NodeKinds
    from rota.resources.pools.near_cores import Usable
    from rota.resources.requests.needs import Needs, SocketNeeds
    from rota.resources.view import View


class Cores:
    """Cores and sockets of the nodes of a machine; all arrays have an element for each node.

    Args:
        nodes: The nodes by their kinds.
        parameters: ``SelectTypeParameters`` in capitals.
        shared: Whether jobs may share cores; a job then gets as few sockets as its processors need.
    """

    def __init__(self, nodes: NodeKinds, parameters: str, *, shared: bool) -> None:
        self._sockets = nodes.array(lambda node: node.sockets)
        self._per_socket = nodes.array(lambda node: node.cores_per_socket)
        #: Number of processors of a core.
        self.threads = nodes.array(threads_of_core)
        self._by_socket = "CR_SOCKET" in parameters
        self._deals = self._by_socket and not shared
        #: Number of processors that no other job uses if a job has one of them.
        self.granule = self.threads
        if self._by_socket:
            self.granule = nodes.array(lambda node: max(node.cpus // node.sockets, 1))
        #: Whether a job is allocated all of these; with ``CR_CPU`` only those that it uses count.
        self.by_core = "CR_CPU" not in parameters
        if not self.by_core:
            self.granule = np.minimum(self.granule, nodes.array(lambda node: node.threads_per_core))
        #: Whether it is more than 1 on any node.
        self.granular = bool((self.granule > 1).any())
        #: Which cores are free; ``None``: only their number is known.
        self.bits: CoreBits | None = None

    def choose(
        self, needs: Needs, view: View, picked: Sequence[tuple[int, int]], near: Sequence[Usable | None] = ()
    ) -> View:
        """Choose the cores of a job where they are told apart; see `CoreBits.choose`."""
        if self.bits is None:
            raise TypeError("cores are not told apart")
        block = needs.fills_sockets or not (self.by_core or self._by_socket)
        return self.bits.choose(needs, view, picked, block=block, whole=self._by_socket, near=near)

    def usable(self, needs: Needs, view: View, node: int) -> list[list[int]]:
        """Give the cores of each socket of a node that a job can use; see `CoreBits.usable`."""
        if self.bits is None:
            raise TypeError("cores are not told apart")
        return self.bits.usable(needs, view, node, whole=self._by_socket)

    def used(self, threads_per_core: int, per_task: int, sockets: SocketNeeds | None) -> NDArray[np.int64]:
        """Give the number of processors that a job uses of those that are allocated together, for each node.

        Args:
            threads_per_core: Number of threads that it uses of a core; 0: all.
            per_task: Number of processors of a task.
            sockets: What it needs of sockets.
        """
        threads = self._used_threads(threads_per_core)
        used: NDArray[np.int64] = self.granule // self.threads * threads
        if self._by_socket and sockets is not None and sockets.tasks:
            used = np.minimum(used, _most_tasks(sockets, per_task, threads) * per_task)
        return used.clip(1)

    def dealt(
        self,
        needs: Needs,
        nodes: NDArray[np.int64],
        cpus: NDArray[np.int64],
        free: NDArray[np.integer[Any]],
        held: View | None = None,
    ) -> NDArray[np.int64]:
        """Give the number of cores, or of sockets where these are allocated whole, that a job gets.

        Args:
            needs: What it needs, with a granule.
            nodes: Indices of its nodes.
            cpus: Number of processors that it uses of each, and
            free: of those that are free.
            held: The cores that it gets, if they are known.
        """
        cores: NDArray[np.int64] = -(-cpus // needs.granule[nodes])  # type: ignore[index] # there is one
        if self._deals:
            sockets = free.astype(np.int64) // self.granule[nodes]
            cores = np.maximum(cores, np.minimum(-(-cpus // self._filled(needs, nodes)), sockets))
        if held is None:
            return cores
        known = CoreBits.count(held) // (self._per_socket[nodes] if self._by_socket else 1)
        return np.where(known > 0, known, cores)

    def used_of(
        self, needs: Needs, nodes: NDArray[np.int64], held: NDArray[np.int64], bound: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Give the number of processors that a job uses of the cores or sockets that it has: the reverse of `dealt`.

        It may not use all of its sockets, but no more than it needs or its tasks can use, and something of each.
        """
        most: NDArray[np.int64] = held * needs.granule[nodes]  # type: ignore[index] # there is one
        if not self._deals:
            return most
        least = np.maximum((held - 1) * self._filled(needs, nodes) + 1, needs.on_each)
        room = (np.minimum(most, bound) - least).clip(0)
        more = max(needs.cpus, len(nodes) * needs.on_each) - int(least.sum())
        used: NDArray[np.int64] = least + np.clip(more - (np.cumsum(room) - room), 0, room)
        return used

    def _filled(self, needs: Needs, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the number of processors of a job that go to a socket before it gets another one."""
        threads = self._used_threads(needs.threads_per_core)[nodes]
        usable = self._per_socket[nodes] * threads
        tasks = 0 if needs.sockets is None else needs.sockets.tasks
        if tasks:
            filled = np.minimum(usable, tasks * needs.per_task)
        elif needs.per_task > 1:
            filled = usable // needs.per_task * needs.per_task
        else:
            filled = threads
        return np.where(filled > 0, filled, threads)

    def on_sockets(
        self,
        asked: SocketNeeds,
        threads_per_core: int,
        per_task: int,
        free: NDArray[np.integer[Any]],
        view: View | None = None,
    ) -> NDArray[np.int64]:
        """Give the number of free processors of each node that a job with a request about sockets can use.

        Args:
            asked: What it needs of sockets.
            threads_per_core: Number of threads that it uses of a core; 0: all.
            per_task: Number of processors of a task.
            free: Number of free processors of each node.
            view: View of the available resources, for which cores are free.
        """
        threads = self._used_threads(threads_per_core)
        cores = self._spread(free) if self.bits is None or view is None else self.bits.on_sockets(view)
        if self._by_socket:
            cores = np.where(cores < self._per_socket, 0, cores)
        cores = np.where(cores >= max(asked.cores, 1), cores, 0)
        cpus = cores.sum(axis=0) * threads
        if asked.tasks:
            tasks = np.minimum(cores * threads, _most_tasks(asked, per_task, threads)).sum(axis=0)
            cpus = np.minimum(cpus, tasks * per_task)
            cpus[asked.tasks > self._per_socket * self.threads] = 0
        enough = (cores > 0).sum(axis=0) >= asked.sockets
        usable: NDArray[np.int64] = np.where(enough, np.minimum(cpus, free), 0)
        return usable

    def _spread(self, free: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Distribute free cores to sockets: a row for each socket, a column for each node."""
        cores = free.astype(np.int64) // self.threads
        socket = np.arange(int(self._sockets.max()))[:, None]
        if self._by_socket:
            return np.where(socket < cores // self._per_socket, self._per_socket, 0)
        small, many = np.divmod(cores, self._sockets)
        return np.where(socket < self._sockets, small + (socket < many), 0)

    def _used_threads(self, threads_per_core: int) -> NDArray[np.int64]:
        threads: NDArray[np.int64] = np.minimum(threads_per_core or self.threads, self.threads)
        return threads


def _most_tasks(asked: SocketNeeds, per_task: int, threads: NDArray[np.int64]) -> int | NDArray[np.int64]:
    """Give the largest number of tasks on a socket; tasks of one processor use all threads of their cores."""
    return asked.tasks if per_task > 1 else -(-asked.tasks // threads) * threads
