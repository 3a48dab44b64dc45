"""Evaluation of requests for one machine, the same for shared and for whole nodes.

Names become bitmaps of nodes, GRES become rows of a view, and missing values are taken from the partition and the
cluster. Equal requests are evaluated once.

Over 400 lines: most of them name fields, of a request and of what is made of it.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from rota.model import Errno, RequestError
from rota.model.constraint import parse_constraint
from rota.model.tres import gres_counts
from rota.resources.node_kinds import NodeKinds
from rota.resources.nodeset import from_mask, indices, to_mask
from rota.resources.requests.needs import ALL, NONE, Gres, GresTasks, Needs, SocketNeeds
from rota.resources.requests.request_class import RequestClass
from rota.resources.switches import Switches
from rota.resources.view import CPU, MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.model import ClusterConfig, JobSpec, Node, Partition
    from rota.model.constraint import Constraint
    from rota.resources.view import View

_INVALID_GRES = "Invalid generic resource (gres) specification"
_UNAVAILABLE = "Requested node configuration is not available"
T = TypeVar("T", bound=RequestClass)
#: Largest number of evaluated requests that are cached.
_MOST_KNOWN = 10_000
#: The largest number in a request.
_MOST = 2**31 - 1


class Requests(Generic[T]):
    """Evaluates requests, and caches the results.

    Args:
        config: The machine's configuration.
        nodes: The nodes.
        counts_memory: Whether memory is a consumable resource; else every job may use all of it.
        make: Converts needs to what the pool uses. It may raise ``RequestError``.
    """

    def __init__(
        self, config: ClusterConfig, nodes: Sequence[Node], *, counts_memory: bool, make: Callable[[Needs], T]
    ) -> None:
        self._count = len(nodes)
        self._counts_memory = counts_memory
        self._make = make
        self._least_loaded = "CR_LLN" in config.get("SelectTypeParameters").upper()
        self._one_task_per_core = "CR_ONE_TASK_PER_CORE" in config.get("SelectTypeParameters").upper()
        self._default_memory, self._most_memory = config.default_memory(), config.most_memory()
        #: Memory of each node where there is no default.
        self._otherwise = NONE if config.get("DefMemPerCPU") and not any(self._default_memory) else ALL
        self._gpu_defaults = config.gpu_defaults()
        #: Names of the partitions in which the configuration adds something to requests.
        self._adding = frozenset(
            part.name
            for part in config.partitions
            if self._one_task_per_core
            or any(part.most_memory(self._most_memory))
            or any((*self._gpu_defaults, part.def_cpu_per_gpu, part.def_mem_per_gpu))
        )
        self._switches = Switches(config.switches, nodes) if config.has_tree() else None
        #: The nodes by their kinds.
        self.node_kinds = of_nodes = NodeKinds(nodes)
        #: Kinds of GRES: ``gpu`` and, with types, ``gpu:a100``.
        kinds = {kind for node in of_nodes.examples for kind in node.gres_counts}
        self.gres_rows = {kind: 2 + number for number, kind in enumerate(sorted(kinds))}
        #: Name of what each row of a view counts.
        self.kinds = ("cpu", "mem", *(f"gres/{kind}" for kind in self.gres_rows))
        #: All resources of the machine: a row for each kind, a column for each node.
        self.whole: View = np.zeros((2 + len(kinds), len(nodes)), np.uint32)
        self.whole[CPU] = of_nodes.array(lambda node: node.cpus_effective)
        self.whole[MEMORY] = of_nodes.array(lambda node: max(node.real_memory - node.mem_spec_limit, 0))
        self.whole[2:] = of_nodes.array(lambda node: [node.gres_counts.get(kind, 0) for kind in self.gres_rows])
        #: Sockets, cores of each socket and threads of each core: a column for each node.
        self._shapes = of_nodes.array(lambda node: (node.sockets, node.cores_per_socket, node.threads_per_core))
        self._node_index = {node.name: index for index, node in enumerate(nodes)}
        self._features: dict[str, int] = {}
        for index, node in enumerate(nodes):
            for feature in node.features:
                self._features[feature] = self._features.get(feature, 0) | 1 << index
        #: Results by request and partition.
        self._known: dict[tuple[object, ...], T] = {}

    def read(self, spec: JobSpec, partition: Partition) -> T:
        """Evaluate a request in a partition.

        Raises:
            RequestError: a node, a feature or a kind of GRES does not exist, or ``make`` refuses the request.
        """
        key = (*_asked(spec), *_offered(partition))
        known = self._known.get(key)
        if known is None:
            _check_numbers(spec)
            if partition.name in self._adding:
                spec = self._within_bounds(spec, partition)
            constraint = self._constraint(spec.constraint, "Invalid feature specification", Errno.INVALID_FEATURE)
            needs = self._needs(spec, partition, constraint)
            if spec.prefer:
                prefer = self._constraint(spec.prefer, "Invalid preferred feature specification", Errno.INVALID_PREFER)
                needs = replace(needs, preferred=self._needs(spec, partition, prefer))
            if len(self._known) >= _MOST_KNOWN:  # users can make up any number of requests
                self._known.clear()
            known = self._known[key] = self._make(needs)
        return known

    def _within_bounds(self, spec: JobSpec, partition: Partition) -> JobSpec:
        """Add what the configuration adds to a request: what goes with GPUs, and processors for much memory.

        As in Slurm, a job that asks for more memory for each processor than it may have gets more processors.
        """
        if self._one_task_per_core and not spec.ntasks_per_core:
            spec = spec._replace(ntasks_per_core=1)
        cpus, memory = self._gpu_defaults
        cpus, memory = partition.def_cpu_per_gpu or cpus, partition.def_mem_per_gpu or memory
        if (cpus or memory) and any("gpu" in text for text in _gres_of(spec)):
            if cpus and spec.cpus_per_task == 1 and not spec.cpus_per_gpu:
                spec = _with_cpus_of_gpus(spec, cpus, whole=spec.exclusive or partition.exclusive)
            if memory and not (spec.mem_per_gpu or spec.mem_per_node or spec.mem_per_cpu):
                spec = spec._replace(mem_per_gpu=memory)
        _, most = partition.most_memory(self._most_memory)
        per_node, per_cpu = (spec.mem_per_node, spec.mem_per_cpu) if most else (0, 0)
        if most and not (per_node or per_cpu or spec.mem_per_gpu):
            per_node, per_cpu = partition.default_memory(self._default_memory)
        if per_cpu > most:
            more = -(-per_cpu // most)
            return spec._replace(
                mem_per_cpu=-(-per_cpu // more),
                num_cpus=spec.num_cpus * more,
                cpus_per_task=spec.cpus_per_task * more,
                min_cpus_per_node=spec.min_cpus_per_node * more,
            )
        if per_node < 0 < most and partition.nodes:  # all memory of a node: Slurm takes that of the first for all
            per_node = int(self.whole[MEMORY][next(indices(partition.nodes))])
        if per_node > most:
            return spec._replace(min_cpus_per_node=max(spec.min_cpus_per_node, -(-per_node // most)))
        return spec

    def _constraint(self, text: str, complaint: str, errno: Errno) -> Constraint | None:
        """Parse features; ``None`` if there are none."""
        if not text:
            return None
        try:
            constraint = parse_constraint(text)
        except ValueError as error:
            raise RequestError(f"{complaint}: {error}", errno) from None
        unknown = [name for name in constraint.features if name not in self._features]
        if unknown:
            raise RequestError(f"{complaint}: no node has {', '.join(unknown)}", errno)
        return constraint

    def _needs(self, spec: JobSpec, partition: Partition, constraint: Constraint | None) -> Needs:
        own = partition.select_parameters
        counts_memory = "MEMORY" in own if own else self._counts_memory
        usable = partition.nodes & self._with_memory(spec, counts=counts_memory) & ~self._named(spec.excluded_nodes)
        shape = spec.sockets_per_node, spec.cores_per_socket, spec.threads_per_core
        if any(shape):
            usable &= from_mask(np.greater_equal(self._shapes.T, shape).all(axis=1))
        allowed, counted = [usable], []
        if constraint is not None:
            allowed = [usable & nodes for nodes in constraint.alternatives(self._having)]
            counted = [(self._mask(nodes & usable), count) for nodes, count in constraint.counts(self._having)]
        gres, gres_per_task, per_job = map(self._gres, (spec.gres, spec.gres_per_task, spec.gres_per_job))
        per_socket = self._gres(spec.gres_per_socket) if spec.gres_per_socket else ()
        gpus = sum(one.number for one in gres + per_socket if one.gpu)
        memory, memory_per_cpu = self._memory(spec, partition, gpus, counts=counts_memory)
        asked = max(spec.min_nodes, partition.min_nodes, 1)
        least, most = asked, spec.max_nodes
        if spec.ntasks_per_node:
            least = max(least, -(-spec.num_tasks // spec.ntasks_per_node))
        if (number := sum(count for _, count in counted)) > least:
            if most and number > most:
                raise RequestError(
                    f"{_UNAVAILABLE}: {number} nodes are asked for by feature, and at most {most}",
                    Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
                )
            least = number
        if not most and partition.max_nodes is not None and partition.max_nodes >= asked:
            most = partition.max_nodes  # one that asks for more waits: PartitionNodeLimit
        if gpus or gres_per_task:  # GPUs of the whole job are among them
            per_job = ()
        if per_job and spec.num_tasks:  # every node has a task
            most = max(min(most or spec.num_tasks, spec.num_tasks), least)
        least_loaded = self.whole[CPU] if self._least_loaded or partition.least_loaded else None
        by_switch = self._switches is not None and not spec.contiguous and not spec.spread and least_loaded is None
        per_gpu, of_job = _cpus_per_gpu(spec), any(one.gpu for one in per_job)
        per_task, cpus = spec.cpus_per_task, spec.num_cpus
        if per_gpu and gres_per_task:
            per_task = max(per_task, per_gpu * sum(one.number for one in gres_per_task if one.gpu))
            cpus = max(cpus, spec.num_tasks * per_task)
        if per_gpu and of_job:
            cpus = max(cpus, per_gpu * sum(one.number for one in per_job if one.gpu))
        tasks = 1 if spec.num_tasks == 1 or spec.overcommit else spec.ntasks_per_node or 1
        on_sockets = sum(one.number for one in per_socket) * (spec.sockets_per_node - 1) if per_socket else 0
        on_each = max(tasks * per_task, spec.min_cpus_per_node, per_gpu * (gpus + on_sockets or of_job))
        on_socket = 0 if spec.overcommit else spec.ntasks_per_socket
        together = spec.ntasks_per_node or on_socket or spec.ntasks_per_core
        # Without GPUs, a node that has fewer processors than would go with one is of no use, but no more are allocated.
        with_one = 0 if gpus or of_job or gres_per_task else spec.cpus_per_gpu
        return Needs(
            cpus=cpus,
            per_task=1 if spec.overcommit else per_task,
            on_each=on_each,
            min_nodes=least,
            max_nodes=most,
            req_nodes=max(_wanted(spec, most, usable), least),
            min_cpus=max(together * per_task, on_each, with_one),
            tasks_per_node=spec.ntasks_per_node,
            tasks_per_core=spec.ntasks_per_core,
            threads_per_core=_threads(spec),
            own_threads=spec.threads_per_core,
            fills_sockets=spec.fills_sockets,
            sockets=_on_sockets(spec),
            memory=memory,
            memory_per_cpu=memory_per_cpu,
            memory_per_gpu=spec.mem_per_gpu if counts_memory else 0,
            cpus_per_gpu=per_gpu if of_job else 0,
            gres=gres,
            gres_per_task=gres_per_task,
            gres_per_job=per_job,
            gres_per_socket=per_socket,
            enforces_binding=bool(spec.enforces_binding),
            gres_tasks=GresTasks.of(spec, per_gpu) if gres or per_socket or gres_per_task or per_job else None,
            divides_gres=spec.divides_gres,
            whole=spec.exclusive or partition.exclusive,
            partition=partition.name,
            shares=_shares(spec, partition),
            least_loaded=least_loaded,
            switches=self._switches,
            leaves=spec.switches if by_switch else 0,
            contiguous=spec.contiguous,
            spread=spec.spread,
            allowed=tuple(allowed),
            required=self._mask(self._named(spec.required_nodes)) if spec.required_nodes else None,
            counted=tuple(counted),
        )

    def _with_memory(self, spec: JobSpec, *, counts: bool) -> int:
        """Give the nodes with the memory that a job asks for, where memory is no consumable resource.

        As in Slurm, memory for each processor is then required only once.
        """
        least = 0 if counts else max(spec.mem_per_node, spec.mem_per_cpu)
        return from_mask(self.whole[MEMORY] >= least)

    def _having(self, feature: str) -> int:
        return self._features.get(feature, 0)

    def _mask(self, nodes: int) -> NDArray[np.bool_]:
        return to_mask(nodes, self._count)

    def _named(self, names: str) -> int:
        nodes = 0
        for name in filter(None, names.split(",")):
            if name not in self._node_index:
                raise RequestError(f"Invalid node name specified: there is no node {name}", Errno.INVALID_NODE_NAME)
            nodes |= 1 << self._node_index[name]
        return nodes

    def _memory(self, spec: JobSpec, partition: Partition, gpus: int, *, counts: bool) -> tuple[int, int]:
        """Give memory for each node or for each processor; the defaults are those of the partition and the cluster."""
        if not counts:
            return 0, 0
        if spec.mem_per_gpu:
            return gpus * spec.mem_per_gpu, 0
        if spec.mem_per_node or spec.mem_per_cpu:
            return spec.mem_per_node, 0 if spec.mem_per_node else spec.mem_per_cpu
        per_node, per_cpu = partition.default_memory(self._default_memory)
        return (per_node, per_cpu) if per_node or per_cpu else (self._otherwise, 0)

    def _gres(self, text: str) -> tuple[Gres, ...]:
        """Evaluate GRES. A request without a type can be served by all types."""
        found = []
        for item in filter(None, text.split(",")):
            counts = _counts(item)
            if not counts:
                continue
            kind = max(counts, key=len)  # with the type, if it has one
            if not counts[kind]:
                continue  # of a kind that nobody knows, too
            row = self.gres_rows.get(kind)
            if not self.gres_rows.keys() & counts:
                raise RequestError(f"{_INVALID_GRES}: no node has {kind}", Errno.INVALID_GRES)
            if row is None:
                raise RequestError(
                    f"{_UNAVAILABLE}: no node has GRES {kind}",
                    Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
                )
            name, _, subtype = kind.partition(":")
            types = () if subtype else (row for other, row in self.gres_rows.items() if other.startswith(f"{name}:"))
            total = self.gres_rows[name] if subtype else None
            found.append(Gres(row, counts[kind], total, tuple(types), gpu=name == "gpu"))
        return tuple(found)


def _counts(text: str) -> dict[str, int]:
    """Count GRES by kind.

    Raises:
        RequestError: the text is none.
    """
    try:
        return gres_counts(text)
    except ValueError as error:
        raise RequestError(f"{_INVALID_GRES}: {error}", Errno.INVALID_GRES) from None


def _check_numbers(spec: JobSpec) -> None:
    """Check that the numbers in a request are not too large for what they are packed into.

    Raises:
        RequestError: one is too large, or negative.
    """
    for name, value in zip(_ASKED, _asked(spec), strict=True):
        least = -1 if name == "mem_per_node" else 0  # all memory of a node
        if type(value) is int and not least <= value <= _MOST:
            raise RequestError(
                f"{_UNAVAILABLE}: {name} is not from {least} to {_MOST}", Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE
            )


def _wanted(spec: JobSpec, most: int, usable: int) -> int:
    """Give the number of nodes that a job aims at, if the largest number is only a bound."""
    if spec.use_min_nodes or spec.gres_per_job or (spec.gres_per_task and spec.num_tasks):
        return 0
    wanted = min(spec.num_tasks, usable.bit_count()) if spec.spread and spec.num_tasks else spec.max_nodes
    return min(wanted, most) if most else wanted


def _threads(spec: JobSpec) -> int:
    """Give the largest number of threads of a core that a job uses; 0: all."""
    bounds = spec.ntasks_per_core * spec.cpus_per_task, spec.threads_per_core
    return min(filter(None, bounds), default=0)


def _cpus_per_gpu(spec: JobSpec) -> int:
    """Give the number of processors that go with a GPU; 0: any."""
    return max(spec.cpus_per_gpu, spec.ntasks_per_gpu * spec.cpus_per_task)


def _on_sockets(spec: JobSpec) -> SocketNeeds | None:
    asked = SocketNeeds(spec.sockets_per_node, spec.cores_per_socket, spec.ntasks_per_socket)
    return asked if any(asked) else None


def _with_cpus_of_gpus(spec: JobSpec, cpus: int, *, whole: bool) -> JobSpec:
    """Add the processors that go with GPUs by default.

    If GPUs are asked for by job, and not whole nodes, a job may have more: only ``--cpus-per-gpu`` is a bound.
    """
    *others, of_job = _gres_of(spec)
    if whole or "gpu" not in of_job or any("gpu" in text for text in others):
        return spec._replace(cpus_per_gpu=cpus)
    gpus = _counts(of_job).get("gpu", 0)
    return spec._replace(num_cpus=max(spec.num_cpus, gpus * cpus), min_cpus_per_node=max(spec.min_cpus_per_node, cpus))


def _shares(spec: JobSpec, partition: Partition) -> bool:
    """Whether a job may share cores with other jobs."""
    return partition.max_share > 1 and (partition.force_share or (spec.oversubscribe and not spec.exclusive))


#: The fields of a request from which `Needs` are made.
_ASKED = (
    "num_cpus",
    "cpus_per_task",
    "num_tasks",
    "ntasks_per_node",
    "threads_per_core",
    "ntasks_per_core",
    "sockets_per_node",
    "cores_per_socket",
    "ntasks_per_socket",
    "fills_sockets",
    "min_cpus_per_node",
    "min_nodes",
    "max_nodes",
    "spread",
    "use_min_nodes",
    "overcommit",
    "mem_per_node",
    "mem_per_cpu",
    "mem_per_gpu",
    "cpus_per_gpu",
    "ntasks_per_gpu",
    "gres",
    "gres_per_task",
    "gres_per_job",
    "gres_per_socket",
    "enforces_binding",
    "constraint",
    "prefer",
    "required_nodes",
    "excluded_nodes",
    "exclusive",
    "oversubscribe",
    "contiguous",
    "switches",
)
_asked = attrgetter(*_ASKED)
#: The GRES that it asks for: by node, socket and task, and in all.
_gres_of = attrgetter("gres", "gres_per_socket", "gres_per_task", "gres_per_job")
#: The fields of its partition from which they are made.
_offered = attrgetter(
    "name",
    "nodes",
    "min_nodes",
    "max_nodes",
    "def_mem_per_node",
    "def_mem_per_cpu",
    "exclusive",
    "max_share",
    "force_share",
    "least_loaded",
    "def_cpu_per_gpu",
    "def_mem_per_gpu",
    "max_mem_per_cpu",
    "select_parameters",
)
