"""Runs of adjacent candidates, and how nodes are chosen run by run; `rota.plugins.select.cons_tres` has the rules."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.interfaces.select import Candidates
    from rota.plugins.select._taken import Taken


def begins_of_runs(nodes: NDArray[np.int64], weight: NDArray[np.int64] | None) -> NDArray[np.intp]:
    """Give the place of the first node of each run of adjacent nodes, of equal weight if weights are given."""
    breaks = nodes[1:] != nodes[:-1] + 1
    if weight is not None:
        breaks |= weight[1:] != weight[:-1]
    return np.concatenate((_ZERO, breaks.nonzero()[0] + 1))


class Runs:
    """Runs of candidates: adjacent nodes, of equal weight if weights are given."""

    def __init__(self, nodes: NDArray[np.int64], cpus: NDArray[np.int64], weight: NDArray[np.int64] | None) -> None:
        self.nodes = nodes
        self.cpus = cpus
        self.contiguous = weight is None
        first = begins_of_runs(nodes, weight)
        end = np.append(first[1:], len(nodes))
        size = np.add.reduceat(cpus, first)
        weights = np.zeros_like(first) if weight is None else weight[first]
        order = np.lexsort((-first, size, -weights))
        #: The remaining runs: - weight, processors, - first index, end index. The lightest are last, of these the
        #: largest, and of equal ones the first.
        self._columns = [column[order] for column in (-weights, size, -first, end)]
        #: Largest number of nodes in a run.
        self.longest = int((end - first).max())

    @cached_property
    def _left(self) -> list[tuple[int, ...]]:
        """The remaining runs; tuples of the columns, which are ascending."""
        return list(zip(*(column.tolist() for column in self._columns), strict=True))

    def take_largest(self, taken: Taken) -> None:
        """Choose at once all runs that `best` would give for being the largest, and that are chosen as a whole."""
        _, size, before, end = (column[::-1] for column in self._columns)
        length = end + before
        behind = np.cumsum(length)  # number of nodes chosen after each run
        ahead = behind - length
        places = np.repeat(-before - ahead, length) + np.arange(behind[-1])
        number = np.arange(1, len(places) + 1)
        whole = np.cumsum(self.cpus[places])
        # As long as there are too few nodes, what all others must give is kept back.
        spare = max(taken.cpus - taken.least, 0)
        given = np.where(number <= taken.least, np.minimum(whole, number + spare), whole)
        is_wanted = (number <= taken.least) | (whole <= taken.cpus)
        left = taken.cpus - np.concatenate((_ZERO, given))[ahead]
        is_small = (size < left) | (self.longest < taken.count - taken.spare - ahead)
        is_taken = is_wanted[behind - 1] & (behind < taken.most) & is_small
        runs = len(is_taken) if is_taken.all() else int(is_taken.argmin())
        if runs:
            some = places[: behind[runs - 1]]
            taken.take_all(self.nodes[some].tolist(), np.diff(given[: len(some)], prepend=0).tolist())
            self._columns = [column[:-runs] for column in self._columns]

    def best(self, taken: Taken) -> tuple[int, int, int] | None:
        """Remove the next run; give its processors, the index of its first node, and the one after its last node.

        It is the smallest of the lightest that suffices, else the largest, and of equal ones the first. But Slurm looks
        at them in their order, and also lets one that has more processors than the best so far, and too few nodes,
        take the place of one that suffices.
        """
        left = self._left
        if not left:
            return None
        weight, most, _, _ = left[-1]
        place = len(left)
        count = taken.count - taken.spare
        if most >= taken.cpus and self.longest >= count:
            place = self._tightest(weight, taken.cpus, count)
        if place == len(left):
            if self.contiguous:
                return None
            place -= 1
        elif count > 1 and not self.contiguous:
            for _, _, before, end in left[place + 1 :]:
                if end + before < count:
                    place = self._in_turn(bisect_left(left, (weight,)), taken.cpus, count)
                    break
        _, cpus, before, end = left.pop(place)
        return cpus, -before, end

    def _in_turn(self, first: int, cpus: int, count: int) -> int:
        """Give the index of the run that Slurm chooses of all from index ``first`` on, which are of one weight."""
        left, found, most, fits = self._left, -1, 0, False
        for place in sorted(range(first, len(left)), key=lambda place: -left[place][2]):
            _, size, before, end = left[place]
            enough = size >= cpus and end + before >= count
            if found < 0 or (enough and (not fits or size < most)) or (not enough and size > most):
                found, most, fits = place, size, enough
        return found

    def _tightest(self, weight: int, cpus: int, count: int) -> int:
        """Give the index of the smallest run of a weight with enough processors and nodes, else the number of runs."""
        left = self._left
        first = bisect_left(left, (weight, cpus))
        while first < len(left):
            end = bisect_left(left, (weight, left[first][1] + 1), first)
            for place in range(end - 1, first - 1, -1):
                if left[place][3] + left[place][2] >= count:
                    return place
            first = end
        return first


class _Run(NamedTuple):
    """Adjacent candidates of one weight."""

    weight: int
    #: Places of those that can be chosen, and of the first that is chosen already.
    places: list[int]
    chosen: int | None
    cpus: int


class RunsBeside:
    """Runs of candidates of which some are chosen already; these belong to a run, whatever their weight.

    Runs with such a node come first. In them nodes are chosen upwards from it, and then downwards.
    """

    def __init__(self, candidates: Candidates, left: NDArray[np.bool_], *, contiguous: bool) -> None:
        self.nodes, self.cpus, weight = candidates.nodes, candidates.cpus, candidates.weight
        self.contiguous = contiguous
        self._runs: list[_Run] = []
        last, run = -1, _Run(0, [], None, 0)
        for place, (node, is_free) in enumerate(zip(self.nodes.tolist(), left.tolist(), strict=True)):
            own = 0 if contiguous else int(weight[place])
            if node != last + 1 or (run.places and own != run.weight):
                self._keep(run)
                run = _Run(own, [], None, 0)
            if is_free:
                run = run._replace(weight=own, places=[*run.places, place], cpus=run.cpus + int(self.cpus[place]))
            elif run.chosen is None:
                run = run._replace(chosen=place)
            last = node
        self._keep(run)

    def _keep(self, run: _Run) -> None:
        if run.places and not (self.contiguous and run.chosen is None):
            self._runs.append(run)

    def take_largest(self, taken: Taken) -> None:
        """Choose nothing at once."""

    def best(self, taken: Taken) -> tuple[int, int, int] | None:
        """Remove the next run; see `Runs.best`. Its nodes are brought into the order in which they are chosen."""
        found, fits = None, False
        for run in self._runs:
            enough = run.cpus >= taken.cpus and len(run.places) >= taken.count - taken.spare
            if (
                found is None
                or (found.chosen is None and run.chosen is not None)
                or run.weight < found.weight
                or (run.weight == found.weight and enough and (not fits or run.cpus < found.cpus))
                or (run.weight == found.weight and not enough and run.cpus > found.cpus)
            ):
                found, fits = run, enough
        if found is None or (self.contiguous and not fits):
            return None
        self._runs.remove(found)
        places, chosen = found.places, found.chosen
        if chosen is not None:
            places = [*(one for one in places if one > chosen), *(one for one in reversed(places) if one < chosen)]
        first, end = len(self.nodes), len(self.nodes) + len(places)
        self.nodes = np.append(self.nodes, self.nodes[places])
        self.cpus = np.append(self.cpus, self.cpus[places])
        return found.cpus if chosen is None else -1, first, end


_ZERO = np.zeros(1, np.int64)
#: Number of nodes above which they are not examined one by one.
_MANY = 32


def take_runs(taken: Taken, runs: Runs | RunsBeside) -> None:
    """Choose run after run, until they suffice or no more nodes may be chosen."""
    if taken.count >= _MANY and taken.granule is None and taken.on_each == 1 and not runs.contiguous:
        runs.take_largest(taken)
    while not taken.suffices() and taken.most > 0 and (run := runs.best(taken)) is not None:
        total, first, end = run
        if end - first == 1:
            taken.take(int(runs.nodes[first]), int(runs.cpus[first]))
            continue
        if runs.contiguous and end - first > taken.most and isinstance(runs, Runs):
            first, end = _enough_beside_each_other(taken, runs.cpus, first, end)
        cpus = runs.cpus[first:end]
        if taken.count <= 1 and total >= max(taken.cpus, 0):
            enough = (cpus >= taken.cpus).nonzero()[0]
            if len(enough):
                place = first + int(enough[cpus[enough].argmin()])
                taken.take(int(runs.nodes[place]), int(runs.cpus[place]))
                return
        for node, count in zip(runs.nodes[first:end].tolist(), cpus.tolist(), strict=True):
            if taken.most == 1 and count < taken.cpus and not runs.contiguous:
                continue
            taken.take(node, count)
            if taken.suffices() or taken.most <= 0:
                return


def _enough_beside_each_other(taken: Taken, cpus: NDArray[np.int64], first: int, end: int) -> tuple[int, int]:
    """Give the first part of a run that suffices with the largest number of nodes, as none between may be left out."""
    sums = np.convolve(cpus[first:end], np.ones(taken.most, np.int64), "valid")
    enough = (sums >= taken.cpus).nonzero()[0]
    start = first + int(enough[0]) if len(enough) else first
    return start, start + taken.most
