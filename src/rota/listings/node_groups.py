"""Rows of ``sinfo``: nodes that are equal in what is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold_sorted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.model.lines import NodeLine, PartitionLine

#: What divides rows by partition, by letter.
_OF_PARTITION: dict[str, Callable[[PartitionLine], Any]] = {
    "a": lambda part: part.state,
    "B": lambda part: part.max_cpus_per_node,
    "g": lambda part: part.allow_groups,
    "h": lambda part: (part.exclusive, part.max_share, part.force_share),
    "I": lambda part: part.priority_job_factor,
    "l": lambda part: part.max_time,
    "L": lambda part: part.default_time,
    "p": lambda part: part.priority_tier,
    "P": lambda part: part.name,
    "r": lambda part: part.root_only,
    "R": lambda part: part.name,
    "s": lambda part: (part.min_nodes, part.max_nodes),
}
#: What divides rows by node.
_OF_NODE: dict[str, Callable[[NodeLine], Any]] = {
    "b": lambda node: node.features,
    "E": lambda node: node.reason,
    "f": lambda node: node.features,
    "G": lambda node: node.gres,
    "H": lambda node: (node.reason, node.reason_time),
    "n": lambda node: node.host or node.name,
    "o": lambda node: node.address or node.name,
    "t": lambda node: node.state,
    "T": lambda node: node.state,
    "u": lambda node: (bool(node.reason), node.reason_uid),
    "U": lambda node: (bool(node.reason), node.reason_uid),
    "v": lambda node: node.version,
    "allocmem": lambda node: node.memory_allocated,
    "gresused": lambda node: tuple(node.gres_used.items()),
    "statecomplete": lambda node: (node.base_state, node.flags),
}
#: What divides rows with ``-e`` only.
_EXACT: dict[str, Callable[[NodeLine], Any]] = {
    "c": lambda node: node.cpus,
    "d": lambda node: node.tmp_disk,
    "m": lambda node: node.memory,
    "w": lambda node: node.weight,
    "X": lambda node: node.sockets,
    "Y": lambda node: node.cores_per_socket,
    "Z": lambda node: node.threads_per_core,
    "z": lambda node: (node.sockets, node.cores_per_socket, node.threads_per_core),
}
_BASE = {"UNKNOWN": 0, "DOWN": 1, "IDLE": 2, "ALLOCATED": 3, "ERROR": 4, "MIXED": 5, "FUTURE": 6}
#: Slurm's bits of the flags, by which states are sorted.
_BITS = {
    "RESERVED": 5,
    "DRAIN": 9,
    "COMPLETING": 10,
    "NOT_RESPONDING": 11,
    "FAIL": 13,
    "MAINTENANCE": 15,
    "PLANNED": 21,
}


@dataclass(slots=True)
class Group:
    """A row: some nodes of a partition."""

    part: PartitionLine
    #: Place of the partition in slurm.conf.
    place: int
    nodes: list[NodeLine] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return [node.name for node in self.nodes]

    @property
    def hostlist(self) -> str:
        """The nodes as a hostlist."""
        return fold_sorted(self.names)

    def least(self, attribute: str) -> int:
        """Give the smallest value of an attribute of the nodes; 0: there are none."""
        return min((getattr(node, attribute) for node in self.nodes), default=0)


def state_number(group: Group) -> int:
    """Give Slurm's number of the state of a row's first node."""
    if not group.nodes:
        return -1
    node = group.nodes[0]
    silent = 1 << _BITS["NOT_RESPONDING"] if "*" in node.state else 0
    return _BASE.get(node.base_state, 0) | silent | sum(1 << _BITS[one] for one in node.flags if one in _BITS)


def group_nodes(
    partitions: Sequence[PartitionLine],
    nodes: Iterable[NodeLine],
    letters: frozenset[str],
    *,
    exact: bool,
    by_node: bool,
    counted: bool = True,
) -> list[Group]:
    """Put nodes that are equal in what is shown into one row.

    Args:
        partitions: In the order of slurm.conf.
        nodes: Those that are shown, in the order of slurm.conf.
        letters: Letters and names of the format.
        exact: ``-e``.
        by_node: ``-N``: each node has a row of its own.
        counted: Whether numbers of a row's nodes are shown together.
    """
    of_part = [key for letter, key in _OF_PARTITION.items() if letter in letters]
    of_node = [key for letter, key in _OF_NODE.items() if letter in letters]
    if exact or not counted:
        of_node += [key for letter, key in _EXACT.items() if letter in letters]
    if by_node:
        of_node.append(lambda node: node.name)
        of_part.append(lambda part: part.name)
    by_name = {node.name: node for node in nodes}
    groups: dict[tuple[Any, ...], Group] = {}
    empty: dict[tuple[Any, ...], Group] = {}
    listed: set[tuple[tuple[Any, ...], str]] = set()
    for place, part in enumerate(partitions):
        part_key = tuple(key(part) for key in of_part)
        for name in part.nodes:
            node = by_name.get(name)
            if node is None or (part_key, name) in listed:
                continue
            listed.add((part_key, name))
            key = (part_key, *(one(node) for one in of_node))
            groups.setdefault(key, Group(part, place)).nodes.append(node)
        if not by_node and {"P", "R"} & letters:
            empty.setdefault(part_key, Group(part, place))
    filled = {key[0] for key in groups}
    return [*groups.values(), *(group for key, group in empty.items() if key not in filled)]
