"""The GRES of a step: what it asks for, whether its job has that, and which of the job's it gets.

As in Slurm 22.05, a step that names no GRES gets all that its job asked for, of the nodes on which it runs; one that
names some gets these alone. Steps side by side have different ones, unless they say ``--overlap``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.srun import StepGres
from rota.controller.steps.errors import INVALID_GRES, GresError, NodesError, StepError
from rota.model.gres import GPU
from rota.model.tres import kinds_of_gres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.commands.srun import StepRequest
    from rota.controller.run import Run
    from rota.model import JobSpec
    from rota.model.step import StepRecord


#: Options of a step that are about GPUs, and ask for none.
_OF_GPUS = frozenset({"cpus-per-gpu", "gpus-per-socket", "ntasks-per-gpu"})


class NodeGres(NamedTuple):
    """What a step has of one node."""

    #: Number by kind, ``gpu`` or ``gpu:a100``.
    counts: Mapping[str, int]
    #: Ids of the GPUs; empty also if they are not known.
    gpus: tuple[int, ...]

    def number(self, name: str) -> int:
        """Count those of a name, ``gpu``, of whatever type."""
        return sum(_matching(name, self.counts))


def with_gres_of_job(
    request: StepRequest, run: Run, tasks: int, nodes: tuple[int, int], *, names_gpus: bool
) -> StepRequest:
    """Let a step that names no GRES ask for those of its job; with tasks for each GPU it has as many as go with them.

    Args:
        request: What the step asks for.
        run: The run of its job.
        tasks: How many tasks it asks for.
        nodes: The smallest and the largest number of nodes on which they are.
        names_gpus: Whether its job was given a number of GPUs, which may follow from that of its tasks else.

    Raises:
        NodesError: neither step nor job say how many GPUs, and the tasks are no multiple of those for each.
    """
    each, (least, most) = request.ntasks_per_gpu, nodes
    gres = request.gres or _asked_by(run.job.request)
    if not each:
        return replace(request, gres=gres)
    if request.gres is None and not (names_gpus and gres.total):
        if tasks % each:
            raise NodesError(INVALID_GRES)
        if gres.total:
            gres = replace(gres, total={GPU: tasks // each})
    gpus = _count(gres.total) or _count(gres.per_node) * most
    tasks = max(tasks, each * gpus)
    return replace(request, num_tasks=tasks, min_nodes=least, max_nodes=most, gres=gres)


def _asked_by(job: JobSpec) -> StepGres:
    sockets = max(job.sockets_per_node, 1)
    of_sockets = {kind: number * sockets for kind, number in kinds_of_gres(job.gres_per_socket).items()}
    return StepGres(
        per_node=kinds_of_gres(job.gres) | of_sockets,
        per_task=kinds_of_gres(job.gres_per_task),
        total=kinds_of_gres(job.gres_per_job),
    )


def _name(kind: str) -> str:
    return kind.partition(":")[0]


def _matching(kind: str, counts: Mapping[str, int]) -> list[int]:
    """Give the numbers of what a kind stands for: ``gpu`` for ``gpu:a100`` too."""
    return [number for own, number in counts.items() if kind in {own, _name(own)}]


def _count(counts: Mapping[str, int]) -> int:
    return sum(_matching(GPU, counts))


def check_gres(request: StepRequest, least_nodes: int, run: Run, known: str) -> None:
    """Check that a job has the GRES that a step names.

    Args:
        request: What the step asks for.
        least_nodes: Smallest number of nodes that it has.
        run: The run of its job.
        known: Names of GRES that the cluster has: ``GresTypes`` of slurm.conf.

    Raises:
        NodesError: there is no GRES of a name.
        GresError: the job has too few, or none of that kind, or the step asks for fewer than it has nodes.
    """
    gres, job, has = request.gres or StepGres(), _asked_by(run.job.request), Counter[str]()
    if not {*map(_name, gres.kinds)} <= {*known.lower().split(","), *map(_name, job.kinds)}:
        raise NodesError(INVALID_GRES)
    for one in run.allocation:
        has.update(one.gres)
    if not has and (gres.kinds or _OF_GPUS & request.texts.keys()):
        raise GresError("Step requested GRES but job doesn't have GRES")
    named = {*job.kinds, *map(_name, job.kinds)} or has.keys()
    for kind in sorted(gres.kinds - named):
        name, _, of_type = kind.partition(":")
        raise GresError(f"Step requested GRES ({name}:{of_type or '(null)'}) not found in the job")
    for kind, number in gres.total.items():
        of_job = sum(_matching(kind, job.total)) + sum(_matching(kind, job.per_task)) * run.job.request.num_tasks
        if 0 < of_job < number and number > has[_name(kind)]:
            raise GresError(f"Step requested gres={kind}:{number} is more than the job's gres={kind}:{of_job}")
        if 0 < number < least_nodes:
            asked = f"gres={kind}:{number}"
            raise GresError(f"Step requested {asked} is less than the requested min nodes={least_nodes}")
    for kind, number in gres.per_node.items():
        each = _matching(kind, job.per_node)
        on_a_node = max(one.gres.get(_name(kind), 0) for one in run.allocation)
        if each and number > max(each) and (number > on_a_node or len(each) > 1):
            raise GresError(_more("gres_per_node", kind, number, max(each)))
    for kind, number in gres.per_task.items():
        each = _matching(kind, job.per_task)
        if each and number > max(each):
            raise GresError(_more("gres_per_task", kind, number, max(each)))


def _more(what: str, kind: str, number: int, most: int) -> str:
    return f"Step requested {what}={kind}:{number} is more than the job's {what}={kind}:{most}"


class GresOfJob:
    """The GRES of a running job, and which of them some of its steps leave free.

    Args:
        counts: Their number on each node, by kind.
        gpus: The kind of each GPU on each node, by its id, where these are known.
        steps: The steps.
    """

    def __init__(
        self,
        counts: Mapping[str, Mapping[str, int]],
        gpus: Mapping[str, Mapping[int, str]],
        steps: Iterable[StepRecord] = (),
    ) -> None:
        self._counts, self._gpus = counts, gpus
        #: What steps hold, by node: the number of each kind, and GPUs.
        self._held: dict[str, Counter[str]] = {}
        self._held_ids: dict[str, set[int]] = {}
        for step in steps:
            if not any(step.held) or not any(step.gres):
                continue
            for node, text, ids in zip(step.nodes, step.gres, step.gpus, strict=True):
                held = self._held.setdefault(node, Counter())
                for kind, number in kinds_of_gres(text).items():
                    held.update(dict.fromkeys({kind, _name(kind)}, number))
                self._held_ids.setdefault(node, set()).update(ids)

    @classmethod
    def of(cls, run: Run, gpu_kinds: Callable[[str], Mapping[int, str]]) -> GresOfJob:
        """Give those of a run, none of which is held.

        Args:
            run: The run.
            gpu_kinds: Gives the kind of each GPU of a node by its id.
        """
        gpus = {}
        for node, devices in run.devices.items():
            if devices.gpus:
                kinds = gpu_kinds(node)
                gpus[node] = {gpu: kinds.get(gpu, GPU) for gpu in devices.gpus}
        return cls({one.node: one.gres for one in run.allocation}, gpus)

    def beside(self, steps: Iterable[StepRecord]) -> GresOfJob:
        """Give the same GRES, some of which steps hold."""
        return GresOfJob(self._counts, self._gpus, steps)

    def free(self, kind: str, node: str, taken: Iterable[int] = ()) -> tuple[int, tuple[int, ...]]:
        """Give how many of a kind are free on a node and, of GPUs that are known, their ids.

        Args:
            kind: As ``gpu`` or ``gpu:a100``.
            node: Name of the node.
            taken: Ids of GPUs that are not to be counted.
        """
        counts, name = self._counts.get(node, {}), _name(kind)
        every = self._gpus.get(node, {})
        if name != GPU or len(every) != counts.get(GPU, 0):
            key = kind if kind in counts else name
            return max(counts.get(key, 0) - self._held.get(node, Counter())[key], 0), ()
        others = {*self._held_ids.get(node, ()), *taken}
        ids = tuple(one for one in every if one not in others and kind in {GPU, every[one]})
        return len(ids), ids

    def room(self, gres: StepGres, node: str, most_nodes: int) -> int | None:
        """Say for how many tasks of a step a node has enough; ``None``: for any number."""
        for kind, number in gres.per_node.items():
            if number > self.free(kind, node)[0]:
                return 0
        for kind, number in gres.total.items():
            if number and self.free(kind, node)[0] < (number if most_nodes == 1 else 1):
                return 0
        each = [self.free(kind, node)[0] // number for kind, number in gres.per_task.items() if number]
        return min(each, default=None)

    def check(self, gres: StepGres, nodes: Sequence[str], most_nodes: int, tasks: int) -> None:
        """Check that some node has enough for a task, and all together have about enough for all.

        As in Slurm, what is left of a node that has enough for one task counts for one more here.

        Args:
            gres: What a step asks for.
            nodes: Names of the nodes of its job.
            most_nodes: On how many of them it may be.
            tasks: How many tasks have to fit.

        Raises:
            GresError: none of them has enough for one.
            StepError: they have too few.
        """
        room = [self.room(gres, node, most_nodes) for node in nodes]
        if all(most == 0 for most in room):
            raise GresError
        for kind, number in gres.per_task.items():
            has = [self.free(kind, node)[0] for node in nodes]
            if number and sum(-(-one // number) for one in has if one >= number) < tasks:
                raise StepError("More processors requested than permitted")

    @staticmethod
    def insufficient(gres: StepGres | None) -> StepError:
        """Give the error of a step that asks for more than there is on its nodes."""
        return StepError("Insufficient GRES available in allocation") if gres and gres.per_task else GresError()

    def choose(self, gres: StepGres, nodes: Sequence[str], tasks: Sequence[int]) -> list[NodeGres] | None:
        """Choose what a step gets of each of its nodes; ``None``: there is not enough.

        Args:
            gres: What it asks for.
            nodes: Names of its nodes.
            tasks: Number of its tasks on each of them.
        """
        kinds = sorted(gres.kinds)
        if not kinds:
            return [NodeGres({}, ())] * len(nodes)
        left = {} if gres.per_task else dict(gres.total)
        found = list[NodeGres]()
        for place, node in enumerate(nodes):
            counts, ids = dict[str, int](), list[int]()
            for kind in kinds:
                number, those = self.free(kind, node, ids)
                wanted = gres.per_node.get(kind, 0) + gres.per_task.get(kind, 0) * tasks[place]
                if left.get(kind):  # each node after this one gets one at least
                    share = min(number - wanted, left[kind] - (len(nodes) - place - 1))
                    left[kind] -= share
                    wanted += share
                if wanted > number:
                    return None
                counts[kind] = wanted
                ids += those[:wanted]
            found.append(NodeGres(counts, tuple(sorted(ids))))
        return None if any(left.values()) else found
