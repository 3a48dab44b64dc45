"""Which GPUs a job gets, once its cores are chosen, where cores are told apart: as in Slurm's ``cons_tres``.

GPUs that belong to no socket come first, then those of sockets on which the job has cores, then others. Of GPUs

- on each node, one of each such socket is taken before a second one of any;
- on each socket, as many are taken of each socket with cores, and of others if these are fewer than it asks for;
- for each task, those for the tasks on a socket are taken of it; tasks are one to a thread, from the first core on;
- in all, as many are taken of a node as leave one for each later node. If none is of a socket with cores, one of
  another is taken; what is missing in the end is taken of any.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rota.resources.pools.bits import ones
from rota.resources.pools.near_cores import asked_for, home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.resources.pools.near_cores import Node
    from rota.resources.requests.needs import Gres, Needs


class Place:
    """A node of a job, and the GPUs that it has got there.

    Args:
        node: What is free there.
        held: Number of cores of each socket that the job has.
        tasks: Number of its tasks there.
        threads: Number of processors that it uses of a core.
    """

    def __init__(self, node: Node, held: Sequence[int], tasks: int, threads: int) -> None:
        self._node = node
        self.held = held
        self.tasks = tasks
        self.threads = threads
        #: Bitmap of the GPUs that it has got.
        self.gpus = 0
        #: Those of a kind that are left, by socket; -1: of none.
        self._left: dict[int, list[int]] = {}

    def of_kind(self, one: Gres, is_of: Callable[[Gres, str], bool], *, enforce: bool) -> None:
        """Prepare to take GPUs of a kind."""
        self._left = {}
        for group in self._node.groups:
            socket = home(group, self._node.cores, enforce=enforce) if is_of(one, group.kind) else None
            if socket is not None:
                self._left.setdefault(socket, []).extend(ones(group.gpus & self._node.gpus & ~self.gpus))
        for gpus in self._left.values():
            gpus.sort()

    def take(self, count: int, sockets: Iterable[int]) -> int:
        """Take GPUs of these sockets, in this order; give their number."""
        taken = 0
        for socket in sockets:
            here = [*islice(self._left.get(socket, ()), max(count - taken, 0))]
            self._left[socket] = self._left.get(socket, [])[len(here) :]
            self.gpus |= sum(1 << gpu for gpu in here)
            taken += len(here)
        return taken

    def has(self, socket: int) -> int:
        """Count the GPUs of a socket that are left."""
        return len(self._left.get(socket, ()))

    def used(self) -> list[int]:
        """Give the sockets on which the job has cores."""
        return [socket for socket, count in enumerate(self.held) if count]

    def unused(self) -> list[int]:
        """Give the other sockets."""
        return [socket for socket, count in enumerate(self.held) if not count]


def choose(needs: Needs, places: Sequence[Place], is_of: Callable[[Gres, str], bool]) -> None:
    """Choose the GPUs of a job, node by node."""
    for one, per_node, per_socket, per_task, per_job in asked_for(needs):
        for place in places:
            place.of_kind(one, is_of, enforce=needs.enforces_binding)
            if per_node:
                _on_node(place, per_node)
            elif per_socket:
                _on_sockets(needs, place, per_socket)
            elif per_task:
                _for_tasks(needs, place, per_task)
        if per_job and not per_task:
            _in_all(needs, places, per_job)


def _on_node(place: Place, count: int) -> None:
    for socket in (-1, *place.used()):
        if count:
            count -= place.take(1, [socket])
    count -= place.take(count, (-1, *place.used()))
    place.take(count, place.unused())


def _on_sockets(needs: Needs, place: Place, count: int) -> None:
    sockets = place.used()
    missing = needs.sockets_asked - len(sockets)
    sockets += [socket for socket in place.unused() if place.has(socket) >= count][: max(missing, 0)]
    for socket in sorted(sockets):
        place.take(count - place.take(count, [socket]), [-1])


def _for_tasks(needs: Needs, place: Place, count: int) -> None:
    most = place.tasks
    wanted = taken = tasks = 0
    for socket, cores in enumerate(place.held):
        own = cores * (needs.tasks_per_core or place.threads)
        if needs.sockets is not None and needs.sockets.tasks:
            own = min(own, needs.sockets.tasks)
        own = min(own, most - tasks)
        tasks += own
        wanted = tasks * count
        if own or not socket:
            taken += place.take(wanted - taken, [socket])
    place.take(most * count - taken, range(-1, len(place.held)))


def _in_all(needs: Needs, places: Sequence[Place], count: int) -> None:
    per_gpu = needs.gres_tasks.cpus_per_gres if needs.gres_tasks else 0
    left = count
    for to_come, place in zip(reversed(range(len(places))), places, strict=True):
        most = left - to_come
        if per_gpu:
            most = min(most, sum(place.held) * place.threads // per_gpu)
        taken = place.take(most, (-1, *place.used()))
        if not taken:
            taken = place.take(1, place.unused())
        left -= taken
    for place in places:
        left -= place.take(left, range(-1, len(place.held)))
