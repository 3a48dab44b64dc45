"""The machine in force when slurm.conf changes: nodes and partitions that jobs use stay until these have ended.

Nodes and partitions may be added, removed and changed, in a restart and when slurm.conf is read again:

- A node that was removed, or whose hardware has changed, is drained as long as jobs hold it. Then it is removed,
  or takes its new hardware.
- A partition that was removed is INACTIVE as long as it has jobs.

What administrators have set of nodes and partitions lasts over a restart, until slurm.conf is read again.

Indices of nodes are their positions in slurm.conf; removed nodes that are still in use come after these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from rota.model import LONGEST, Node, NodeState, PartitionState
from rota.model.node import KEPT
from rota.model.partition import MAX_SHARE
from rota.model.read_only import write
from rota.model.tres import MAX_FACTOR
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rota.model import ClusterConfig, Partition
    from rota.resources.view import Shares

    #: Amounts of a node's resources, by the node's name.
    NamedShares = dict[str, dict[str, int]]

#: Attributes of a node's resources. All others may change while jobs are running on it.
_HARDWARE = (
    *("cpus", "sockets", "cores_per_socket", "threads_per_core", "core_spec_count"),
    *("real_memory", "mem_spec_limit", "gres"),
)
_hardware = attrgetter(*_HARDWARE)
#: Reason of nodes that are drained because they were removed.
REMOVED_REASON = "not in slurm.conf any more: leaves when its jobs are over"
CHANGED_REASON = "other in slurm.conf: changes when its jobs are over"


class Machine(NamedTuple):
    """The machine in force: its nodes, and copies of partitions."""

    nodes: list[Node]
    #: Partitions by name.
    partitions: dict[str, Partition]
    #: Maps the indices of the nodes before.
    move: NodeMapping
    #: Whether it can serve other requests than the machine before.
    is_other: bool


#: Smallest and largest values of nodes and partitions. Larger numbers would not fit into packed resource sets.
_MOST = 2**31 - 1
_NODE_BOUNDS = {
    "cpus": (1, _MOST),
    "sockets": (1, _MOST),
    "cores_per_socket": (1, _MOST),
    "threads_per_core": (1, _MOST),
    "core_spec_count": (0, _MOST),
    "real_memory": (0, _MOST),
    "mem_spec_limit": (0, _MOST),
    "weight": (0, 2**32 - 1),
    "set_weight": (0, 2**32 - 1),
}
_PARTITION_BOUNDS = {
    "max_time": (0, LONGEST),
    "default_time": (0, LONGEST),
    "min_nodes": (0, _MOST),
    "max_nodes": (0, _MOST),
    "priority_tier": (0, 2**16 - 1),
    "priority_job_factor": (0, 2**16 - 1),
    "def_mem_per_cpu": (0, _MOST),
    "def_mem_per_node": (0, _MOST),
    "def_cpu_per_gpu": (0, _MOST),
    "def_mem_per_gpu": (0, _MOST),
    "max_mem_per_cpu": (0, _MOST),
    "max_mem_per_node": (0, _MOST),
    "max_cpus_per_node": (0, _MOST),
    "max_share": (1, MAX_SHARE),
    "grace_time": (0, LONGEST),
    "over_time_limit": (0, LONGEST),
}


def check(config: ClusterConfig) -> None:
    """Check nodes and partitions, which need not come from a slurm.conf.

    Raises:
        InputError: a name is missing or used twice, a number is out of bounds, or a partition has nodes that do not
            exist.
    """
    _check_names("NodeName", config, config.nodes)
    _check_names("PartitionName", config, config.partitions)
    kinds = {(node.kind, node.set_weight): node for node in config.nodes}.values()  # one of each
    _check_bounds("NodeName", config, kinds, _NODE_BOUNDS)
    _check_bounds("PartitionName", config, config.partitions, _PARTITION_BOUNDS)
    for node in kinds:
        if node.cpus_effective < 1:
            raise config.error("NodeName", f"core_spec_count of {node.name} leaves no processor for jobs")
        try:
            counts = node.gres_counts
        except ValueError as error:
            raise config.error("NodeName", f"{node.name}: {error}") from None
        if max(counts.values(), default=0) > _MOST:
            raise config.error("NodeName", f"{node.name} has more GRES than {_MOST}")
    for part in config.partitions:
        if part.nodes < 0 or part.nodes >> len(config.nodes):
            raise config.error("PartitionName", f"{part.name} has nodes that there are not")
        if not all(0 <= weight <= MAX_FACTOR for weight in part.billing_weights.values()):
            raise config.error(
                "PartitionName", f"{part.name} has billing weights that are no numbers from 0 to {MAX_FACTOR:g}"
            )


def _check_names(key: str, config: ClusterConfig, each: Sequence[Node | Partition]) -> None:
    times = Counter(one.name for one in each)
    if not times:
        raise config.error(key, "there are none")
    for name, count in times.items():
        if not name or "," in name or count > 1:
            raise config.error(key, f"{name[:80]!r} is no name, or that of several")


def _check_bounds(
    key: str, config: ClusterConfig, each: Iterable[Node | Partition], bounds: Mapping[str, tuple[int, int]]
) -> None:
    for one in each:
        for name, (least, most) in bounds.items():
            value = getattr(one, name)
            if value is not None and not least <= value <= most:
                raise config.error(key, f"{name} of {one.name[:80]} is not from {least} to {most}")


def merge(
    config: ClusterConfig,
    nodes: Sequence[Node],
    partitions: Collection[Partition],
    *,
    used_nodes: Collection[str],
    used_partitions: Collection[str],
    keep_state_of: Collection[str],
    keep_set: bool = True,
) -> Machine:
    """Make the machine of a new slurm.conf, as far as running jobs allow it.

    Args:
        config: The new slurm.conf.
        nodes: The nodes so far.
        partitions: The partitions so far.
        used_nodes: Names of nodes that jobs hold resources of.
        used_partitions: Names of partitions that have jobs.
        keep_state_of: Names of partitions whose present state is kept; others get the state in slurm.conf.
        keep_set: Whether nodes keep the features and weights that an administrator has set.
    """
    merged = _merge_nodes(config.nodes, nodes, used_nodes, keep_set=keep_set)
    move = NodeMapping([node.name for node in nodes], [node.name for node in merged])
    found = {part.name: replace(part) for part in config.partitions}
    for part in partitions:
        if part.name in found and part.name in keep_state_of:
            write(found[part.name], state=part.state)
        elif part.name not in found and part.name in used_partitions:
            left = move.bitmap(part.nodes)
            inactive = PartitionState.INACTIVE
            found[part.name] = replace(part, nodes=left, state=inactive, default=False, created=False)
    offers_other = _offered_by(partitions) != _offered_by(found.values()) or not _offer_the_same(nodes, merged)
    return Machine(merged, found, move, offers_other)


def with_changes(
    config: ClusterConfig, partitions: Iterable[Partition], deleted: Collection[str], move: NodeMapping
) -> ClusterConfig:
    """Give slurm.conf with the partitions that an administrator has changed, created and deleted.

    Args:
        config: slurm.conf.
        partitions: The partitions as they were.
        deleted: Names of those that were deleted.
        move: Maps the nodes as they were to those of slurm.conf.
    """
    found = {part.name: part for part in config.partitions if part.name not in deleted}
    for part in partitions:
        old = replace(part, nodes=move.bitmap(part.nodes))
        if part.name in found:
            changes = {name: getattr(old, name) for name in part.set_fields}
            found[part.name] = replace(found[part.name], **changes, set_fields=part.set_fields)
        elif part.created:
            found[part.name] = old
    chosen = next((one for one in found.values() if one.default and (one.created or "default" in one.set_fields)), None)
    if chosen is not None:  # and not what slurm.conf says by now
        found = {name: replace(one, default=one is chosen) for name, one in found.items()}
    return replace(config, partitions=tuple(found.values()))


def _merge_nodes(wanted: Iterable[Node], known: Iterable[Node], used: Collection[str], *, keep_set: bool) -> list[Node]:
    before = {node.name: node for node in known}
    nodes = [_updated(before.pop(node.name, node), node, used, keep_set=keep_set) for node in wanted]
    return nodes + [_drain(node, REMOVED_REASON) for node in before.values() if node.name in used]


def _updated(old: Node, new: Node, used: Collection[str], *, keep_set: bool) -> Node:
    """Make a node of the new slurm.conf, keeping what is set of it and, as long as jobs use it, its hardware.

    Most nodes stay as they are, and are not made anew: a machine may have many.
    """
    is_set = old.set_features is not None or old.set_weight is not None
    is_leaving = old.state is NodeState.DRAIN and old.reason in {REMOVED_REASON, CHANGED_REASON}
    if old[:KEPT] == new[:KEPT] and not is_leaving and not is_set:
        return old
    found = Node._make((*new[:KEPT], *old[KEPT:]))
    if old.set_features is not None:
        found = found._replace(features=old.set_features) if keep_set else found._replace(set_features=None)
    if old.set_weight is not None:
        found = found._replace(weight=old.set_weight) if keep_set else found._replace(set_weight=None)
    if new.name in used and is_other(old, new):
        return _drain(found._replace(**{name: getattr(old, name) for name in _HARDWARE}), CHANGED_REASON)
    if is_leaving:
        reason = {name: getattr(new, name) for name in ("reason", "reason_uid", "reason_time")}
        return found._replace(state=NodeState.UP, **reason)
    return found


def leave(node: Node, config: ClusterConfig) -> Node:
    """Drain a node that is about to be removed or changed, unless it is not up."""
    return _drain(node, CHANGED_REASON if any(one.name == node.name for one in config.nodes) else REMOVED_REASON)


def _drain(node: Node, reason: str) -> Node:
    """Drain a node unless it is not up."""
    return node._replace(state=NodeState.DRAIN, reason=reason) if node.state is NodeState.UP else node


def is_other(old: Node, new: Node) -> bool:
    """Whether the hardware of a node differs."""
    return _hardware(old) != _hardware(new)


def _offer_the_same(before: Sequence[Node], after: Sequence[Node]) -> bool:
    """Whether nodes can serve the same requests."""
    pairs = zip(before, after, strict=True)
    return len(before) == len(after) and all(old is new or old[:KEPT] == new[:KEPT] for old, new in pairs)


def _offered_by(partitions: Iterable[Partition]) -> dict[str, Partition]:
    """Give all of partitions that determines which requests they can serve."""
    return {part.name: replace(part, state=PartitionState.UP) for part in partitions}


class NodeMapping:
    """Maps indices and bitmaps of nodes from one order of nodes to another.

    Args:
        before: Names of nodes in the old order.
        after: Names of nodes in the new order. Nodes that are missing are left out.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._same = list(before) == list(after)
        self._bits: list[int] = []
        if not self._same:
            node_index = {name: index for index, name in enumerate(after)}
            self._bits = [1 << node_index[name] if name in node_index else 0 for name in before]

    def bitmap(self, nodes: int) -> int:
        """Map a bitmap of nodes."""
        return nodes if self._same else sum(self._bits[index] for index in indices(nodes))


def by_name(shares: Shares, nodes: Sequence[Node]) -> NamedShares:
    """Replace indices of nodes by names."""
    return {nodes[index].name: kinds for index, kinds in shares.items()}


def by_index(shares: Mapping[str, Mapping[str, int]], node_index: Mapping[str, int]) -> Shares:
    """Replace names of nodes by indices.

    Args:
        shares: Amounts by the name of the node.
        node_index: Indices of nodes by name.

    Raises:
        KeyError: there is no such node.
    """
    return {node_index[name]: dict(kinds) for name, kinds in shares.items()}
