"""The machine in force when slurm.conf changes: nodes and partitions that jobs use stay until these have ended.

Nodes and partitions may be added, removed and changed, in a restart and when slurm.conf is read again:

- A node that was removed, or whose hardware has changed, is drained as long as jobs hold it. Then it is removed,
  or takes its new hardware.
- A partition that was removed is INACTIVE as long as it has jobs.

Indices of nodes are their positions in slurm.conf; removed nodes that are still in use come after these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rota.model import NodeState, PartitionState
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rota.model import ClusterConfig, Node, Partition
    from rota.resources.view import Shares

    #: Amounts of a node's resources, by the node's name.
    NamedShares = dict[str, dict[str, int]]

#: Attributes of a node's resources. All others may change while jobs are running on it.
_HARDWARE = ("cpus", "sockets", "cores_per_socket", "threads_per_core", "real_memory", "gres")
#: Reason of nodes that are drained because they were removed.
LEAVES = "not in slurm.conf any more: leaves when its jobs are over"
CHANGES = "other in slurm.conf: changes when its jobs are over"


class Machine(NamedTuple):
    """The machine in force: copies of nodes and partitions."""

    nodes: list[Node]
    #: Partitions by name.
    partitions: dict[str, Partition]
    #: Maps the indices of the nodes before.
    move: NodeMapping
    #: Whether it can serve other requests than the machine before.
    is_other: bool


def merge(
    config: ClusterConfig,
    nodes: Sequence[Node],
    partitions: Collection[Partition],
    *,
    used_nodes: Collection[str],
    used_partitions: Collection[str],
    keep_state_of: Collection[str],
) -> Machine:
    """Make the machine of a new slurm.conf, as far as running jobs allow it.

    Args:
        config: The new slurm.conf.
        nodes: The nodes so far.
        partitions: The partitions so far.
        used_nodes: Names of nodes that jobs hold resources of.
        used_partitions: Names of partitions that have jobs.
        keep_state_of: Names of partitions whose present state is kept; others get the state in slurm.conf.
    """
    merged = _merge_nodes(config, nodes, used_nodes)
    move = NodeMapping([node.name for node in nodes], [node.name for node in merged])
    found = {part.name: replace(part) for part in config.partitions}
    for part in partitions:
        if part.name in found and part.name in keep_state_of:
            found[part.name].state = part.state
        elif part.name not in found and part.name in used_partitions:
            left = move.bitmap(part.nodes)
            found[part.name] = replace(part, nodes=left, state=PartitionState.INACTIVE, default=False)
    return Machine(merged, found, move, _asked_of(nodes, partitions) != _asked_of(merged, found.values()))


def _merge_nodes(config: ClusterConfig, known: Iterable[Node], used: Collection[str]) -> list[Node]:
    before = {node.name: node for node in known}
    nodes = [_become(before.pop(node.name, node), node, used) for node in config.nodes]
    return nodes + [_drain(node, LEAVES) for node in before.values() if node.name in used]


def _become(old: Node, new: Node, used: Collection[str]) -> Node:
    """Make a node of the new slurm.conf, keeping its state and, as long as jobs use it, its hardware."""
    state, why = old.state, {name: getattr(old, name) for name in ("reason", "reason_uid", "reason_time")}
    if is_other(old, new) and new.name in used:
        return _drain(replace(new, state=state, **why, **{name: getattr(old, name) for name in _HARDWARE}), CHANGES)
    if state is NodeState.DRAIN and old.reason in {LEAVES, CHANGES}:
        return replace(new, state=NodeState.UP)
    return replace(new, state=state, **why)


def leave(node: Node, config: ClusterConfig) -> Node:
    """Drain a node that is about to be removed or changed, unless it is not up."""
    return _drain(node, CHANGES if any(one.name == node.name for one in config.nodes) else LEAVES)


def _drain(node: Node, reason: str) -> Node:
    """Drain a node unless it is not up."""
    return replace(node, state=NodeState.DRAIN, reason=reason) if node.state is NodeState.UP else replace(node)


def is_other(old: Node, new: Node) -> bool:
    """Whether the hardware of a node differs."""
    return any(getattr(old, name) != getattr(new, name) for name in _HARDWARE)


def _asked_of(nodes: Iterable[Node], partitions: Iterable[Partition]) -> object:
    """Give all that determines which requests a machine can serve."""
    plain = [replace(node, state=NodeState.UP, reason="", reason_uid=0, reason_time=0) for node in nodes]
    return plain, {part.name: part.nodes for part in partitions}


class NodeMapping:
    """Maps indices and bitmaps of nodes from one order of nodes to another.

    Args:
        before: Names of nodes in the old order.
        after: Names of nodes in the new order. Nodes that are missing are left out.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._same = list(before) == list(after)
        places = {name: place for place, name in enumerate(after)}
        self._bits = [1 << places[name] if name in places else 0 for name in before]

    def bitmap(self, nodes: int) -> int:
        """Map a bitmap of nodes."""
        return nodes if self._same else sum(self._bits[place] for place in indices(nodes))


def by_name(shares: Shares, nodes: Sequence[Node]) -> NamedShares:
    """Replace indices of nodes by names."""
    return {nodes[place].name: kinds for place, kinds in shares.items()}


def by_place(shares: Mapping[str, Mapping[str, int]], places: Mapping[str, int]) -> Shares:
    """Replace names of nodes by indices.

    Args:
        shares: Amounts by the name of the node.
        places: Indices of nodes by name.

    Raises:
        KeyError: there is no such node.
    """
    return {places[name]: dict(kinds) for name, kinds in shares.items()}
