"""Node selection on shared nodes as by Slurm's ``select/cons_tres``.

Adjacent candidates of equal weight are a *run*. Nodes are chosen run by run until processors and nodes suffice:

1. Required nodes come first.
2. Of the other runs, those of the lowest weight; among these the smallest that suffices by itself or, if none does, the
   largest, by processors.
3. In a run, from its first node on. A node gives as many processors as it has, but one task's worth is kept back for
   each node that is still needed. If one node is still needed, it is the one with the fewest processors that suffice.

If a job may have more nodes than it must, it gets as many as it may, and its tasks are distributed over them in turn.

With ``CR_LLN`` or a partition's ``LLN`` nodes are chosen one by one: of equal weight, the one with the largest part of
its processors free. With ``bf_busy_nodes``, for starts in the future, nodes that are in use come before idle ones.

If this leads beyond the largest number of nodes, it is repeated without the smallest nodes, then without the next
smallest. With ``SelectTypeParameters=FIRST_FIT`` jobs of one node get the first node that suffices, as from Slurm 26.05
on; before that, the smallest one.

O(candidates + chosen nodes), repeated as often as small nodes have to be left out.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rota.interfaces import SLURM_SUCCESS
from rota.interfaces.stubs.select import *

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.interfaces import Controller
    from rota.interfaces.select import Candidates, Needs

plugin_type = "select/cons_tres"
plugin_name = "consumable trackable resources"
plugin_version = 100

_first_fit = False


def init(ctld: Controller) -> int:
    """Read ``SelectTypeParameters``."""
    global _first_fit
    _first_fit = "FIRST_FIT" in ctld.config.get("SelectTypeParameters").upper()
    return SLURM_SUCCESS


def select_p_job_test(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Choose the nodes of a job and its processors on each; ``None`` if it does not fit."""
    if needs.max_nodes == 1 and _first_fit and needs.required is None:
        return _first(needs, candidates)
    picked = None
    if needs.min_nodes < (wanted := min(needs.req_nodes, len(candidates.nodes))):
        picked = _pick(needs, candidates, wanted)
        picked = picked and _dealt(picked, needs)
    picked = picked or _pick(needs, candidates, needs.min_nodes)
    if picked is None and needs.max_nodes:
        for small in np.unique(candidates.cpus).tolist()[:-1]:
            larger = candidates.cpus > small
            if needs.required is not None:
                larger |= needs.required[candidates.nodes]
            if int(larger.sum()) < needs.min_nodes:
                return None
            picked = _pick(needs, candidates.where(larger), needs.min_nodes)
            if picked is not None:
                break
    return picked


