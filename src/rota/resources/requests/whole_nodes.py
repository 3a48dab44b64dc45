"""Which whole nodes a job gets, as Slurm's ``select/linear`` does it.

What a node can offer never changes, so that a request comes down to sets of nodes, worked out once for all like it:
`WholeNodeNeeds`. Which of them a job gets:

1. Nodes come in sets, by weight and among equals by their line of slurm.conf. One set after the other is added, until
   there are enough nodes and the job fits on them. Whatever their weight, these are then candidates alike.
2. Nodes that the job names or counts are taken in any case.
3. Where candidates have different numbers of processors, and as many of the smallest as the job asks for would have too
   few, the largest are taken, of equal ones the last.
4. Else nodes are taken in runs that follow each other: the tightest that suffices or, when none does, the largest, and
   so on. In a run that holds a required node it goes up from there, and then down; in others up from the first.
5. Where all nodes have to follow each other, they are part of the tightest run that suffices, taken in the same way.
   If these are too many, or not all that are counted, it is the first part of a run that will do.

All processors of a node are the job's, also those that are too few for one more task. Memory for each processor is for
all of them.
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
#: More nodes than any machine has.
_MANY = 2**32
#: Sets of counted nodes whose unions are all looked at.
_MOST_COUNTS = 8
#: Requests that are remembered.
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNodeNeeds(RequestClass):
    """What jobs with one request need: numbers of nodes, and bitmaps of those that could serve them."""

    #: Processors in all.
    cpus: int
    #: Least nodes, those that it would have, and most.
    least: int
    wanted: int
    most: int
    #: Processors that the job could have on a node, and the nodes where that is so; largest first.
    sizes: tuple[tuple[int, int], ...]
    #: Nodes that must all be used.
    required: int
    #: Sets of nodes of which so many must be used. Of contiguous nodes: of the union of any, so many.
    counted: tuple[tuple[int, int], ...]
    contiguous: bool
    #: Sets of which all nodes must come from one, the first that will do: each whole, and in parts, lightest first.
    allowed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: The union of these.
    usable: int = 0
    #: Nodes that it takes at least, processors considered; 0: it can never run.
    units: int = 0
    #: Nodes that it takes at most, if all that could serve it are alike and numbers are all it asks for; else 0.
    plain: int = 0
    #: The same with the features that are preferred in the place of those that are needed: this is tried first.
    preferred: WholeNodeNeeds | None = None

    @property
    def least_ever(self) -> int:
        """The nodes that a job takes at least."""
        if self.preferred is None:
            return self.units
        # As in Slurm, which never looks whether the others would do.
        return self.preferred.units and min(self.preferred.units, self.units or self.preferred.units)

    @property
    def ever_usable(self) -> int:
        """The nodes that could serve a job."""
        return self.usable if self.preferred is None else self.usable | self.preferred.usable

    @property
    def tries(self) -> tuple[WholeNodeNeeds, ...]:
        """What a job that starts now is tried as, one after the other."""
        return (self,) if self.preferred is None else (self.preferred, self)

    def find(self, avail: int) -> int:
        """Give the nodes that a job gets of some that are free, 0 when it does not fit."""
        candidates = avail & self.usable
        if candidates.bit_count() < self.units:
            return 0
        if self.plain:
            return take_runs(candidates, self.units, self.plain)
        chosen = (self.choose(avail & nodes, parts) for nodes, parts in self.allowed)
        return next(filter(None, chosen), 0)

    def choose(self, candidates: int, parts: tuple[int, ...]) -> int:
        """Give the nodes that a job gets of some that could serve it, 0 when it does not fit."""
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
        """Choose among nodes that are there, without regard to their weight; 0 when they are too few."""
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
        """Whether some nodes are neither too few nor too many."""
        if not self.least <= taken.bit_count() <= self.most or self.cpus_of(taken) < self.cpus:
            return False
        return not self.contiguous or all((taken & group).bit_count() >= count for group, count in self.counted)

    def fewest(self, nodes: int) -> int:
        """Count how few of some nodes suffice, going by numbers alone."""
        held = self.required.bit_count()
        others = self.largest(nodes & ~self.required, self.cpus - self.cpus_of(self.required), self.least - held)
        return held + others.bit_count()

    def cpus_of(self, nodes: int) -> int:
        """Count the processors that the job could have on some nodes."""
        return sum(size * (nodes & bitmap).bit_count() for size, bitmap in self.sizes)

    def largest(self, nodes: int, cpus: int, count: int) -> int:
        """Take the largest nodes, of equal ones the last, until processors and nodes suffice; else all."""
        taken = 0
        for size, bitmap in self.sizes:
            here = nodes & bitmap
            number = min(max(-(-cpus // size), count, 0), here.bit_count())
            taken |= highest(here, number)
            cpus -= number * size
            count -= number
        return taken

    def _by_runs(self, nodes: int, required: int, cpus: int, least: int, count: int) -> int:
        """Add nodes to the required ones, run by run, until there are so many: at least those that suffice."""
        runs = list(each_run(nodes))
        if self.contiguous and required:
            runs = [run for run in runs if run & required]
        left = [(run & ~required, self.cpus_of(run & ~required), run & required) for run in runs if run & ~required]
        taken = required
        while left and count > 0:
            best, fits = left[0], False
            for place, one in enumerate(left):
                free, has, held = one
                enough = has >= cpus and free.bit_count() >= least
                # Slurm goes through the runs in their order, so that this is no order of preference by itself.
                if (
                    not place
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
        """Give nodes that follow each other and suffice: of the tightest run the first ones, 0 if there are none.

        With required nodes, of which all are there, it goes down from these no further than must be.
        """
        length = nodes.bit_length()
        places, there = np.arange(length), to_mask(nodes, length)
        end = np.minimum.accumulate(np.where(there, length, places)[::-1])[::-1]
        begin = np.maximum.accumulate(np.where(there, -1, places)) + 1
        last = np.minimum(end, places + min(self.most, length))
        cpus = np.zeros(length, np.int64)
        for size, group in self.sizes:
            cpus[to_mask(nodes & group, length)] = size
        # What must be had, as sums over the nodes before each place: it is had between two of them.
        sums = [(_sums(cpus), self.cpus)]
        sums += [(_sums(to_mask(nodes & group, length)), count) for group, count in self.counted]
        suits = there & (last - places >= self.least)
        for total, count in sums:
            suits &= total[last] - total[places] >= count
        if self.required:
            suits &= (places < lowest(self.required, 1).bit_length()) & (last >= self.required.bit_length())
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
    """Makes kinds of requests.

    Args:
        nodes: The machine's.
        whole: All that they have, a row a kind of resource, as `Requests` reads it.
        by_line: Whether nodes of one weight come in sets by their line of slurm.conf.
    """

    __slots__ = ("_known", "_parts", "_whole")

    def __init__(self, nodes: Sequence[Node], whole: View, *, by_line: bool = True) -> None:
        self._whole = whole
        #: Nodes of one weight and one line of slurm.conf, in the order in which jobs are given them.
        self._parts = tuple(_grouped((node.weight, node.line if by_line else 0) for node in nodes).values())
        #: Each once: requests that differ may come to the same.
        self._known: dict[WholeNodeNeeds, WholeNodeNeeds] = {}

    def make(self, needs: Needs) -> WholeNodeNeeds:
        """Work out what a request comes to: there is one record of each.

        Raises:
            RequestError: it asks for GRES in a way that whole nodes do not have them, or counts too many features.
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
        if needs.contiguous and required:  # then all that is between them as well
            required = (1 << required.bit_length()) - (required & -required)
        able = self._able(needs)
        sets = [nodes & able for nodes in needs.allowed]
        counted = [(from_mask(group) & able, count) for group, count in needs.counted]
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

    def _able(self, needs: Needs) -> int:
        """Give the nodes that could take part of the job."""
        whole = self._whole
        able = whole[CPU] >= max(needs.min_cpus, 1)
        if needs.memory_per_cpu:
            able &= whole[MEMORY] >= needs.memory_per_cpu * whole[CPU].astype(np.int64)
        elif needs.memory > 0:
            able &= whole[MEMORY] >= needs.memory
        for one in needs.gres:
            able &= whole[one.lane] >= one.number
        return from_mask(able)

    def _sizes(self, needs: Needs, usable: int) -> tuple[tuple[int, int], ...]:
        sizes = self._whole[CPU].tolist()
        if needs.tasks_per_node:
            most = needs.tasks_per_node * needs.per_task
            sizes = [min(size, most) for size in sizes]
        found = ((size, nodes & usable) for size, nodes in reversed(_grouped(sizes).items()))
        return tuple(item for item in found if item[1])


