"""How the processors of nodes make up cores and sockets, and what a job can use of them.

Which cores of a node are free is not kept, only how many. Where a request speaks of sockets they are taken to be free
evenly, since tasks go to one socket after the other; where sockets are given out whole, as whole sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.requests.needs import SocketNeeds


class Cores:
    """Cores and sockets of the nodes of a machine; all arrays have one place a node.

    Args:
        nodes: The nodes.
        parameters: ``SelectTypeParameters`` in capitals.
    """

    def __init__(self, nodes: Sequence[Node], parameters: str) -> None:
        self._sockets = np.array([node.sockets for node in nodes], np.int64)
        self._per_socket = np.array([node.cores_per_socket for node in nodes], np.int64)
        #: Processors of a core: ``CPUs`` may be the number of cores even where these have several threads.
        self._threads = np.array(
            [max(node.cpus // (node.sockets * node.cores_per_socket), 1) for node in nodes], np.int64
        )
        self._by_socket = "CR_SOCKET" in parameters
        #: Processors are given out in multiples of this.
        self.granule = self._threads
        if self._by_socket:
            self.granule = np.array([max(node.cpus // node.sockets, 1) for node in nodes], np.int64)
        elif "CR_CPU" in parameters:
            self.granule = np.ones_like(self._threads)
        #: Whether there are any that are given out together.
        self.granular = bool((self.granule > 1).any())

    def used(self, threads_per_core: int, per_task: int, sockets: SocketNeeds | None) -> NDArray[np.int64]:
        """Give how many of the processors that are given out together a job uses: 0 threads of a core are all."""
        threads = self._used_threads(threads_per_core)
        used: NDArray[np.int64] = self.granule // self._threads * threads
        if self._by_socket and sockets is not None and sockets.tasks:
            used = np.minimum(used, _most_tasks(sockets, per_task, threads) * per_task)
        return used.clip(1)

    def on_sockets(
        self, asked: SocketNeeds, threads_per_core: int, per_task: int, free: NDArray[np.integer[Any]]
    ) -> NDArray[np.int64]:
        """Give how many of the free processors of each node a job can use that says something of sockets."""
        threads = self._used_threads(threads_per_core)
        cores = free.astype(np.int64) // self._threads
        if self._by_socket:
            large, small = self._per_socket, np.zeros_like(cores)
            many = cores // self._per_socket
        else:
            small, many = np.divmod(cores, self._sockets)
            large = small + 1
        few = self._sockets - many
        least = max(asked.cores, 1)
        many = np.where(large >= least, many, 0)
        few = np.where(small >= least, few, 0)
        cpus = (many * large + few * small) * threads
        if asked.tasks:
            most = _most_tasks(asked, per_task, threads)
            tasks = many * np.minimum(large * threads, most) + few * np.minimum(small * threads, most)
            cpus = np.minimum(cpus, tasks * per_task)
            cpus[asked.tasks > self._per_socket * self._threads] = 0
        usable: NDArray[np.int64] = np.where(many + few < asked.sockets, 0, cpus)
        return usable

    def _used_threads(self, threads_per_core: int) -> NDArray[np.int64]:
        threads: NDArray[np.int64] = np.minimum(threads_per_core or self._threads, self._threads)
        return threads


def _most_tasks(asked: SocketNeeds, per_task: int, threads: NDArray[np.int64]) -> int | NDArray[np.int64]:
    """Give the most tasks of a socket: those of one processor fill the cores that they have."""
    return asked.tasks if per_task > 1 else -(-asked.tasks // threads) * threads
