"""The cores and GPUs of this machine that jobs get for themselves.

The nodes of the configuration are parts of this machine, in their order, if it has as many processors as they have
together; then each job is bound to processors of its own: to those that it was allocated, where cores are told apart.
Otherwise the nodes are only virtual, and jobs are not bound.
The same holds for GPUs, but that a job knows the numbers of its GPUs even if this machine has too few.

What a run has been given stays its own until it ends, over restarts of the controller.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rota.model.gres import GPU, gpus_of
from rota.model.tres import by_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.model import Node
    from rota.model.lines import AllocationLine


class NodeDevices(NamedTuple):
    """Ids of processors and GPUs of this machine; empty: not bound."""

    cpus: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()


class Devices:
    """Assigns processors and GPUs of this machine.

    Args:
        nodes: The configuration's nodes.
        cpus: Ids of this machine's processors.
        gpus: Number of its GPUs.
    """

    def __init__(self, nodes: Sequence[Node], cpus: Sequence[int], gpus: int) -> None:
        #: The parts of each node, by name; a node without a part of that kind is not listed.
        self._cpus = _divide(list(cpus), [(node.name, node.cpus) for node in nodes])
        numbers = [(node.name, node.gres_counts.get(GPU, 0)) for node in nodes]
        #: GPUs are numbered from 0 on each node; beyond this machine's they are not there.
        self._gpus = _divide(list(range(gpus)), numbers) or {name: range(count) for name, count in numbers}
        #: The kind of each GPU, ``gpu:a100``, in their order.
        self._kinds = {
            node.name: [one.kind for one in gpus_of(node.gres) for _ in range(one.number)]
            for node in nodes
            if node.gres_counts.get(GPU)
        }
        self._used: dict[str, tuple[set[int], set[int]]] = {node.name: (set(), set()) for node in nodes}

    def choose(
        self, allocation: Iterable[AllocationLine], known: Mapping[str, Mapping[str, tuple[int, ...]]]
    ) -> dict[str, NodeDevices]:
        """Choose processors and GPUs for a run, by node.

        Args:
            allocation: What it has of each node.
            known: Which GPUs, by node and type, where that is known.
        """
        chosen = {}
        for one in allocation:
            cpus, gpus = self._used.setdefault(one.node, (set(), set()))
            own, parts = self._cpus.get(one.node, ()), self._gpus.get(one.node, ())
            chosen[one.node] = NodeDevices(
                _those(own, cpus, one.processors) or _take(own, cpus, one.cpus),
                _those(parts, gpus, sorted(chain(*known.get(one.node, {}).values()))) or self._take_gpus(one, gpus),
            )
        self.add(chosen)
        return chosen

    def _take_gpus(self, one: AllocationLine, used: set[int]) -> tuple[int, ...]:
        """Choose the first free ones of each kind; none if there are too few."""
        found, kinds, wanted = list[int](), self.gpu_kinds(one.node), one.gres.get(GPU, 0)
        for kind, count in sorted(by_type(one.gres).items(), reverse=True):  # those without a type last
            if kind.partition(":")[0] == GPU:
                suitable = [gpu for gpu in kinds if kind in {GPU, kinds[gpu]}]
                found += _take(suitable, used.union(found), count)
        return tuple(sorted(found)) if len(found) == wanted else ()

    def gpu_kinds(self, node: str) -> dict[int, str]:
        """Give the kind of each GPU of a node, ``gpu`` or ``gpu:a100``, by its id."""
        return dict(zip(self._gpus.get(node, ()), self._kinds.get(node, ()), strict=False))

    def add(self, chosen: Mapping[str, NodeDevices]) -> None:
        """Note what a run has."""
        for node, (cpus, gpus) in chosen.items():
            used = self._used.setdefault(node, (set(), set()))
            used[0].update(cpus)
            used[1].update(gpus)

    def free(self, chosen: Mapping[str, NodeDevices]) -> None:
        """Take back what a run has had."""
        for node, (cpus, gpus) in chosen.items():
            used = self._used.get(node, (set(), set()))
            used[0].difference_update(cpus)
            used[1].difference_update(gpus)


def _divide(every: list[int], sizes: Sequence[tuple[str, int]]) -> dict[str, Sequence[int]]:
    """Give each node its part; nothing if there is not enough for all."""
    if sum(size for _, size in sizes) > len(every):
        return {}
    parts: dict[str, Sequence[int]] = {}
    first = 0
    for name, size in sizes:
        parts[name] = every[first : first + size]
        first += size
    return parts


def _those(own: Sequence[int], used: set[int], places: Sequence[int]) -> tuple[int, ...]:
    """Choose those that are known to be the job's; none if one is not there or not free."""
    found = tuple(own[place] for place in places if place < len(own))
    return found if len(found) == len(places) and used.isdisjoint(found) else ()


def _take(own: Sequence[int], used: set[int], count: int) -> tuple[int, ...]:
    """Choose the first ones that are free; none if there are too few, as where jobs share cores."""
    free = [one for one in own if one not in used][:count]
    return tuple(free) if len(free) == count else ()
