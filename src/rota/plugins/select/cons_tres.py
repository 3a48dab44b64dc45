"""Node selection on shared nodes as by Slurm's ``select/cons_tres``.

Adjacent candidates of equal weight are a *run*. Nodes are chosen run by run until processors and nodes suffice:

1. Required nodes come first, then the runs that they are in: upwards from them, then downwards.
2. Of the other runs, those of the lowest weight; among these the smallest that suffices by itself or, if none does, the
   largest, by processors. A run suffices with the smallest number of nodes. Runs are looked at in their order: one with
   more processors than the best so far takes its place even if it suffices only by processors, and that one by both.
3. In a run, from its first node on. A node gives as many processors as it has, but a core is kept back for each node
   that is still needed. If one node is still needed, it is the one with the fewest processors that suffice.

If a job may have more nodes than it must, it gets as many as it may. Its tasks are then dealt out: one to each node,
and then a core's worth to each in turn, up to what the node gives and as many as may be on a node.

With ``topology/tree`` the switches say which nodes come next: `rota.plugins.select._by_switch`.

With ``CR_LLN`` or a partition's ``LLN`` nodes are chosen one by one, adjacent or not: of equal weight, the one with the
largest part of its processors free; with ``--ntasks-per-socket`` only as long as so many tasks are left for a node.
With ``bf_busy_nodes``, for starts in the future, nodes that are in use come before idle ones.

If this leads beyond the largest number of nodes, it is repeated without the smallest nodes, then without the next
smallest. With ``SelectTypeParameters=FIRST_FIT`` jobs of one node get the first node that suffices, as with
``SlurmVersion=26.05``; else the smallest one.

O(candidates + chosen nodes), repeated as often as small nodes have to be left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.interfaces import SLURM_SUCCESS
from rota.interfaces.stubs.select import *
from rota.plugins.select._by_switch import above_all, by_switch
from rota.plugins.select._runs import Runs, RunsBeside, begins_of_runs, take_runs
from rota.plugins.select._taken import Taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rota.interfaces import Controller
    from rota.interfaces.select import Candidates, Needs

plugin_type = "select/cons_tres"
plugin_name = "consumable trackable resources"
plugin_version = 100

_first_fit = False


def init(ctld: Controller) -> int:
    """Read ``SelectTypeParameters`` and ``SlurmVersion``."""
    global _first_fit
    asked = "FIRST_FIT" in ctld.config.get("SelectTypeParameters").upper()
    _first_fit = asked or ctld.config.has("FIRST_FIT")
    return SLURM_SUCCESS


def select_p_job_test(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Choose the nodes of a job and its processors on each; ``None`` if it does not fit."""
    if needs.max_nodes == 1 and needs.required is None:
        if _first_fit:
            return _first(needs, candidates)
        enough = (candidates.cpus >= needs.cpus).nonzero()[0]
        if not len(enough):
            return None
        if not needs.counted and needs.switches is None and (place := _tightest(needs, candidates, enough)) is not None:
            taken = Taken(needs, 1)
            taken.take(int(candidates.nodes[place]), int(candidates.cpus[place]))
            return taken.nodes
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
    if needs.leaves and picked is not None and needs.has_too_many_switches(picked):
        return None
    return picked


