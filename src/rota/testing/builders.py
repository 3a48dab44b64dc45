"""Builders of machines and requests: short words for what tests are about, defaults for the rest."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rota.core.events import AssociationLimits, UpdateLimits
from rota.model import ClusterConfig, JobSpec, Node, Partition, PartitionState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.accounting import AssociationTree


def cluster(
    *,
    cpus: int = 0,
    nodes: int | Sequence[Node] = 0,
    cpus_per_node: int = 1,
    partitions: Iterable[Partition] = (),
    **parameters: str,
) -> ClusterConfig:
    """Describe a machine.

    ``cluster(cpus=128)`` has interchangeable processors, ``cluster(nodes=8)`` nodes named ``n0``, ``n1`` … which
    are given out whole unless ``SelectType="select/cons_tres"`` is among the parameters.

    Args:
        cpus: Processors of a machine of one node. Give this or ``nodes``.
        nodes: How many, or the nodes themselves.
        cpus_per_node: Where ``nodes`` is a number.
        partitions: What `partition` made; without any there is one of all nodes, ``batch``. The first is the default
            one if none says that it is.
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
            part.nodes = whole
        if part.nodes & ~whole:
            raise ValueError(f"partition {part.name} has nodes that the machine has not")
    if not any(part.default for part in parts):
        parts[0].default = True
    if len(nodes) > 1 and not any(key.lower() == "selecttype" for key in parameters):
        parameters["SelectType"] = "select/linear"
    return with_parameters(ClusterConfig(nodes=tuple(nodes), partitions=tuple(parts)), **parameters)


def with_parameters(config: ClusterConfig, **parameters: str) -> ClusterConfig:
    """Give the same machine with other ``Key="Value"`` of slurm.conf, besides those that it has."""
    words = dict(config.parameters) | {key.lower(): value for key, value in parameters.items()}
    return replace(config, parameters=MappingProxyType(words))


#: What `partition` writes for "all nodes", before the machine is known.
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
        nodes: Places of its nodes, such as ``range(4)``; ``None``: all.
        tier: ``PriorityTier``.
        max_time: Seconds; ``None``: unlimited.
        max_nodes: For one job; ``None``: unlimited.
        state: ``UP`` and so on.
        others: Any other field of `rota.model.Partition`.
    """
    bitmap = ALL_NODES if nodes is None else sum(1 << place for place in set(nodes))
    return Partition(
        name=name, nodes=bitmap, priority_tier=tier, max_time=max_time, max_nodes=max_nodes, state=state, **others
    )


#: Short words for the fields of a request.
_SHORT: Mapping[str, str] = MappingProxyType(
    {"cpus": "num_cpus", "limit": "time_limit", "nodes": "min_nodes", "user": "user_id", "begin": "begin_time"}
)


def spec(**fields: Any) -> JobSpec:
    """Describe a request.

    Takes the fields of `rota.model.JobSpec` and, for short, ``cpus``, ``limit`` (seconds), ``nodes`` (least number),
    ``user`` (a number, or a name) and ``begin``. Without a limit it asks for an hour, for jobs that run for a year make
    poor scenarios.
    """
    named = {_SHORT.get(name, name): value for name, value in fields.items()}
    if isinstance(fields.get("user"), str):
        named["user"] = named.pop("user_id")
    return JobSpec(**({"time_limit": 3600} | named))


def limits_of(tree: AssociationTree) -> UpdateLimits:
    """Make the request that gives associations and QOS the limits which they have in a tree."""
    return UpdateLimits(
        associations=tuple(
            AssociationLimits(account=one.account, user=one.user, partition=one.partition, limits=one.limits)
            for one in tree.associations
        ),
        qos={name: one.limits for name, one in tree.qos.items()},
    )