def _grouped(keys: Iterable[K]) -> dict[K, int]:
    """Group the nodes with equal keys into bitmaps, by key; one key a node."""
    bitmaps: dict[K, int] = {}
    for place, key in enumerate(keys):
        bitmaps[key] = bitmaps.get(key, 0) | 1 << place
    return dict(sorted(bitmaps.items()))


def _sums(numbers: NDArray[np.int64 | np.bool_]) -> NDArray[np.int64]:
    """Sum up what comes before each place, and all."""
    return np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))


def _of_any(counted: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Say how many of the union of any sets are needed, where each of them counts nodes of its own.

    There are nodes enough for all if, and only if, there are enough for all of these.
    """
    for number in range(1, len(counted) + 1):
        for some in combinations(counted, number):
            yield reduce(or_, (group for group, _ in some)), sum(count for _, count in some)


def _lightest(candidates: int, parts: tuple[int, ...], count: int) -> int:
    """Take so many of the lightest candidates, 0 when there are too few."""
    nodes = 0
    for part in parts:
        nodes |= candidates & part
        if nodes.bit_count() >= count:
            return take_runs(nodes, count, count)
    return 0


def _from_run(free: int, held: int, count: int) -> int:
    """Take so many free nodes of a run, or all: up from the first of those that are held, if any are, and then down."""
    above = free & -(held & -held or 1)
    below = free ^ above
    number = min(count, above.bit_count())
    return lowest(above, number) | highest(below, min(count - number, below.bit_count()))
