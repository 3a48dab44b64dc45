"""Node selection as Slurm's ``select/cons_tres`` has it, where jobs share nodes.

Candidates of equal weight that follow each other are a *run*. Nodes are taken run by run until processors and nodes
suffice:

1. Required nodes come first.
2. Of the runs that are left, those of the lowest weight; of these the tightest that suffices by itself or, when none
   does, the largest, by processors.
3. In a run, from its first node on. A node gives as many processors as it has, but one task's worth is left for each
   node that is still to come. When one node is left to find, it is the one with the fewest processors that suffice.

Where that leads beyond the largest number of nodes, it is tried again without the smallest nodes, then the next
smallest. With ``SelectTypeParameters=FIRST_FIT`` jobs of one node get the first node that suffices, as from Slurm 26.05
on; before that the tightest one.

O(candidates + nodes taken), and as often again as small nodes have to be left out.
"""

from __future__ import annotations

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
    """Pick the nodes of a job, each with its processors; ``None`` when it does not fit."""
    if needs.max_nodes == 1 and _first_fit and needs.required is None:
        return _first(needs, candidates)
    picked = _pick(needs, candidates)
    if picked is None and needs.max_nodes:
        for small in np.unique(candidates.cpus).tolist()[:-1]:
            larger = candidates.cpus > small
            if needs.required is not None:
                larger |= needs.required[candidates.nodes]
            if int(larger.sum()) < needs.min_nodes:
                return None
            picked = _pick(needs, candidates.where(larger))
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


class _Taken:
    """What has been taken, and what is still to be found."""

    def __init__(self, needs: Needs) -> None:
        self.nodes: list[tuple[int, int]] = []
        self.cpus = needs.cpus
        self.count = needs.min_nodes
        self.most = needs.max_nodes or 2**31
        self.per_task = needs.per_task

    def take(self, node: int, cpus: int) -> None:
        """Take a node that has so many processors for the job."""
        rest = max(self.count - 1, 0) * self.per_task
        given = max(min(cpus, self.cpus - rest), min(self.per_task, cpus))
        self.nodes.append((node, given))
        self.cpus -= given
        self.count -= 1
        self.most -= 1

    @property
    def done(self) -> bool:
        """Whether it suffices."""
        return max(self.cpus, self.count) <= 0


def _pick(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    nodes, cpus = candidates.nodes, candidates.cpus
    if len(nodes) < needs.min_nodes:
        return None
    taken = _Taken(needs)
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
    runs = _runs(nodes, candidates.weight, left, contiguous=needs.contiguous)
    while not taken.done:
        if not runs or taken.most <= 0:
            return None
        run = _best(runs, cpus, candidates.weight, taken, contiguous=needs.contiguous)
        if run is None:
            return None
        runs.remove(run)
        _take_run(taken, nodes, cpus, run)
    return sorted(taken.nodes)


def _runs(
    nodes: NDArray[np.int64], weight: NDArray[np.int64], left: NDArray[np.bool_], *, contiguous: bool
) -> list[tuple[int, int]]:
    """Give the runs as (first place, place after the last); for contiguous jobs whatever the weights."""
    places = np.flatnonzero(left)
    if not len(places):
        return []
    breaks = np.diff(nodes[places]) != 1
    if not contiguous:
        breaks |= np.diff(weight[places]) != 0
    ends = np.flatnonzero(breaks)
    first = places[np.concatenate(([0], ends + 1))]
    last = places[np.concatenate((ends, [len(places) - 1]))]
    return list(zip(first.tolist(), (last + 1).tolist(), strict=True))


def _best(
    runs: list[tuple[int, int]],
    cpus: NDArray[np.int64],
    weight: NDArray[np.int64],
    taken: _Taken,
    *,
    contiguous: bool,
) -> tuple[int, int] | None:
    """Choose the next run: of the lightest, the tightest that suffices, else the largest."""
    if len(runs) == 1 and not contiguous:
        return runs[0]
    best, rank = None, None
    for run in runs:
        first, end = run
        size = int(cpus[first:end].sum())
        suffices = end - first >= taken.count and size >= taken.cpus
        if contiguous and not suffices:
            continue
        here = (int(weight[first]), not suffices, size if suffices else -size)
        if rank is None or here < rank:
            best, rank = run, here
    return best


def _take_run(taken: _Taken, nodes: NDArray[np.int64], cpus: NDArray[np.int64], run: tuple[int, int]) -> None:
    """Take nodes of a run until it suffices, the run is used up, or no more nodes may be taken."""
    first, end = run
    if taken.count <= 1:
        enough = np.flatnonzero(cpus[first:end] >= taken.cpus)
        if len(enough):
            place = first + int(enough[np.argmin(cpus[first:end][enough])])
            taken.take(int(nodes[place]), int(cpus[place]))
            return
    for node, count in zip(nodes[first:end].tolist(), cpus[first:end].tolist(), strict=True):
        if taken.done or taken.most <= 0:
            return
        taken.take(node, count)
