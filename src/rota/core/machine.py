"""The machine as slurm.conf has it, save for what jobs still hold of another.

Between two runs, and when slurm.conf is read again, nodes and partitions may come and go, and nodes may become others.
What jobs have of the machine stays until they are over:

- A node that is not in slurm.conf any more, or has other hardware there, drains. Once it is free it leaves, or becomes
  what slurm.conf has.
- A partition that is not there any more is INACTIVE. It leaves with its last job.

Node bitmaps go by place: that of a node in slurm.conf; what is on its way out comes after these.
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

    #: How much of what there is of a node, for some nodes by their names.
    NamedShares = dict[str, dict[str, int]]

#: What jobs are given of a node. The rest may change while they run.
_HARDWARE = ("cpus", "sockets", "cores_per_socket", "threads_per_core", "real_memory", "gres")
#: Why nodes drain that are on their way out.
LEAVES = "not in slurm.conf any more: leaves when its jobs are over"
CHANGES = "other in slurm.conf: changes when its jobs are over"


class Machine(NamedTuple):
    """The machine that there is from now on: copies of nodes and partitions."""

    nodes: list[Node]
    #: By name.
    partitions: dict[str, Partition]
    #: From the places that nodes had.
    move: NodeMove
    #: Whether it may serve other requests than the one before.
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
    """Give the machine that slurm.conf wants, as far as jobs let it be.

    Args:
        config: What slurm.conf says.
        nodes: The nodes that there have been.
        partitions: The partitions that there have been.
        used_nodes: Names of the nodes of which jobs hold something.
        used_partitions: Names of the partitions in which there are jobs.
        keep_state_of: Names of the partitions that keep the state which they have been given; others get slurm.conf's.
    """
    merged = _merge_nodes(config, nodes, used_nodes)
    move = NodeMove([node.name for node in nodes], [node.name for node in merged])
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
    return nodes + [_leave(node, LEAVES) for node in before.values() if node.name in used]


def _become(old: Node, new: Node, used: Collection[str]) -> Node:
    """Give a node of slurm.conf, in the state in which it is; with its old hardware if jobs use that."""
    state, why = old.state, {name: getattr(old, name) for name in ("reason", "reason_uid", "reason_time")}
    if is_other(old, new) and new.name in used:
        return _leave(replace(new, state=state, **why, **{name: getattr(old, name) for name in _HARDWARE}), CHANGES)
    if state is NodeState.DRAIN and old.reason in {LEAVES, CHANGES}:
        return replace(new, state=NodeState.UP)
    return replace(new, state=state, **why)


def _leave(node: Node, reason: str) -> Node:
    """Drain a node, unless it is not up anyway."""
    return replace(node, state=NodeState.DRAIN, reason=reason) if node.state is NodeState.UP else replace(node)


def is_other(old: Node, new: Node) -> bool:
    """Whether a node has other hardware."""
    return any(getattr(old, name) != getattr(new, name) for name in _HARDWARE)


def _asked_of(nodes: Iterable[Node], partitions: Iterable[Partition]) -> object:
    """Give what decides which requests a machine could serve."""
    plain = [replace(node, state=NodeState.UP, reason="", reason_uid=0, reason_time=0) for node in nodes]
    return plain, {part.name: part.nodes for part in partitions}


class NodeMove:
    """From the places of some nodes to the places that they have in another order.

    Args:
        before: Names, by place.
        after: Names, by place; those that are not among them are left out.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._same = list(before) == list(after)
        places = {name: place for place, name in enumerate(after)}
        self._bits = [1 << places[name] if name in places else 0 for name in before]

    def bitmap(self, nodes: int) -> int:
        """Move a node bitmap."""
        return nodes if self._same else sum(self._bits[place] for place in indices(nodes))


def by_name(shares: Shares, nodes: Sequence[Node]) -> NamedShares:
    """Name the nodes of what a job holds."""
    return {nodes[place].name: kinds for place, kinds in shares.items()}


def by_place(shares: Mapping[str, Mapping[str, int]], places: Mapping[str, int]) -> Shares:
    """Find the nodes of what a job holds.

    Args:
        shares: By the names of nodes.
        places: Of nodes, by name.

    Raises:
        KeyError: there is no such node.
    """
    return {places[name]: dict(kinds) for name, kinds in shares.items()}