def _first(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Give the first node that suffices, lightest first."""
    enough = np.flatnonzero(candidates.cpus >= needs.cpus)
    if not len(enough):
        return None
    place = enough[np.argmin(candidates.weight[enough])]
    return [(int(candidates.nodes[place]), needs.cpus)]


def _tightest(needs: Needs, candidates: Candidates, enough: NDArray[np.intp]) -> int | None:
    """Give the place of the node that a job of one node gets; ``None``: that is not seen at once.

    Args:
        needs: The request.
        candidates: The candidates.
        enough: Places of those that suffice.
    """
    if len(enough) == 1:
        return int(enough[0])
    nodes, cpus, weight, busy, idle = candidates
    light = enough[weight[enough] == weight.min()]
    if not len(light) or busy is not None or idle is not None or needs.spread or needs.contiguous:
        return None
    # Of the runs with such a node it is the smallest, of these the first, and there the smallest such node.
    first = begins_of_runs(nodes, weight)
    run = first.searchsorted(light, "right") - 1
    return int(light[np.lexsort((cpus[light], run, np.add.reduceat(cpus, first)[run]))[0]])


def _dealt(picked: list[tuple[int, int]], needs: Needs) -> list[tuple[int, int]]:
    """Deal the tasks out to nodes, which have some processors each: one to each node, then a core's worth in turn."""
    nodes, cpus = zip(*picked, strict=True)
    count, per_task = len(nodes), needs.per_task
    total = max(needs.cpus, count * needs.on_each)
    tasks = count * needs.tasks_per_node if per_task > 1 and needs.tasks_per_node else total // per_task
    room = np.array(cpus) // per_task
    if needs.tasks_per_node and int((bounded := np.minimum(room, needs.tasks_per_node)).sum()) >= tasks:
        room = bounded
    threads = np.ones(count, np.int64) if needs.granule is None else needs.granule[list(nodes)]
    # With its first task a node gets those that fill up its last core.
    dealt = np.minimum(np.where(room > 0, 1 + per_task % threads // per_task, 0), room)
    first = np.minimum(room, 1)
    left = tasks - int(first.sum())
    more = dealt - first
    dealt = first + np.clip(left - (np.cumsum(more) - more), 0, more)
    left, turn = tasks - int(dealt.sum()), np.maximum(threads // per_task, 1)
    if left > 0:
        space = room - dealt
        low, high = 0, int((-(-space // turn)).max(initial=0))  # numbers of whole turns
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if int(np.minimum(space, middle * turn).sum()) <= left else (low, middle - 1)
        whole = np.minimum(space, low * turn)
        more, left = np.minimum(space - whole, turn), left - int(whole.sum())
        dealt += whole + np.clip(left - (np.cumsum(more) - more), 0, more)
    return list(zip(nodes, (dealt * per_task).tolist(), strict=True))


def _pick(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Choose as many nodes as the job aims at, more if these do not suffice, and fewer if there are no more."""
    if len(candidates.nodes) < needs.min_nodes:
        return None
    taken = Taken(needs, max(needs.min_nodes, min(needs.req_nodes, len(candidates.nodes))))
    every, left = candidates, None
    if needs.required is not None or needs.counted:
        left = _take_wanted(needs, candidates, taken)
        if left is None:
            return None
        candidates = candidates.where(left)
    tree = None if needs.contiguous else needs.switches
    if tree is not None and taken.nodes and above_all(tree, [node for node, _ in taken.nodes]) is None:
        return None
    if not taken.suffices() and candidates.nodes.size:
        nodes, cpus, weight, busy, idle = candidates
        if busy is not None and not needs.contiguous:
            _take_in_order(taken, candidates, np.lexsort((~busy, weight)).tolist())
        elif needs.spread:
            _take_in_order(taken, candidates, np.argsort(weight, kind="stable").tolist())
        elif idle is not None:
            order: Iterable[int] = np.lexsort((-idle, weight)).tolist()
            if needs.sockets is not None and not (needs.whole or needs.tasks_per_node):
                order = _while_sockets_are_filled(needs.sockets.tasks * needs.per_task, taken, order)
            _take_in_order(taken, candidates, order)
        elif tree is not None:
            chosen = [node for node, _ in taken.nodes]
            cpus_left, least, count = taken.cpus, taken.least, taken.count
            order = by_switch(tree, candidates, chosen, cpus=cpus_left, least=least, wanted=count)
            _take_in_order(taken, candidates, order)
        elif needs.required is not None and left is not None:
            take_runs(taken, RunsBeside(every, left, contiguous=needs.contiguous))
        else:
            take_runs(taken, Runs(nodes, cpus, None if needs.contiguous else weight))
    if not taken.serves():
        return None
    picked = sorted(taken.nodes)
    if len(picked) > 1 and (taken.cpus < 0 or needs.per_task > 1) and not needs.whole:
        return _dealt(picked, needs)
    return picked


def _take_wanted(needs: Needs, candidates: Candidates, taken: Taken) -> NDArray[np.bool_] | None:
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


def _while_sockets_are_filled(least: int, taken: Taken, order: Iterable[int]) -> Iterator[int]:
    """Give nodes as long as each could have the tasks of a socket, of what was left for it when the one before came."""
    room = least
    for place in order:
        if room < least:
            return
        room = max(taken.cpus - max(taken.least - 1, 0), taken.on_each)
        yield place


def _take_in_order(taken: Taken, candidates: Candidates, order: Iterable[int]) -> None:
    """Choose nodes in order, until they suffice or no more may be chosen."""
    for place in order:
        if taken.suffices() or taken.most <= 0:
            return
        taken.take(int(candidates.nodes[place]), int(candidates.cpus[place]))
