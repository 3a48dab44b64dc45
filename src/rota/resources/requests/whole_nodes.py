"""The choice of whole nodes as by Slurm's ``select/linear``.

What a node offers does not change, so a request is evaluated once into bitmaps of nodes: `WholeNodeNeeds`. Nodes are
chosen as follows:

1. Nodes are grouped by weight, and among equals by their line of slurm.conf. Group after group is added to the
   candidates until there are enough nodes and the job fits on them. From then on weights do not matter.
2. Nodes that the job names or counts are chosen in any case.
3. If candidates have different numbers of processors, and the smallest ones would not suffice, the largest are chosen,
   the last of equal ones.
4. Else nodes are chosen by runs of adjacent nodes: the shortest that suffices or, if none does, the longest, and so on.
   In a run with a required node, nodes are chosen upwards from it, then downwards; in others upwards from the first.
5. If all nodes must be adjacent, they are chosen from the shortest run that suffices in the same way. If these are too
   many, or not all counts are satisfied, the first part of a run that suffices is chosen.

The job gets all processors of a node, including those that do not suffice for another task. Memory for each processor
is for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import or_
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rota.model import Errno, RequestError
from rota.resources.contiguous import each_run, take_runs
from rota.resources.nodeset import from_mask, highest, lowest, to_mask
from rota.resources.requests.request_class import RequestClass
from rota.resources.view import CPU, MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rota.model import Node
    from rota.resources.requests.needs import Needs
    from rota.resources.view import View

K = TypeVar("K", int, tuple[int, int])
#: More than the number of nodes of any machine.
_MANY = 2**32
#: Largest number of counted sets of contiguous nodes, whose unions are all examined.
_MOST_COUNTS = 8
#: Largest number of evaluated requests that are cached.
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNodeNeeds(RequestClass):
    """An evaluated request for whole nodes: numbers of nodes, and bitmaps of nodes."""

    #: Number of processors on all nodes together.
    cpus: int
    #: Smallest number of nodes, the number to aim at, and the largest.
    least: int
    wanted: int
    most: int
    #: Number of processors that the job could have on a node, and the nodes with so many; largest first.
    sizes: tuple[tuple[int, int], ...]
    #: Nodes that the job must get.
    required: int
    #: Sets of nodes, and the number needed of each; of contiguous nodes, unions of any such sets, and the numbers of
    #: these.
    counted: tuple[tuple[int, int], ...]
    contiguous: bool
    #: Sets of which one has to contain all nodes of the job, in order: each as a whole, and in groups, lightest first.
    allowed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: Union of these sets.
    usable: int = 0
    #: Smallest number of nodes, processors considered; 0: it can never run.
    units: int = 0
    #: Largest number of nodes, if all usable nodes are alike and only numbers are asked for; else 0.
    plain: int = 0
    #: The same with preferred features in place of required ones, which is tried first.
    preferred: WholeNodeNeeds | None = None

    @property
    def least_ever(self) -> int:
        """The smallest number of nodes with which a job of this request could ever run."""
        if self.preferred is None:
            return self.units
        # As in Slurm, which does not check whether the others would suffice.
        return self.preferred.units and min(self.preferred.units, self.units or self.preferred.units)

    @property
    def ever_usable(self) -> int:
        """Bitmap of the nodes that could ever serve a job of this request."""
        return self.usable if self.preferred is None else self.usable | self.preferred.usable

    @property
    def tries(self) -> tuple[WholeNodeNeeds, ...]:
        """The requests that are tried, in order, when the job starts now."""
        return (self,) if self.preferred is None else (self.preferred, self)

    def find(self, avail: int, *, by_weight: bool = True, heavier: int = 0) -> int:
        """Give the nodes that a job gets of the free ones, 0 if it does not fit.

        Args:
            avail: Bitmap of the free nodes.
            by_weight: Whether lighter nodes are preferred; else all are one group.
            heavier: Bitmap of nodes that are a little heavier than others of their group.
        """
        candidates = avail & self.usable
        if candidates.bit_count() < self.units:
            return 0
        if self.plain and not heavier:
            return take_runs(candidates, self.units, self.plain)
        for nodes, parts in self.allowed:
            groups = parts if by_weight else (nodes,)
            if heavier:
                groups = tuple(some for part in groups for some in (part & ~heavier, part & heavier) if some)
            if chosen := self.choose(avail & nodes, groups):
                return chosen
        return 0

    def choose(self, candidates: int, parts: tuple[int, ...]) -> int:
        """Give the nodes that a job gets of candidates, 0 if it does not fit."""
        required = self.required
        for group, count in () if self.contiguous else self.counted:
            some = _lightest(candidates & group & ~required, parts, count)
            if not some:
                return 0
            required |= some
        if required & ~candidates:
            return 0
        nodes = required
        for part in parts:
            nodes |= candidates & part
            if nodes.bit_count() >= self.wanted and (chosen := self._pick(nodes, required)):
                return chosen
        return self._pick(nodes, required) if self.least <= nodes.bit_count() < self.wanted else 0

    def _pick(self, nodes: int, required: int) -> int:
        """Choose among nodes regardless of weight; 0 if there are too few."""
        sizes = self.sizes
        if len(sizes) > 1:
            sizes = tuple(item for item in sizes if nodes & item[1])
        cpus, least, count = self.cpus, self.least, self.wanted
        if required:
            held = required.bit_count()
            cpus, least, count = cpus - self.cpus_of(required), least - held, count - held
        smallest = sizes[-1][0]
        if len(sizes) == 1:
            number = -(-cpus // smallest)
            least, count = max(least, number), max(count, number)
            if not required and not self.contiguous:
                return take_runs(nodes, least, count) if nodes.bit_count() >= least and count <= self.most else 0
        if len(sizes) > 1 and cpus > smallest * count and not self.contiguous:
            taken = required | self.largest(nodes & ~required, cpus, count)
        else:
            taken = self._by_runs(nodes, required, cpus, least, count)
        if self.suffices(taken):
            return taken
        return self._part_of_run(nodes) if self.contiguous and (len(sizes) > 1 or self.counted) else 0

    def suffices(self, taken: int) -> bool:
        """Whether nodes are neither too few nor too many."""
        if not self.least <= taken.bit_count() <= self.most or self.cpus_of(taken) < self.cpus:
            return False
        return not self.contiguous or all((taken & group).bit_count() >= count for group, count in self.counted)

    def fewest(self, nodes: int) -> int:
        """Give the smallest number of some nodes that suffices, considering numbers only."""
        held = self.required.bit_count()
        others = self.largest(nodes & ~self.required, self.cpus - self.cpus_of(self.required), self.least - held)
        return held + others.bit_count()

    def cpus_of(self, nodes: int) -> int:
        """Count the processors that the job could have on nodes."""
        return sum(size * (nodes & bitmap).bit_count() for size, bitmap in self.sizes)

    def largest(self, nodes: int, cpus: int, count: int) -> int:
        """Choose the largest nodes, the last of equal ones, until processors and nodes suffice; else all."""
        taken = 0
        for size, bitmap in self.sizes:
            here = nodes & bitmap
            number = min(max(-(-cpus // size), count, 0), here.bit_count())
            taken |= highest(here, number)
            cpus -= number * size
            count -= number
        return taken

    def _by_runs(self, nodes: int, required: int, cpus: int, least: int, count: int) -> int:
        """Add nodes to the required ones, run by run, up to a number; at least until they suffice."""
        runs = list(each_run(nodes))
        if self.contiguous and required:
            runs = [run for run in runs if run & required]
        left = [(run & ~required, self.cpus_of(run & ~required), run & required) for run in runs if run & ~required]
        taken = required
        while left and count > 0:
            best, fits = left[0], False
            for position, one in enumerate(left):
                free, has, held = one
                enough = has >= cpus and free.bit_count() >= least
                # Slurm examines the runs in order, so this alone is no preference.
                if (
                    not position
                    or (held and not best[2])
                    or (enough and (not fits or has < best[1]))
                    or (not enough and has > best[1])
                ):
                    best, fits = one, enough
            if self.contiguous and not fits:
                break
            left.remove(best)
            free, _, held = best
            some = _from_run(free, held, count)
            while self.contiguous and some != free and self.cpus_of(some) < cpus:
                some = _from_run(free, held, some.bit_count() + 1)
            if self.contiguous:
                return taken | some
            taken |= some
            number = some.bit_count()
            cpus, least, count = cpus - self.cpus_of(some), least - number, count - number
        return taken

    def _part_of_run(self, nodes: int) -> int:
        """Choose adjacent nodes that suffice: the first ones of the shortest run, 0 if there are none.

        With required nodes, which must all be there, it goes downwards from them only as far as necessary.
        """
        length = nodes.bit_length()
        index, there = np.arange(length), to_mask(nodes, length)
        end = np.minimum.accumulate(np.where(there, length, index)[::-1])[::-1]
        begin = np.maximum.accumulate(np.where(there, -1, index)) + 1
        last = np.minimum(end, index + min(self.most, length))
        cpus = np.zeros(length, np.int64)
        for size, group in self.sizes:
            cpus[to_mask(nodes & group, length)] = size
        # Cumulative sums of what is needed: a range suffices if their difference does.
        sums = [(_sums(cpus), self.cpus)]
        sums += [(_sums(to_mask(nodes & group, length)), count) for group, count in self.counted]
        suits = there & (last - index >= self.least)
        for total, count in sums:
            suits &= total[last] - total[index] >= count
        if self.required:
            suits &= (index < lowest(self.required, 1).bit_length()) & (last >= self.required.bit_length())
        starts = suits.nonzero()[0]
        if not len(starts):
            return 0
        total = sums[0][0]
        tightest = starts[(total[end] - total[begin])[starts].argmin()]
        start = int(starts[-1] if self.required else tightest)
        ends = [int(np.searchsorted(total, total[start] + count)) for total, count in sums]
        stop = max(min(start + self.wanted, int(last[start])), self.required.bit_length(), *ends)
        return (1 << stop) - (1 << start)


class WholeNodeReader:
    """Evaluates needs for whole nodes.

    Args:
        nodes: The nodes.
        whole: All resources, a row for each kind of resource, as in `Requests`.
        by_line: Whether nodes of equal weight are grouped by their line of slurm.conf.
    """

    __slots__ = ("_cores", "_known", "_parts", "_whole")

    def __init__(self, nodes: Sequence[Node], whole: View, *, by_line: bool = True) -> None:
        self._whole = whole
        self._cores = [node.sockets * node.cores_per_socket for node in nodes]
        #: Groups of nodes of equal weight and line of slurm.conf, in the order in which they are allocated.
        self._parts = tuple(_grouped((node.weight, node.line if by_line else 0) for node in nodes).values())
        #: Results, each once: different requests may have equal results.
        self._known: dict[WholeNodeNeeds, WholeNodeNeeds] = {}

    def make(self, needs: Needs) -> WholeNodeNeeds:
        """Evaluate needs; equal results are the same object.

        Raises:
            RequestError: GRES are asked for in a way that whole nodes do not support, or too many features are counted.
        """
        if needs.divides_gres:
            raise RequestError(
                "Requested GRES option unsupported by configured SelectType plugin: whole nodes have GRES by node only",
                Errno.UNSUPPORTED_GRES,
            )
        if needs.contiguous and len(needs.counted) > _MOST_COUNTS:
            raise RequestError(
                f"Invalid feature specification: {len(needs.counted)} counts; of nodes that follow each other "
                f"{_MOST_COUNTS} can be counted at most",
                Errno.INVALID_FEATURE,
            )
        required = 0 if needs.required is None else from_mask(needs.required)
        if needs.contiguous and required:  # then all nodes in between are required as well
            required = (1 << required.bit_length()) - (required & -required)
        feasible = self._feasible(needs)
        sets = [nodes & feasible for nodes in needs.allowed]
        counted = [(from_mask(group) & feasible, count) for group, count in needs.counted]
        least = max(needs.min_nodes, required.bit_count())
        kind = WholeNodeNeeds(
            cpus=needs.cpus,
            least=least,
            wanted=max(needs.req_nodes, least),
            most=needs.max_nodes or _MANY,
            sizes=self._sizes(needs, reduce(or_, sets)),
            required=required,
            counted=tuple(_of_any(counted) if needs.contiguous else counted),
            contiguous=needs.contiguous,
        )
        parts = [tuple(part & nodes for part in self._parts if part & nodes) for nodes in sets]
        allowed = tuple((nodes, some) for nodes, some in zip(sets, parts, strict=True) if kind.choose(nodes, some))
        units = min((kind.fewest(nodes) for nodes, _ in allowed), default=0)
        kind = replace(kind, allowed=allowed, usable=reduce(or_, (nodes for nodes, _ in allowed), 0), units=units)
        particular = kind.required or kind.counted or kind.contiguous
        if not particular and len(kind.sizes) == 1 and [len(some) for _, some in allowed] == [1]:
            kind = replace(kind, plain=max(kind.wanted, units))
        if needs.preferred is not None:
            kind = replace(kind, preferred=self.make(needs.preferred))
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        return self._known.setdefault(kind, kind)

    def _feasible(self, needs: Needs) -> int:
        """Give the nodes that could serve part of the job."""
        whole = self._whole
        feasible = whole[CPU] >= max(needs.on_each, 1)
        if needs.memory_per_cpu:
            feasible &= whole[MEMORY] >= needs.memory_per_cpu * whole[CPU].astype(np.int64)
        elif needs.memory > 0:
            feasible &= whole[MEMORY] >= needs.memory
        for one in needs.gres:
            feasible &= whole[one.row] >= one.number
        return from_mask(feasible)

    def _sizes(self, needs: Needs, usable: int) -> tuple[tuple[int, int], ...]:
        sizes = self._whole[CPU].tolist()
        if needs.tasks_per_core:  # as in Slurm, each core then counts as if it had the processors of these tasks
            cpus = needs.tasks_per_core * needs.per_task
            sizes = [max(size, cores * cpus) for size, cores in zip(sizes, self._cores, strict=True)]
        if needs.tasks_per_node:
            most = needs.tasks_per_node * needs.per_task
            sizes = [min(size, most) for size in sizes]
        found = ((size, nodes & usable) for size, nodes in reversed(_grouped(sizes).items()))
        return tuple(item for item in found if item[1])


def _grouped(keys: Iterable[K]) -> dict[K, int]:
    """Group nodes by key, given a key for each node; give a bitmap for each key."""
    bitmaps: dict[K, int] = {}
    for position, key in enumerate(keys):
        bitmaps[key] = bitmaps.get(key, 0) | 1 << position
    return dict(sorted(bitmaps.items()))


def _sums(numbers: NDArray[np.int64 | np.bool_]) -> NDArray[np.int64]:
    """Give cumulative sums, beginning with 0."""
    return np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))


def _of_any(counted: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Give the number of nodes needed of the union of any of the sets, each of which counts nodes of its own.

    There are enough nodes for all sets if and only if there are enough for all of these (Hall's theorem).
    """
    for number in range(1, len(counted) + 1):
        for some in combinations(counted, number):
            yield reduce(or_, (group for group, _ in some)), sum(count for _, count in some)


def _lightest(candidates: int, parts: tuple[int, ...], count: int) -> int:
    """Choose the lightest candidates, 0 if there are too few."""
    nodes = 0
    for part in parts:
        nodes |= candidates & part
        if nodes.bit_count() >= count:
            return take_runs(nodes, count, count)
    return 0


def _from_run(free: int, held: int, count: int) -> int:
    """Choose free nodes of a run: upwards from the first required one, if there is one, then downwards."""
    above = free & -(held & -held or 1)
    below = free ^ above
    number = min(count, above.bit_count())
    return lowest(above, number) | highest(below, min(count - number, below.bit_count()))
