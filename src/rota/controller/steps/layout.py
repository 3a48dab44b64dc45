"""Where the tasks of a step run: the nodes of the job that it gets, and the distribution of its tasks to them.

As in Slurm 22.05, a step has all processors of its nodes, unless it says ``--exact``, ``--exclusive`` or how many
processors a task has; then it has just as many as its tasks need, and several steps can be side by side. It is on as
many nodes as it may, and each in turn gets a task, until it has no processors left; only the numbering of the tasks
differs by distribution.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.srun import StepGres
from rota.controller.steps.errors import NodesError, StepBusyError, StepError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.commands.srun import StepRequest
    from rota.controller.steps.gres import GresOfJob, NodeGres
    from rota.model.lines import AllocationLine
    from rota.model.step import StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The nodes and tasks of a step."""

    nodes: tuple[str, ...]
    #: Processors on each of them that the step uses, and that other steps cannot have.
    cpus: tuple[int, ...]
    held: tuple[int, ...]
    #: What it has of the GRES of each of them.
    gres: tuple[NodeGres, ...]
    #: The place in ``nodes`` of each task's node.
    node_of_task: tuple[int, ...]
    #: Processors of each task.
    cpus_per_task: int
    #: ``block``, ``cyclic``, ``plane`` or ``arbitrary``.
    distribution: str

    def tasks_of_nodes(self) -> list[list[int]]:
        """Give the numbers of the tasks on each node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for task, place in enumerate(self.node_of_task):
            found[place].append(task)
        return found


def lay_out(
    request: StepRequest,
    allocation: Sequence[AllocationLine],
    gres: GresOfJob,
    others: Sequence[StepRecord],
) -> Layout:
    """Lay out a step.

    Args:
        request: What it asks for.
        allocation: What its job has.
        gres: The GRES of its job.
        others: The other steps that run in it.

    Raises:
        StepBusyError: there will be room when other steps have ended.
        StepError: there will never be.
    """
    everything = {one.node: one.cpus for one in allocation}
    if not everything.keys() >= set(request.required_nodes):
        raise StepError("Requested node configuration is not available")
    counts = counts_of(request, allocation)
    _check_nodes(request, counts.least, list(everything))
    _check_memory(request, counts, allocation)
    found = _lay_out(request, counts, everything, {}, gres)
    if found is None:
        fitting = 0 if request.overcommit else counts.tasks
        gres.check(request.gres or StepGres(), list(everything), counts.most, fitting)
        if _choose(counts, _room(request, everything, {}, counts.tasks), {}) is None:
            raise StepError("More processors requested than permitted")
        raise gres.insufficient(request.gres)
    if others and not request.overlap:
        found = _lay_out(request, counts, everything, _held(others), gres.beside(others))
    if found is None:
        raise StepBusyError("Requested nodes are busy")
    return found


def _lay_out(
    request: StepRequest, counts: Counts, everything: Mapping[str, int], held: Mapping[str, int], gres: GresOfJob
) -> Layout | None:
    """Lay out a step beside others; ``None``: there is no room."""
    cpus_per_task, tasks = request.cpus_per_task or 1, counts.tasks
    wanted = request.gres or StepGres()
    room = _room(request, everything, held, tasks)
    for name in room if wanted.kinds else ():
        most = gres.room(wanted, name, counts.most)
        room[name] = room[name] if most is None else min(room[name], most)
    chosen = _choose(counts, room, held)
    if chosen is None:
        return None
    free = {name: everything[name] - held.get(name, 0) for name in chosen}
    if request.places:
        index = {name: number for number, name in enumerate(chosen)}
        places = [index[name] for name in request.places]
    else:
        each = 1 if request.overcommit else cpus_per_task
        places = _distribute(request, [min(free[name] // each, room[name]) for name in chosen], counts)
    tally = Counter(places)
    per_node = [tally[number] for number in range(len(chosen))]
    if request.exact:
        cpus = [min(number * cpus_per_task, free[name]) for number, name in zip(per_node, chosen, strict=True)]
    else:
        cpus = [free[name] for name in chosen]
    of_nodes = gres.choose(wanted, chosen, per_node)
    if of_nodes is None:
        return None
    return Layout(
        nodes=tuple(chosen),
        cpus=tuple(cpus),
        held=(0,) * len(cpus) if request.overlap else tuple(cpus),
        gres=tuple(of_nodes),
        node_of_task=tuple(places),
        cpus_per_task=cpus_per_task,
        distribution=_distribution(request, tasks, len(chosen)),
    )


def _held(steps: Iterable[StepRecord]) -> dict[str, int]:
    """Count the processors by node that steps hold."""
    found: dict[str, int] = {}
    for step in steps:
        for node, count in zip(step.nodes, step.held, strict=False):
            found[node] = found.get(node, 0) + count
    return found


class Counts(NamedTuple):
    """How many tasks a step has, on how many nodes."""

    tasks: int
    least: int
    most: int
    #: The nodes that have to be among them.
    required: tuple[str, ...]
    #: Whether it is on as few of them as possible.
    packs: bool
    #: How many tasks a node gets before others get more; 0: as many as there is room for.
    per_node: int
    #: What is to be told to the user.
    warnings: list[str]


def counts_of(request: StepRequest, allocation: Sequence[AllocationLine]) -> Counts:
    """Give the number of tasks, and the smallest and the largest number of nodes."""
    in_job = len(allocation)
    least, most = request.min_nodes or in_job, request.max_nodes or in_job
    required, warnings = tuple(dict.fromkeys(request.required_nodes)), list[str]()
    if len(required) > most:
        warnings.append(
            "error: Required nodelist includes more nodes than permitted by max-node count "
            f"({len(required)} > {most}). Eliminating nodes from the nodelist."
        )
        required = required[:most]
    least = max(least, len(required))
    per_node, tasks = request.ntasks_per_node, request.num_tasks
    if not tasks and request.cpus_per_task and not per_node:  # as many as the job has processors for
        tasks = sum(one.cpus // request.cpus_per_task for one in allocation)
    packs_all = request.distribution.packs and not request.wants_nodes
    tasks = tasks or (per_node if per_node and packs_all else least * max(per_node, 1))
    if packs_all:
        least = max(len(required), 1)
    if least > tasks:
        warnings.append(f"Warning: can't run {tasks} processes on {least} nodes, setting nnodes to {tasks}")
        least = tasks
    if tasks > per_node > 0 and tasks // least != per_node:
        warnings.append(
            f"Warning: can't honor --ntasks-per-node set to {per_node} which doesn't match the requested tasks {tasks} "
            f"with the number of requested nodes {least}. Ignoring --ntasks-per-node."
        )
        per_node = 0
    most = max(min(most, in_job, tasks), least)
    packs = request.distribution.packs and not request.overcommit
    return Counts(tasks, least, most, required, packs, per_node, warnings)


def _check_nodes(request: StepRequest, least: int, names: Sequence[str]) -> None:
    """Raise an error if there are not so many nodes for a step."""
    in_job, excluded = len(names), {*request.excluded_nodes}.intersection(names)
    for name in request.required_nodes:
        if name in excluded:
            raise NodesError(f"Requested node {name} is also in the excluded list.", "Job not submitted.")
    if len(excluded) == in_job:
        raise NodesError("Hostlist is empty!  Can't run job.")
    if least > in_job - len(excluded):
        why = ["Are required nodes explicitly excluded?"] if excluded else []
        raise NodesError(f"Only allocated {in_job - len(excluded)} nodes asked for {least}", *why)
    if request.relative and request.relative + least > in_job:
        asked = "--nodes" if request.wants_nodes else "SLURM_JOB_NUM_NODES"
        raise NodesError(
            f"--relative and {asked} option incompatible with count of allocated nodes "
            f"({request.relative}+{least}>{in_job})"
        )


def _check_memory(request: StepRequest, counts: Counts, allocation: Sequence[AllocationLine]) -> None:
    """Raise an error if a step asks for more memory than its job has; memory of 0 is not counted."""
    if all(0 < one.memory < request.mem_per_node for one in allocation):
        raise StepError("Memory required by task is not available")
    if not request.mem_per_cpu or request.overcommit:
        return
    each = request.mem_per_cpu * (request.cpus_per_task or 1)
    room = _room(request, {one.node: one.cpus for one in allocation}, {}, counts.tasks)
    for one in allocation:
        if one.memory and one.node in room:
            room[one.node] = min(room[one.node], one.memory // each)
    if _choose(counts, room, {}) is None:
        raise StepError("More processors requested than permitted")


def _room(request: StepRequest, everything: Mapping[str, int], held: Mapping[str, int], tasks: int) -> dict[str, int]:
    """Say for how many tasks there is room on each node."""
    skipped = {*list(everything)[: request.relative], *request.excluded_nodes}
    room: dict[str, int] = {}
    for name, cpus in everything.items():
        free = cpus - held.get(name, 0)
        if name in skipped or not (request.exact or free == cpus):  # the step wants all of it
            continue
        if not request.overcommit:
            room[name] = free // (request.cpus_per_task or 1)
        elif free:
            room[name] = tasks
    return room


def _choose(counts: Counts, room: Mapping[str, int], held: Mapping[str, int]) -> list[str] | None:
    """Choose nodes, in their order; ``None``: there are not enough. Beside those that are named only if need be.

    Nodes on which other steps hold nothing come first.
    """
    required = counts.required
    if any(not room.get(name) for name in required):
        return None
    others = [name for name in room if room[name] and name not in required]
    unused_first = sorted(others, key=lambda name: bool(held.get(name)))
    largest_first = sorted(others, key=lambda name: -room[name])  # where the first ones are too small
    for order in (unused_first, largest_first):
        chosen, total = list(required), sum(room[name] for name in required)
        for name in order:
            enough = (counts.packs or bool(required)) and total >= counts.tasks
            if len(chosen) >= (counts.least if enough else counts.most):
                break
            chosen.append(name)
            total += room[name]
        if len(chosen) >= counts.least and total >= counts.tasks:
            among = set(chosen)
            return [name for name in room if name in among]
    return None


def _distribution(request: StepRequest, tasks: int, nodes: int) -> str:
    return request.distribution.kind or ("cyclic" if tasks <= nodes else "block")


def _distribute(request: StepRequest, room: Sequence[int], counts: Counts) -> list[int]:
    """Give the node of each task."""
    tasks = counts.tasks
    kind = _distribution(request, tasks, len(room))
    if kind == "block" and request.distribution.packs:
        return _one_by_one(room, tasks, counts.per_node)
    if counts.per_node:
        room = [min(number, counts.per_node) for number in room]
    if kind == "plane":
        return _in_planes(room, tasks, max(request.distribution.plane_size, 1))
    return _in_turn(room, tasks, early=True) if kind == "cyclic" else sorted(_in_turn(room, tasks))


def _one_by_one(room: Sequence[int], tasks: int, most: int) -> list[int]:
    """Fill one node after the other, but that each gets a task; overcommitted, each in turn.

    Args:
        room: For how many tasks there is room on each.
        tasks: The number of tasks.
        most: How many a node shall have at most, as far as that is possible; 0: as many as there is room for.
    """
    if most * len(room) >= tasks:
        room = [min(number, most) for number in room]
    if sum(room) < tasks:
        return sorted(_in_turn(room, tasks))
    places = list[int]()
    for index, number in enumerate(room):
        later = len(room) - index - 1
        places += [index] * min(number, tasks - len(places) - later)
    return places


def _in_turn(room: Sequence[int], tasks: int, *, early: bool = False) -> list[int]:
    """Give each node a task in turn as long as it has room for one more; then, if need be, again each in turn.

    Args:
        room: For how many tasks there is room on each.
        tasks: The number of tasks.
        early: Whether, if there is not enough room, the last turn in which a node has some is already for all.
    """
    room = [max(number, 1) for number in room]
    turns = max(room) - (early and sum(room) < tasks)
    places = [index for turn in range(turns) for index, number in enumerate(room) if number > turn][:tasks]
    further = cycle(range(len(room)))
    return places + [next(further) for _ in range(tasks - len(places))]


def _in_planes(room: Sequence[int], tasks: int, size: int) -> list[int]:
    """Give each node several tasks in turn; at first only so many that each node gets one."""
    left, places = [max(number, 1) for number in room], list[int]()
    kept = len(left)
    while len(places) < tasks:
        for index, number in enumerate(left):
            kept -= kept > 0
            share = min(size, number, tasks - len(places) - kept)
            places += [index] * share
            left[index] -= share
        if not any(left):  # overcommitted: from now on as many as there are
            left = [tasks] * len(room)
    return places
