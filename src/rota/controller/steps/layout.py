"""Where the tasks of a step run: the nodes of the job that it gets, and the distribution of its tasks to them.

As in Slurm 22.05, a step has all processors of its nodes, unless it says ``--exact``, ``--exclusive`` or how many
processors a task has; then it has just as many as its tasks need, and several steps can be side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.srun import StepRequest
    from rota.model.lines import AllocationLine


class StepError(Exception):
    """A step that cannot be made; the text is Slurm's."""


class TooManyNodesError(StepError):
    """A step asks for more nodes than its job has."""


class StepBusyError(StepError):
    """A step that has to wait for others of its job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The nodes and tasks of a step."""

    nodes: tuple[str, ...]
    #: Processors on each of them that the step uses, and that other steps cannot have.
    cpus: tuple[int, ...]
    held: tuple[int, ...]
    #: The place in ``nodes`` of each task's node.
    node_of_task: tuple[int, ...]
    #: Processors of each task.
    cpus_per_task: int
    #: ``block``, ``cyclic``, ``plane`` or ``arbitrary``.
    distribution: str
    #: What is to be told to the user; empty: nothing.
    warning: str = ""

    @property
    def tasks_by_node(self) -> tuple[int, ...]:
        """The number of tasks on each node."""
        return tuple(self.node_of_task.count(index) for index in range(len(self.nodes)))


def lay_out(request: StepRequest, allocation: Sequence[AllocationLine], held: Mapping[str, int]) -> Layout:
    """Lay out a step.

    Args:
        request: What it asks for.
        allocation: What its job has.
        held: Processors by node that other steps hold.

    Raises:
        StepBusyError: there will be room when other steps have ended.
        StepError: there will never be.
    """
    everything = {one.node: one.cpus for one in allocation}
    if not everything.keys() >= set(request.required_nodes):
        raise StepError("Requested node configuration is not available")
    cpus_per_task = request.cpus_per_task or 1
    tasks, nodes, warning = _counts(request, len(everything))
    if _choose(request, _room(request, everything, {}, tasks), nodes, tasks) is None:
        raise StepError("More processors requested than permitted")
    others = {} if request.overlap else held
    chosen = _choose(request, _room(request, everything, others, tasks), nodes, tasks)
    if chosen is None:
        raise StepBusyError("Requested nodes are busy")
    free = {name: everything[name] - others.get(name, 0) for name in chosen}
    if request.places:
        index = {name: number for number, name in enumerate(chosen)}
        places = [index[name] for name in request.places]
    else:
        places = _distribute(request, [free[name] // cpus_per_task for name in chosen], tasks)
    tally = Counter(places)
    counts = [tally[number] for number in range(len(chosen))]
    if request.exact:
        cpus = [min(count * cpus_per_task, free[name]) for count, name in zip(counts, chosen, strict=True)]
    else:
        cpus = [free[name] for name in chosen]
    return Layout(
        nodes=tuple(chosen),
        cpus=tuple(cpus),
        held=(0,) * len(cpus) if request.overlap else tuple(cpus),
        node_of_task=tuple(places),
        cpus_per_task=cpus_per_task,
        distribution=_distribution(request, tasks, len(chosen)),
        warning=warning,
    )


def _counts(request: StepRequest, in_job: int) -> tuple[int, tuple[int, int], str]:
    """Give the number of tasks, the smallest and the largest number of nodes, and a warning."""
    least, most = request.min_nodes or 1, request.max_nodes
    least = max(least, len(request.required_nodes))
    per_node = request.ntasks_per_node
    tasks = request.num_tasks
    if not tasks:
        tasks = least * max(per_node, 1)
    elif per_node and request.wants_nodes:
        tasks = min(tasks, least * per_node)
    warning = ""
    if least > tasks:
        warning = f"Warning: can't run {tasks} processes on {least} nodes, setting nnodes to {tasks}"
        least = tasks
    if least > in_job:
        raise TooManyNodesError(f"Only allocated {in_job} nodes asked for {least}")
    return tasks, (least, max(min(most or in_job, in_job, tasks), least)), warning


def _room(request: StepRequest, everything: Mapping[str, int], held: Mapping[str, int], tasks: int) -> dict[str, int]:
    """Say for how many tasks there is room on each node."""
    skipped = {*list(everything)[: request.relative], *request.excluded_nodes}
    room: dict[str, int] = {}
    for name, cpus in everything.items():
        free = cpus - held.get(name, 0)
        if name not in skipped and (request.exact or free == cpus):  # or the step wants all of it
            room[name] = free // (request.cpus_per_task or 1)
    if request.overcommit:
        room = {name: tasks for name, count in room.items() if count}
    if request.ntasks_per_node:
        room = {name: min(count, request.ntasks_per_node) for name, count in room.items()}
    return room


def _choose(request: StepRequest, room: Mapping[str, int], nodes: tuple[int, int], tasks: int) -> list[str] | None:
    """Choose nodes, in their order; ``None``: there are not enough."""
    required = list(dict.fromkeys(request.required_nodes))
    if any(not room.get(name) for name in required):
        return None
    least, most = nodes
    chosen = [*required, *(name for name, count in room.items() if count and name not in required)]
    several = chosen[:least]
    for name in chosen[least:most]:
        if sum(room[one] for one in several) >= tasks:
            break
        several.append(name)
    if len(several) < least or sum(room[one] for one in several) < tasks:
        return None
    return sorted(several, key=list(room).index)


def _distribution(request: StepRequest, tasks: int, nodes: int) -> str:
    return request.distribution or ("cyclic" if tasks <= nodes else "block")


def _distribute(request: StepRequest, room: Sequence[int], tasks: int) -> list[int]:
    """Give the node of each task: filled one after the other, in turn, or in turn by planes. Each node gets a task."""
    room = [max(count, 1) for count in room]
    if request.ntasks_per_node:
        room = [min(count, request.ntasks_per_node) for count in room]
    while sum(room) < tasks:  # overcommitted
        room = [count * 2 for count in room]
    kind = _distribution(request, tasks, len(room))
    if kind in {"cyclic", "plane"}:
        return _in_turn(room, tasks, max(request.plane_size, 1))
    counts = [1] * len(room)
    left = tasks - len(room)
    for index, most in enumerate(room):
        more = min(most - 1, left)
        counts[index] += more
        left -= more
    return [index for index, count in enumerate(counts) for _ in range(count)]


def _in_turn(room: Sequence[int], tasks: int, at_a_time: int) -> list[int]:
    left, places = list(room), list[int]()
    while len(places) < tasks:
        for index in range(len(left)):
            count = min(at_a_time, left[index], tasks - len(places))
            places += [index] * count
            left[index] -= count
    return places
