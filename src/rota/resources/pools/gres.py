"""Allocation of GRES: on which nodes a job's GRES fit, and how many it gets of each node.

If GPUs are requested by job or by task, nodes with the most GPUs are preferred among those of one weight. GRES for the
whole job are allocated node by node: as many as the node has, or as its processors suffice for, with at least one left
for each later node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.resources.view import CPU, MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.resources.requests.needs import Candidates, Choose, Gres, Needs
    from rota.resources.view import View

    Picked = list[tuple[int, int]]

#: Largest rounding error of sums of shares.
_ROUNDING = 1e-9
#: Largest number of evaluated requests that are cached.
_MOST_KNOWN = 10_000


def room(needs: Needs, view: View, one: Gres, gpus: NDArray[np.integer[Any]] | None = None) -> NDArray[np.integer[Any]]:
    """Count the GRES of one kind that a job could have on each node: those that are free, considering memory.

    Args:
        needs: The evaluated request.
        view: View of the available resources.
        one: The kind.
        gpus: Largest number of GPUs on each node; ``None``: no bound.
    """
    free: NDArray[np.integer[Any]] = view[one.row]
    if not one.gpu:
        return free
    free = np.minimum(free, view[MEMORY] // needs.memory_per_gpu) if needs.memory_per_gpu else free
    return free if gpus is None else np.minimum(free, gpus)


def processors_of_tasks(needs: Needs, view: View, one: Gres) -> NDArray[np.integer[Any]]:
    """Count the processors on each node of as many tasks as the GRES of one kind for each suffice for.

    With all tasks that it may have on a node, a job has the processors that it asks for there besides.
    """
    tasks = room(needs, view, one) // one.number
    cpus: NDArray[np.integer[Any]] = tasks * needs.per_task
    most = needs.gres_tasks.most  # type: ignore[union-attr] # they are for tasks
    if most and needs.on_each > most * needs.per_task:
        cpus = np.where(tasks >= most, np.maximum(cpus, needs.on_each), cpus)
    return cpus


def have_processors(needs: Needs, whole: View) -> NDArray[np.bool_]:
    """Whether the processors of whole nodes suffice for all GPUs of the kinds that a job asks for, as in Slurm."""
    every = (*needs.gres, *needs.gres_per_task, *needs.gres_per_job)
    per_gpu = needs.gres_tasks.cpus_per_gres if needs.gres_tasks else 0
    gpus = np.max([whole[one.row] for one in every if one.gpu], axis=0, initial=0)
    enough: NDArray[np.bool_] = gpus.astype(np.int64) * per_gpu <= whole[CPU]
    return enough


def gpus_of_job(needs: Needs, view: View) -> NDArray[np.int64]:
    """Count the GPUs that a job could have on each node, as a part of its total."""
    found = np.zeros(view.shape[1], np.int64)
    for one in needs.gres_per_job:
        if one.gpu:
            found += room(needs, view, one)
    return found


def suffices(
    needs: Needs, view: View, picked: Picked, of_job: Sequence[tuple[Gres, int]], gpus: NDArray[np.integer[Any]] | None
) -> bool:
    """Whether the chosen nodes have the GRES for the whole job."""
    nodes = [node for node, _ in picked]
    return all(int(room(needs, view, one, gpus)[nodes].sum()) >= number for one, number in of_job)


def pick(
    choose: Choose,
    needs: Needs,
    view: View,
    candidates: Candidates,
    known: dict[tuple[Needs, int], Needs],
    *,
    gpus: NDArray[np.integer[Any]] | None = None,
) -> Picked | None:
    """Choose nodes for a job that requests GRES for the whole job or for each task: as few as suffice.

    Args:
        choose: The function of the node selection plugin.
        needs: The evaluated request.
        view: View of the available resources.
        candidates: Nodes that could each serve part of the job.
        known: Cache of needs with a larger number of nodes, by the needs and this number.
        gpus: Where GPUs are told apart, how many the job could have on each node of the machine; the candidates are
            weighted by them already.

    Returns:
        Index and number of processors of each node; ``None``: the job does not fit.
    """
    of_job = [(one, one.number) for one in needs.gres_per_job]
    if gpus is None:
        candidates = _most_gpus_first(needs, view, candidates)
    elif needs.gres_tasks is not None and needs.gres_tasks.total:
        of_job += [(one, one.number * needs.gres_tasks.total) for one in needs.gres_per_task if one.gpu]
    if not of_job:
        return choose(needs, candidates)
    shares = np.min([room(needs, view, one, gpus)[candidates.nodes] / number for one, number in of_job], axis=0)
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
        if not picked or suffices(needs, view, picked, of_job, gpus):
            return picked
    return None


def _most_gpus_first(needs: Needs, view: View, candidates: Candidates) -> Candidates:
    """Change the weights so that nodes with more usable GPUs are preferred among those of one weight."""
    tasks = -(-needs.cpus // needs.per_task)
    asked = [(one, one.number) for one in needs.gres_per_job if one.gpu]
    asked += [(one, one.number * tasks) for one in needs.gres_per_task if one.gpu]
    most = sum(number for _, number in asked)
    useful = sum(np.minimum(room(needs, view, one)[candidates.nodes], number) for one, number in asked)
    return candidates._replace(weight=candidates.weight * (most + 1) + (most - useful))


def take(needs: Needs, view: View, picked: Picked, taken: View, *, gpus: bool = True) -> None:
    """Add the GRES of a job to its allocation.

    Args:
        needs: The evaluated request.
        view: View of the available resources.
        picked: Index and number of processors of each node.
        taken: View of the allocation, which is changed.
        gpus: Whether GPUs are added, too.
    """
    if not gpus:
        kinds = (needs.gres, needs.gres_per_task, needs.gres_per_job)
        per_node, per_task, per_job = (tuple(one for one in kind if not one.gpu) for kind in kinds)
        needs = replace(needs, gres=per_node, gres_per_task=per_task, gres_per_job=per_job)
    left = [one.number for one in needs.gres_per_job]
    rooms = [room(needs, view, one) for one in needs.gres_per_job]
    to_come = len(picked)
    for node, cpus in picked:
        to_come -= 1
        for one in needs.gres:
            take_kind(view, taken, one, node, one.number)
        for one in needs.gres_per_socket if gpus else ():
            take_kind(view, taken, one, node, one.number * needs.sockets_asked)
        for one in needs.gres_per_task:
            tasks = needs.gres_tasks.on_node(cpus, needs.per_task)  # type: ignore[union-attr] # they are for tasks
            take_kind(view, taken, one, node, one.number * tasks)
        for number, one in enumerate(needs.gres_per_job):
            count = max(min(left[number] - to_come, int(rooms[number][node])), 0)
            if needs.cpus_per_gpu and to_come:
                count = min(count, cpus // needs.cpus_per_gpu)
            take_kind(view, taken, one, node, count)
            left[number] -= count


def take_kind(view: View, taken: View, one: Gres, node: int, count: int) -> None:
    """Add GRES of one kind on a node to an allocation.

    Args:
        view: View of the available resources.
        taken: View of the allocation, which is changed.
        one: The kind.
        node: Index of the node.
        count: Number of GRES.
    """
    taken[one.row, node] += count
    if one.total is not None:
        taken[one.total, node] += count
    for row in one.types:
        part = min(count, int(view[row, node]) - int(taken[row, node]))
        taken[row, node] += part
        count -= part
