"""GRES of jobs: which nodes have room for them, and what each node of a job gives.

Where GPUs are asked for by job or task, nodes of one weight are taken that have the most of them. GRES of the whole job
come from its nodes in their order: each gives what it has, or what its processors are enough for, but one is left for
each node that is still to come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.resources.view import MEMORY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.resources.requests.needs import Candidates, Choose, Gres, Needs
    from rota.resources.view import View

    Picked = list[tuple[int, int]]

#: Parts of a whole may add up to so much less.
_ROUNDING = 1e-9
#: Needs that are remembered.
_MOST_KNOWN = 10_000


def room(needs: Needs, view: View, one: Gres) -> NDArray[np.integer[Any]]:
    """Count the GRES of one kind that a job could have on each node: those that are free, with their memory."""
    free: NDArray[np.integer[Any]] = view[one.row]
    return np.minimum(free, view[MEMORY] // needs.memory_per_gpu) if one.gpu and needs.memory_per_gpu else free


def gpus_of_job(needs: Needs, view: View) -> NDArray[np.int64]:
    """Count the GPUs of each node that could be among those of the whole job."""
    found = np.zeros(view.shape[1], np.int64)
    for one in needs.gres_per_job:
        if one.gpu:
            found += room(needs, view, one)
    return found


def suffices(needs: Needs, view: View, picked: Picked) -> bool:
    """Whether some nodes have the GRES of the whole job."""
    nodes = [node for node, _ in picked]
    return all(int(room(needs, view, one)[nodes].sum()) >= one.number for one in needs.gres_per_job)


def pick(
    choose: Choose, needs: Needs, view: View, candidates: Candidates, known: dict[tuple[Needs, int], Needs]
) -> Picked | None:
    """Pick nodes for a job with GRES of its own or of its tasks: as few as have enough.

    Args:
        choose: Picks nodes.
        needs: What the job needs.
        view: What there is.
        candidates: Nodes that could each take part of it.
        known: Needs with a larger number of nodes, by what they are made of: there is to be one record of each.
    """
    candidates = _most_gpus_first(needs, view, candidates)
    if not needs.gres_per_job:
        return choose(needs, candidates)
    shares = np.min([room(needs, view, one)[candidates.nodes] / one.number for one in needs.gres_per_job], axis=0)
    enough = int(np.searchsorted(np.cumsum(np.sort(shares)[::-1]), 1 - _ROUNDING)) + 1
    most = min(needs.max_nodes or len(shares), len(shares))
    for count in range(max(enough, needs.min_nodes), most + 1):
        wanted = needs
        if count > needs.min_nodes:
            found = known.get((needs, count))
            if found is None:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                found = known[needs, count] = replace(needs, min_nodes=count, req_nodes=count)
            wanted = found
        picked = choose(wanted, candidates)
        if not picked or suffices(needs, view, picked):
            return picked
    return None


def _most_gpus_first(needs: Needs, view: View, candidates: Candidates) -> Candidates:
    """Prefer among nodes of one weight those with more of the GPUs that a job could use."""
    tasks = -(-needs.cpus // needs.per_task)
    asked = [(one, one.number) for one in needs.gres_per_job if one.gpu]
    asked += [(one, one.number * tasks) for one in needs.gres_per_task if one.gpu]
    most = sum(number for _, number in asked)
    useful = sum(np.minimum(room(needs, view, one)[candidates.nodes], number) for one, number in asked)
    return candidates._replace(weight=candidates.weight * (most + 1) + (most - useful))


def take(needs: Needs, view: View, picked: Picked, taken: View) -> None:
    """Take the GRES of a job from its nodes."""
    left = [one.number for one in needs.gres_per_job]
    rooms = [room(needs, view, one) for one in needs.gres_per_job]
    to_come = len(picked)
    for node, cpus in picked:
        to_come -= 1
        for one in needs.gres:
            take_kind(view, taken, one, node, one.number)
        for one in needs.gres_per_task:
            take_kind(view, taken, one, node, one.number * (cpus // needs.per_task))
        for number, one in enumerate(needs.gres_per_job):
            count = max(min(left[number] - to_come, int(rooms[number][node])), 0)
            if needs.cpus_per_gpu and to_come:
                count = min(count, cpus // needs.cpus_per_gpu)
            take_kind(view, taken, one, node, count)
            left[number] -= count


def take_kind(view: View, taken: View, one: Gres, node: int, count: int) -> None:
    """Take GRES of a node."""
    taken[one.row, node] += count
    if one.total is not None:
        taken[one.total, node] += count
    for row in one.types:
        part = min(count, int(view[row, node]) - int(taken[row, node]))
        taken[row, node] += part
        count -= part
