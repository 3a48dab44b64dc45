"""Which cores of a node a job with GPUs can use, where cores are told apart, and which nodes suffice.

The rules are those of Slurm's ``cons_tres``:

1. GPUs near cores of one socket or some sockets belong to the first of these; GPUs that are near cores of all sockets
   belong to none. With ``--gres-flags=enforce-binding`` only sockets count that have free cores.
2. A job first tries to have GPUs and cores of the same sockets alone. Sockets are considered in the order of how many
   free cores they have. Those with none of its GPUs, and those behind the ones that have enough, are left out.
3. If it cannot start so, it has any cores: but with ``--gres-flags=enforce-binding``.
4. Of the cores that are left it can use as many as go with the tasks that its GPUs suffice for, spread over the
   sockets: see `gres_cores`.
5. Among nodes of one weight, those with more GPUs on sockets with free cores are preferred, up to as many as it asks
   for.

O(cores + GPUs) for each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.resources.requests.needs import Gres, Needs

#: Most GPUs by which nodes are told apart.
MOST_NEAR = 255
#: More tasks than there are.
_ANY = 2**31


class Group(NamedTuple):
    """GPUs of a node that are of one type, and near the same cores."""

    #: ``gpu``, ``gpu:a100``.
    kind: str
    #: A bitmap.
    gpus: int
    #: The sockets of these cores; empty: it does not matter.
    sockets: tuple[int, ...] = ()


class Node(NamedTuple):
    """What is free on a node."""

    groups: tuple[Group, ...]
    #: Bitmap of the free GPUs.
    gpus: int
    #: The free cores of each socket, and processors of each core.
    cores: tuple[tuple[int, ...], ...]
    threads: int
    #: Largest number of processors, considering memory and the like.
    cpus: int
    #: Largest number of GPUs that memory suffices for; ``None``: any.
    most_gpus: int | None = None


class Usable(NamedTuple):
    """What a job can use of a node."""

    #: The cores of each socket.
    cores: tuple[tuple[int, ...], ...]
    cpus: int
    #: GPUs that it could have there, and those on sockets with free cores.
    gpus: int
    near: int
    #: Smallest number of cores.
    least_cores: int = 0


@dataclass(slots=True)
class Found:
    """GPUs of one kind on a node."""

    one: Gres
    #: How many it asks for on each node, socket and task, and in all; 0: not so.
    per_node: int
    per_socket: int
    per_task: int
    per_job: int
    #: How many there are near none of the sockets, near each, and in all.
    anywhere: int
    by_socket: list[int]
    total: int
    #: The most that it can have; 0: no bound.
    most: int = 0

    @property
    def least(self) -> int:
        """The smallest number on a node."""
        return max(self.per_node, self.per_task)


def asked_for(needs: Needs) -> list[tuple[Gres, int, int, int, int]]:
    """Give the GPUs that a job asks for: on each node, socket and task, and in all."""
    found = [(one, 0, one.number, 0, 0) for one in needs.gres_per_socket]
    found += [(one, one.number, 0, 0, 0) for one in needs.gres if one.gpu]
    tasks = needs.gres_tasks.total if needs.gres_tasks else 0
    found += [(one, 0, 0, one.number, one.number * tasks) for one in needs.gres_per_task if one.gpu]
    return found + [(one, 0, 0, 0, one.number) for one in needs.gres_per_job if one.gpu]


def home(group: Group, cores: Sequence[Sequence[int]], *, enforce: bool) -> int | None:
    """Give the socket to which GPUs belong; -1: to none, ``None``: they cannot be used."""
    if not group.sockets or len(group.sockets) == len(cores):
        return -1
    return next((socket for socket in group.sockets if cores[socket] or not enforce), None)


def usable(needs: Needs, node: Node, is_of: Callable[[Gres, str], bool], *, first: bool) -> Usable | None:
    """Give what a job can use of a node; ``None``: it suffices for no part of it.

    Args:
        needs: The evaluated request, with `Needs.gres_tasks`.
        node: What is free.
        is_of: Whether GPUs that are asked for are of a kind.
        first: Whether the job shall have GPUs and cores of the same sockets.
    """
    enforce, cores = needs.enforces_binding, [[*own] for own in node.cores]
    every = []
    for asked in asked_for(needs):
        found = _found(asked, node, cores, is_of, enforce=enforce)
        if found.per_job and enforce:
            _fewest_sockets(found, cores, _sockets_of_job(needs))
        if not found.total or found.total < found.least or not any(cores):
            return None
        every.append(found)
    if needs.sockets is not None and sum(map(bool, cores)) < needs.sockets.sockets:
        return None
    if sum(map(len, cores)) * node.threads < needs.on_each:
        return None
    if any(not _is_enough(needs, node, one, cores) for one in every):
        return None
    near = sum(_near(one, cores) for one in every)
    gpus = sum(one.total for one in every)
    if not first:  # as in Slurm, GPUs that the first try has found not to be usable stay so
        tried = _Narrowing(needs, node, [[*own] for own in cores], first=True)
        for one in every:
            if not tried.narrow(one):
                break
    left = _Narrowing(needs, node, cores, first=first)
    # Those for each socket come first.
    if not all(left.narrow(one) for one in every):
        return None
    gpus = min(gpus, sum(one.total for one in every))
    return left.result(gpus=gpus, near=min(near, MOST_NEAR), in_all=any(one.per_job for one in every))


def _found(
    asked: tuple[Gres, int, int, int, int],
    node: Node,
    cores: list[list[int]],
    is_of: Callable[[Gres, str], bool],
    *,
    enforce: bool,
) -> Found:
    found = Found(*asked, 0, [0] * len(cores), 0)
    for group in node.groups:
        count = (group.gpus & node.gpus).bit_count()
        socket = home(group, cores, enforce=enforce) if count and is_of(found.one, group.kind) else None
        if socket is None:
            continue
        if socket < 0:
            found.anywhere += count
        else:
            found.by_socket[socket] += count
        found.total += count
    if found.per_socket:
        for socket, count in enumerate(found.by_socket):
            kept = found.per_socket if count >= found.per_socket else 0
            if not kept and enforce:
                cores[socket].clear()
            found.total -= count - kept
            found.by_socket[socket] = kept
    return found


def _sockets_of_job(needs: Needs) -> int:
    """Give the number of sockets of a node that a job needs; 0: any."""
    on_node = max(needs.cpus, 1) // max(needs.min_nodes, 1)
    if on_node <= 1:
        return 1
    if needs.sockets is not None and needs.sockets.tasks:
        return -(-(on_node // needs.per_task) // needs.sockets.tasks)
    return 0


def _fewest_sockets(found: Found, cores: list[list[int]], most: int) -> None:
    """Leave out the sockets with the fewest GPUs, until there are no more than a job needs."""
    have = [socket for socket, count in enumerate(found.by_socket) if count and cores[socket]]
    while most and most < len(cores) and len(have) > most:
        fewest = min(have, key=found.by_socket.__getitem__)
        have.remove(fewest)
        cores[fewest].clear()
        found.total -= found.by_socket[fewest]
        found.by_socket[fewest] = 0


def _is_enough(needs: Needs, node: Node, found: Found, cores: list[list[int]]) -> bool:
    """Whether there are enough GPUs of a kind; sets how many a job can have."""
    asked = needs.gres_tasks
    least = found.total if needs.whole else max(found.per_node, 1)
    if found.per_socket:
        least = max(least, found.per_socket * (_sockets_of_job(needs) or 1))
    if found.per_task:
        least = max(least, found.per_task * (needs.tasks_per_node or 0))
    per_gpu = asked.cpus_per_gres if asked else 0
    if node.most_gpus is not None:
        found.most = node.most_gpus
        if not found.most:
            return False
    if needs.enforces_binding:
        for socket, own in enumerate(cores):
            if not own:
                found.total -= found.by_socket[socket]
                found.by_socket[socket] = 0
    if not needs.whole:
        found.most = min(filter(None, (found.most, found.per_node or found.per_job)), default=0)
    if per_gpu:
        room = sum(map(len, cores)) * node.threads // per_gpu
        if not room or max(found.per_node, found.per_task, found.per_socket) > node.cpus // per_gpu:
            return False
        found.most = min(found.most or room, room)
    if node.most_gpus is not None:
        found.total = min(found.total, node.most_gpus)
    return found.total >= least and (not found.most or found.most >= least)


def _near(found: Found, cores: list[list[int]]) -> int:
    """Count the GPUs on sockets with free cores, up to as many as a job can have."""
    far = sum(count for socket, count in enumerate(found.by_socket) if not cores[socket])
    near = found.total - far
    return min(near, found.most) if found.most else near


class _Narrowing:
    """Leaves out cores of a node that do not go with a job's GPUs."""

    def __init__(self, needs: Needs, node: Node, cores: list[list[int]], *, first: bool) -> None:
        asked = needs.gres_tasks
        if asked is None:
            raise TypeError("no GRES are asked for")
        self._needs, self._asked, self._cores = needs, asked, cores
        self._enforce, self._first = needs.enforces_binding, first
        self._node_threads = node.threads
        self._threads = min(needs.threads_per_core or node.threads, node.threads)
        self._cpus, self._all_cpus = node.cpus, node.cpus
        self._required: set[int] = set()
        tasks = _ANY if asked.overcommit else self._cpus // asked.per_task
        self._least, self._most = asked.least, min(asked.most or _ANY, tasks) if tasks >= asked.least else 0
        self._least_cores = 0

    def result(self, *, gpus: int, near: int, in_all: bool) -> Usable | None:
        """Give what is left; ``None``: nothing. Of a job whose GPUs are counted in all, only their processors count."""
        cpus = self._cpus
        if not self._asked.cpus_per_gres:
            cpus = min(cpus, self._most * self._asked.per_task)
        cpus = min(cpus, self._count() * self._threads)
        if in_all and self._asked.cpus_per_gres:
            cpus = min(cpus // self._asked.cpus_per_gres, gpus) * self._asked.cpus_per_gres
        if self._needs.per_task > 1:
            cpus -= cpus % self._needs.per_task
        if cpus >= max(self._needs.tasks_per_node, 1) * self._needs.per_task:
            # With its tasks come the processors that it asks for on each node besides: these need not be near its GPUs.
            cpus = max(cpus, min(self._needs.on_each, self._all_cpus))
        return Usable(tuple(map(tuple, self._cores)), cpus, gpus, near, self._least_cores) if cpus > 0 else None

    def narrow(self, found: Found) -> bool:
        """Leave out cores that do not go with GPUs of one kind; false: nothing is left."""
        most = min(found.most, found.per_job) if found.per_job and found.most else found.most
        if most and max(found.per_node, found.per_socket) > most:
            return False
        there = self._in_sockets(found, most)
        per_gpu = self._asked.cpus_per_gres
        if per_gpu:
            there = min(there, most or there, self._cpus // per_gpu)
        if not there or max(found.per_node, found.per_task) > there:
            return False
        if found.per_task:
            self._most = min(self._most, there // found.per_task)
        self._most -= self._most % self._asked.least
        if not self._most:
            return False
        if self._enforce or self._first:
            for socket in range(len(self._cores)):
                if socket not in self._required:
                    self._leave_out(socket, len(self._cores[socket]))
        if self._most >= _ANY - self._asked.least:  # any number
            found.total = min(found.total, self._cpus // per_gpu) if per_gpu else found.total
            return True
        needed = self._needed(found, there)
        if needed > self._count() or (self._enforce and needed * self._threads > self._cpus):
            return False
        self._spread(needed)
        if per_gpu:
            found.total = min(found.total, self._cpus // per_gpu)
        if self._enforce:
            self._least_cores = min(self._least_cores or needed, needed)
        return max(found.per_node, found.per_task) <= found.total

    def _in_sockets(self, found: Found, most: int) -> int:
        """Say which sockets are required for GPUs; count the GPUs that can be used."""
        asked, together = self._asked, self._enforce or self._first
        least_cores = -(-max(self._least, 1) * asked.per_task // self._node_threads)
        there, is_enough = found.anywhere, False
        for socket in sorted(range(len(self._cores)), key=lambda socket: -len(self._cores[socket])):
            own = found.by_socket[socket]
            if together and asked.cpus_per_gres:
                own = min(own, len(self._cores[socket]) * self._node_threads // asked.cpus_per_gres)
            on_socket = found.anywhere + own
            if found.per_socket > on_socket or not on_socket:
                if found.per_socket > on_socket or self._enforce:
                    found.total -= found.by_socket[socket]
                    found.by_socket[socket] = 0
                if self._first:
                    self._leave_out(socket, min(len(self._cores[socket]), self._count() - least_cores))
            if together and not self._cores[socket]:
                continue
            there += own
            if not is_enough:
                self._required.add(socket)
            enough = min(filter(None, (found.per_node, most)), default=0)
            is_enough = is_enough or bool(not found.anywhere and enough and there >= enough)
        return there

    def _needed(self, found: Found, there: int) -> int:
        """Give the number of cores that a job needs at most; tasks for which there are too few are left out."""
        per_task = self._asked.task_cpus(self._threads)
        needed = self._most * per_task
        while self._most >= self._least:
            needed = -(-needed // self._threads)
            if needed <= self._count():
                break
            self._most -= 1  # as in Slurm also one less than the least
            needed = self._most * per_task
        if per_gpu := self._asked.cpus_per_gres:
            number = found.per_node or found.per_socket * len(self._required) or found.per_task * self._most or there
            needed = max(needed, -(-number * per_gpu // self._node_threads))
        return max(needed, len(self._required)) if self._enforce else needed

    def _spread(self, needed: int) -> None:
        """Leave so many cores, spread over the sockets."""
        if not (self._enforce or self._first):
            for socket in range(len(self._cores)):
                if socket not in self._required:
                    self._leave_out(socket, min(len(self._cores[socket]), self._count() - needed))
        required = sorted(self._required)
        while self._count() > needed and any(self._cores[socket] for socket in required):
            self._leave_out(max(required, key=lambda socket: len(self._cores[socket])), 1)

    def _count(self) -> int:
        return sum(map(len, self._cores))

    def _leave_out(self, socket: int, count: int) -> None:
        """Leave out the last cores of a socket."""
        for _ in range(count):
            self._cores[socket].pop()
            if self._count() * self._node_threads < self._cpus:
                self._cpus -= self._node_threads
