"""The lines of slurm.conf that describe a configuration: what the reader makes of them is that configuration again.

Not all of a file can be had back: of node sets only the nodes are known.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.config.lines import Line, Pair
from rota.model import NodeState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.model import ClusterConfig, Node, Partition

#: How UNLIMITED is written where a number may be.
_UNLIMITED = "UNLIMITED"


def lines_of(config: ClusterConfig) -> list[Line]:
    """Give the lines that describe a configuration."""
    scalars = [_scalar(config, key, value) for key, value in config.parameters.items() if key != "nodeset"]
    sets = (_line(NodeSet=name, Nodes=fold(nodes) or None) for name, nodes in config.node_sets.items())
    return [*scalars, *_node_lines(config), *sets, *(partition_line(config, one) for one in config.partitions)]


def _scalar(config: ClusterConfig, key: str, value: str) -> Line:
    path, number = config.places.get(key, ("", 0))
    return Line(Path(path), number, (Pair(key, value),))


def _line(**pairs: object) -> Line:
    """Make a line of the pairs whose values are not ``None``."""
    written = ((key, _text(value)) for key, value in pairs.items() if value is not None)
    return Line(Path(), 0, tuple(Pair(key, value) for key, value in written))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return ",".join(value) if isinstance(value, tuple) else str(value)


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _node_lines(config: ClusterConfig) -> Iterator[Line]:
    """Give a line for each NodeName line of the file, and one for the nodes that are not up."""
    groups: dict[int, list[Node]] = {}
    for node in config.nodes:
        groups.setdefault(node.line, []).append(node)
    for number in range(max(groups) + 1):  # the numbers tell in which order nodes are allocated
        if number in groups:
            yield _node_line(groups[number])
        else:
            yield _line(NodeName="DEFAULT")
    for state in (NodeState.DOWN, NodeState.DRAIN, NodeState.FAIL):
        if names := [node.name for node in config.nodes if node.state is state]:
            yield _line(DownNodes=fold(names), State=state.value)


def _node_line(nodes: list[Node]) -> Line:
    one = nodes[0]
    cores, on_socket = one.sockets * one.cores_per_socket, one.cores_per_socket * one.threads_per_core
    is_known = one.cpus in {one.sockets, cores, cores * one.threads_per_core}
    # Sockets that follow from the processors follow also from other processors. Those of a log's machine have no place.
    sockets = one.sockets if is_known and one.cpus != one.sockets * on_socket else None
    return _line(
        NodeName=fold([node.name for node in nodes]),
        CPUs=one.cpus,
        Sockets=sockets,
        CoresPerSocket=one.cores_per_socket,
        ThreadsPerCore=one.threads_per_core,
        RealMemory=one.real_memory,
        Features=one.features or None,
        Gres=one.gres or None,
        Weight=one.weight,
    )


# ---- partitions -----------------------------------------------------------------------------------------------------


def partition_line(config: ClusterConfig, one: Partition) -> Line:
    """Give the line that describes a partition."""
    nodes = [node.name for place, node in enumerate(config.nodes) if one.nodes >> place & 1]
    sets = [name for name in one.node_sets if set(config.node_sets.get(name, ())) <= set(nodes)]
    return _line(
        PartitionName=one.name,
        Nodes=",".join(filter(None, (*sets, fold(nodes)))),
        State=one.state.value,
        Default=one.default,
        MaxTime=_UNLIMITED if one.max_time is None else one.max_time // 60,
        DefaultTime=None if one.default_time is None else one.default_time // 60,
        MinNodes=one.min_nodes,
        MaxNodes=_UNLIMITED if one.max_nodes is None else one.max_nodes,
        PriorityTier=one.priority_tier,
        PriorityJobFactor=one.priority_job_factor,
        QOS=one.qos or None,
        TRESBillingWeights=tuple(f"{name}={weight!r}" for name, weight in one.billing_weights.items()) or None,
        DefMemPerCPU=one.def_mem_per_cpu or None,
        DefMemPerNode=one.def_mem_per_node or None,
        DefCpuPerGPU=one.def_cpu_per_gpu or None,
        DefMemPerGPU=one.def_mem_per_gpu or None,
        MaxMemPerCPU=one.max_mem_per_cpu or None,
        MaxMemPerNode=one.max_mem_per_node or None,
        MaxCPUsPerNode=one.max_cpus_per_node or None,
        SelectTypeParameters=one.select_parameters or None,
        RootOnly=one.root_only,
        ReqResv=one.req_resv,
        OverSubscribe=_sharing(one),
        GraceTime=one.grace_time,
        OverTimeLimit=_over_time_limit(config, one),
        LLN=one.least_loaded,
        AllowGroups=one.allow_groups or None,
        AllowAccounts=one.allow_accounts or None,
        DenyAccounts=one.deny_accounts or None,
        AllowQOS=one.allow_qos or None,
        DenyQOS=one.deny_qos or None,
        **{key: value for key, value in one.options.items() if key != "nodesets"},
    )


def _sharing(one: Partition) -> str:
    if one.exclusive:
        return "EXCLUSIVE"
    if one.force_share:
        return f"FORCE:{one.max_share}"
    return f"YES:{one.max_share}" if one.max_share > 1 else "NO"


def _over_time_limit(config: ClusterConfig, one: Partition) -> int | str | None:
    """Give the partition's own limit in minutes; ``None``: it has the cluster's."""
    mine = _UNLIMITED if one.over_time_limit is None else str(one.over_time_limit // 60)
    return None if mine.lower() == config.get("OverTimeLimit", "0").lower() else mine