def _first(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Give the first node that suffices, lightest first."""
    enough = np.flatnonzero(candidates.cpus >= needs.cpus)
    if not len(enough):
        return None
    place = enough[np.argmin(candidates.weight[enough])]
    return [(int(candidates.nodes[place]), needs.cpus)]


def _dealt(picked: list[tuple[int, int]], needs: Needs) -> list[tuple[int, int]]:
    """Distribute tasks over nodes in turn, up to the processors of each; every node gets one."""
    room = [cpus // needs.on_each for _, cpus in picked]
    nodes = len(room)
    left = max(-(-needs.cpus // needs.on_each), nodes)
    for place, least in enumerate(sorted(room)):
        if least * (nodes - place) > left:
            each, more = divmod(left, nodes - place)
            break
        left -= least
    else:
        return picked
    dealt = []
    for (node, _), most in zip(picked, room, strict=True):
        extra = most > each and more > 0
        more -= extra
        dealt.append((node, (min(most, each) + extra) * needs.on_each))
    return dealt


class _Taken:
    """The nodes chosen so far, and how many processors and nodes are still needed."""

    def __init__(self, needs: Needs, count: int) -> None:
        self.nodes: list[tuple[int, int]] = []
        self.cpus = needs.cpus
        self.count = count
        self.least = needs.min_nodes
        self.most = needs.max_nodes or 2**31
        self.on_each = needs.on_each
        # If there are more nodes than necessary, processors are distributed afterwards.
        self.granule = needs.granule if count <= needs.min_nodes else None

    def take(self, node: int, cpus: int) -> None:
        """Choose a node with so many processors for the job."""
        rest = (self.least - 1) * self.on_each if self.least > 1 else 0
        given = min(cpus, max(self.cpus - rest, self.on_each))
        if self.granule is not None:  # whole cores are allocated; only on the last node are there more than needed
            core = int(self.granule[node])
            whole = given // core * core
            given = whole if rest and whole >= self.on_each else min(-(-given // core) * core, cpus)
        self.nodes.append((node, given))
        self.cpus -= given
        self.count -= 1
        self.least -= 1
        self.most -= 1

    def take_all(self, nodes: list[int], cpus: list[int]) -> None:
        """Choose nodes with so many processors each."""
        self.nodes += zip(nodes, cpus, strict=True)
        self.cpus -= sum(cpus)
        self.count -= len(nodes)
        self.least -= len(nodes)
        self.most -= len(nodes)

    def suffices(self) -> bool:
        """Whether nothing more is needed."""
        return max(self.cpus, self.count) <= 0


def _pick(needs: Needs, candidates: Candidates, count: int) -> list[tuple[int, int]] | None:
    """Choose so many nodes, or more if these do not suffice."""
    if len(candidates.nodes) < count:
        return None
    taken = _Taken(needs, count)
    if needs.required is not None or needs.counted:
        left = _take_wanted(needs, candidates, taken)
        if left is None:
            return None
        candidates = candidates.where(left)
    if not taken.suffices() and candidates.nodes.size:
        nodes, cpus, weight, busy = candidates
        if busy is not None and not needs.contiguous:
            _take_in_order(taken, candidates, np.lexsort((~busy, weight)))
        elif needs.least_loaded is not None and not needs.contiguous:
            _take_in_order(taken, candidates, np.lexsort((-cpus / needs.least_loaded[nodes], weight)))
        else:
            _take_runs(taken, _Runs(nodes, cpus, None if needs.contiguous else weight))
    return sorted(taken.nodes) if taken.suffices() else None


def _take_wanted(needs: Needs, candidates: Candidates, taken: _Taken) -> NDArray[np.bool_] | None:
    """Choose the nodes that the job names or counts; give a mask of the others, or ``None`` if some are missing."""
    nodes, cpus = candidates.nodes, candidates.cpus
    left = np.ones(len(nodes), np.bool_)
    if needs.required is not None:
        wanted = needs.required[nodes]
        if int(wanted.sum()) < int(needs.required.sum()):
            return None
        for place in np.flatnonzero(wanted).tolist():
            taken.take(int(nodes[place]), int(cpus[place]))
        left &= ~wanted
    for group, count in needs.counted:
        here = np.flatnonzero(left & group[nodes])[:count]
        if len(here) < count:
            return None
        for place in here.tolist():
            taken.take(int(nodes[place]), int(cpus[place]))
        left[here] = False
    return left


def _take_in_order(taken: _Taken, candidates: Candidates, order: NDArray[np.intp]) -> None:
    """Choose nodes in order, until they suffice or no more may be chosen."""
    for place in order.tolist():
        if taken.suffices() or taken.most <= 0:
            return
        taken.take(int(candidates.nodes[place]), int(candidates.cpus[place]))


class _Runs:
    """Runs of candidates: adjacent nodes, of equal weight if weights are given."""

    def __init__(self, nodes: NDArray[np.int64], cpus: NDArray[np.int64], weight: NDArray[np.int64] | None) -> None:
        self.nodes = nodes
        self.cpus = cpus
        self.contiguous = weight is None
        breaks = nodes[1:] != nodes[:-1] + 1
        if weight is not None:
            breaks |= weight[1:] != weight[:-1]
        first = np.concatenate((_ZERO, breaks.nonzero()[0] + 1))
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

    def take_largest(self, taken: _Taken) -> None:
        """Choose at once all runs that `best` would give for being the largest, and that are chosen as a whole."""
        _, size, before, end = (column[::-1] for column in self._columns)
        length = end + before
        behind = np.cumsum(length)  # number of nodes chosen after each run
        ahead = behind - length
        places = np.repeat(-before - ahead, length) + np.arange(behind[-1])
        number = np.arange(1, len(places) + 1)
        whole = np.cumsum(self.cpus[places])
        # As long as there are too few nodes, what all others must give is kept back.
        spare = max(taken.cpus - taken.least * taken.on_each, 0)
        given = np.where(number <= taken.least, np.minimum(whole, number * taken.on_each + spare), whole)
        is_wanted = (number <= taken.least) | (whole <= taken.cpus)
        left = taken.cpus - np.concatenate((_ZERO, given))[ahead]
        is_taken = is_wanted[behind - 1] & ((size < left) | (self.longest < taken.count - ahead))
        runs = len(is_taken) if is_taken.all() else int(is_taken.argmin())
        if runs:
            some = places[: behind[runs - 1]]
            taken.take_all(self.nodes[some].tolist(), np.diff(given[: len(some)], prepend=0).tolist())
            self._columns = [column[:-runs] for column in self._columns]

    def best(self, taken: _Taken) -> tuple[int, int, int] | None:
        """Remove the next run; give its processors, the index of its first node, and the one after its last node.

        It is the smallest of the lightest that suffices, else the largest, and of equal ones the first.
        """
        left = self._left
        if not left:
            return None
        weight, most, _, _ = left[-1]
        place = len(left)
        if most >= taken.cpus and self.longest >= taken.count:
            place = self._tightest(weight, taken.cpus, taken.count)
        if place == len(left):
            if self.contiguous:
                return None
            place -= 1
        _, cpus, before, end = left.pop(place)
        return cpus, -before, end

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


_ZERO = np.zeros(1, np.int64)
#: Number of nodes above which they are not examined one by one.
_MANY = 32


def _take_runs(taken: _Taken, runs: _Runs) -> None:
    """Choose run after run, until they suffice or no more nodes may be chosen."""
    if taken.count >= _MANY and taken.granule is None and not runs.contiguous:
        runs.take_largest(taken)
    while not taken.suffices() and taken.most > 0 and (run := runs.best(taken)) is not None:
        total, first, end = run
        if end - first == 1:
            taken.take(int(runs.nodes[first]), total)
            continue
        cpus = runs.cpus[first:end]
        if taken.count <= 1 and total >= taken.cpus:
            enough = (cpus >= taken.cpus).nonzero()[0]
            if len(enough):
                place = first + int(enough[cpus[enough].argmin()])
                taken.take(int(runs.nodes[place]), int(runs.cpus[place]))
                return
        for node, count in zip(runs.nodes[first:end].tolist(), cpus.tolist(), strict=True):
            taken.take(node, count)
            if taken.suffices() or taken.most <= 0:
                return
