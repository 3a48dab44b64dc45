"""Builders of machines and requests, with defaults for everything that a test is not about."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rota.core.events import AssociationKey, AssociationRecord, UpdateAccounting
from rota.model import ClusterConfig, JobSpec, Node, Partition, PartitionState
from rota.model.read_only import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.accounting import AssociationTree
    from rota.model import Association


def cluster(
    *,
    cpus: int = 0,
    nodes: int | Sequence[Node] = 0,
    cpus_per_node: int = 1,
    partitions: Iterable[Partition] = (),
    **parameters: str,
) -> ClusterConfig:
    """Describe a machine.

    ``cluster(cpus=128)`` has interchangeable processors, ``cluster(nodes=8)`` nodes named ``n0``, ``n1`` …, which are
    allocated whole unless ``SelectType="select/cons_tres"`` is among the parameters.

    Args:
        cpus: Number of interchangeable processors. Give this or ``nodes``.
        nodes: Number of nodes, or the nodes themselves.
        cpus_per_node: Processors of each node, if ``nodes`` is a number.
        partitions: Results of `partition`; by default one with all nodes, ``batch``. The first is the default partition
            unless another one says so.
        parameters: Any ``Key="Value"`` of slurm.conf, such as ``SchedulerParameters="bf_interval=60"``.
    """
    if bool(cpus) == bool(nodes):
        raise ValueError("give either cpus or nodes")
    if cpus:
        nodes, cpus_per_node = 1, cpus
    if isinstance(nodes, int):
        nodes = [Node(name=f"n{i}", cpus=cpus_per_node) for i in range(nodes)]
    whole = (1 << len(nodes)) - 1
    parts = list(partitions) or [Partition(name="batch", nodes=whole)]
    for part in parts:
        if part.nodes == ALL_NODES:
            write(part, nodes=whole)
        if part.nodes & ~whole:
            raise ValueError(f"partition {part.name} has nodes that the machine has not")
    if not any(part.default for part in parts):
        write(parts[0], default=True)
    if len(nodes) > 1 and not any(key.lower() == "selecttype" for key in parameters):
        parameters["SelectType"] = "select/linear"
    return with_parameters(ClusterConfig(nodes=tuple(nodes), partitions=tuple(parts)), **parameters)


def with_parameters(config: ClusterConfig, **parameters: str) -> ClusterConfig:
    """Give the same machine with more ``Key="Value"`` of slurm.conf, or with other values."""
    words = dict(config.parameters) | {key.lower(): value for key, value in parameters.items()}
    return replace(config, parameters=MappingProxyType(words))


#: Value of `partition` for "all nodes", while the machine is unknown.
ALL_NODES = -1


def partition(
    name: str = "batch",
    nodes: Iterable[int] | None = None,
    *,
    tier: int = 1,
    max_time: int | None = None,
    max_nodes: int | None = None,
    state: PartitionState = PartitionState.UP,
    **others: Any,
) -> Partition:
    """Describe a partition.

    Args:
        name: Its name.
        nodes: Indices of its nodes, such as ``range(4)``; ``None``: all.
        tier: ``PriorityTier``.
        max_time: Largest time limit in seconds; ``None``: unlimited.
        max_nodes: Largest number of nodes of a job; ``None``: unlimited.
        state: ``UP`` and so on.
        others: Any other field of `rota.model.Partition`.
    """
    bitmap = ALL_NODES if nodes is None else sum(1 << place for place in set(nodes))
    return Partition(
        name=name, nodes=bitmap, priority_tier=tier, max_time=max_time, max_nodes=max_nodes, state=state, **others
    )


#: Short names of fields of a request.
_SHORT: Mapping[str, str] = MappingProxyType(
    {"cpus": "num_cpus", "limit": "time_limit", "nodes": "min_nodes", "user": "user_id", "begin": "begin_time"}
)


def spec(**fields: Any) -> JobSpec:
    """Describe a request.

    Takes the fields of `rota.model.JobSpec` and short names: ``cpus``, ``limit`` (seconds), ``nodes`` (smallest
    number), ``user`` (an id, or a name) and ``begin``. The default time limit is an hour.
    """
    named = {_SHORT.get(name, name): value for name, value in fields.items()}
    if isinstance(fields.get("user"), str):
        named["user"] = named.pop("user_id")
    return JobSpec(**({"time_limit": 3600} | named))


def accounting_of(tree: AssociationTree, chosen: Iterable[Association] | None = None) -> UpdateAccounting:
    """Make the event that sets associations of a tree, all of them by default, and all its QOS."""
    parents = {one.id: one.account for one in tree.associations}
    return UpdateAccounting(
        associations=tuple(
            AssociationRecord(
                key=AssociationKey(one.account, one.user, one.partition),
                parent="" if one.user else parents.get(one.parent_id, ""),
                **{name: getattr(one, name) for name in ("shares_raw", "priority", "default_qos", "qos", "limits")},
            )
            for one in (tree.associations if chosen is None else chosen)
        ),
        qos=tuple(tree.qos.values()) if chosen is None else (),
    )
