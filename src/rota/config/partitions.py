"""``PartitionName`` lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import expand
from rota.config.values import Record
from rota.model import Partition, PartitionState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.config.lines import Line
    from rota.model import Node

#: Keys that become attributes of `Partition`; the others are kept as text.
_READ = frozenset(
    [
        "partitionname",
        "nodes",
        "state",
        "default",
        "maxtime",
        "defaulttime",
        "minnodes",
        "maxnodes",
        "priority",
        "prioritytier",
        "priorityjobfactor",
    ]
)


def read_partitions(
    lines: Iterable[Line], nodes: Sequence[Node], node_sets: Mapping[str, int]
) -> tuple[Partition, ...]:
    """Make the partitions, in the order of the file.

    Args:
        lines: Their lines, those of ``PartitionName=DEFAULT`` included.
        nodes: All nodes, in the order of their bits.
        node_sets: Bitmaps of ``NodeSet`` lines, by name.

    Raises:
        InputError: a value cannot be used, a partition is defined twice, or names a node that is not defined.
    """
    bits = {node.name: 1 << i for i, node in enumerate(nodes)}
    defaults: dict[str, str] = {}
    partitions: dict[str, Partition] = {}
    for line in lines:
        record = Record(line, defaults)
        name = record.values["partitionname"]
        if name.upper() == "DEFAULT":
            defaults = {key: value for key, value in record.values.items() if key != "partitionname"}
        elif name in partitions:
            raise record.error("partitionname", f"partition {name} is defined twice")
        else:
            partitions[name] = _partition(name, record, bitmap(record, bits, node_sets))
    return tuple(partitions.values())


def bitmap(record: Record, bits: Mapping[str, int], node_sets: Mapping[str, int]) -> int:
    """Read ``Nodes``: ``ALL``, or names of nodes and node sets."""
    text = record.text("nodes") or ""
    if text.upper() == "ALL":
        return sum(bits.values())
    nodes = 0
    for name in expand(text, record.line, "Nodes") if text else ():
        found = bits.get(name, node_sets.get(name, 0))
        if not found:
            raise record.error("nodes", f"node {name} is not defined: add a NodeName line for it")
        nodes |= found
    return nodes


def _partition(name: str, record: Record, nodes: int) -> Partition:
    if not nodes:
        raise record.error("partitionname", f"partition {name} has no nodes: set Nodes=, or Nodes=ALL")
    max_time, default_time = record.seconds("maxtime"), record.seconds("defaulttime")
    if max_time is not None and (default_time is None or default_time > max_time):
        default_time = None
    # Priority is older than the two that it sets, and wins over both.
    tier, factor = ("priority",) * 2 if "priority" in record.values else ("prioritytier", "priorityjobfactor")
    return Partition(
        name=name,
        nodes=nodes,
        state=_state(record),
        default=(record.text("default") or "no").lower() == "yes",
        max_time=max_time,
        default_time=default_time,
        min_nodes=record.integer("minnodes", 0),
        max_nodes=record.limit("maxnodes"),
        priority_tier=record.integer(tier, 1),
        priority_job_factor=record.integer(factor, 1),
        options={key: value for key, value in record.values.items() if key not in _READ},
    )


def _state(record: Record) -> PartitionState:
    text = (record.text("state") or "UP").upper()
    try:
        return PartitionState(text)
    except ValueError:
        known = ", ".join(state.value for state in PartitionState)
        raise record.error("state", f"{text!r} is no partition state: use one of {known}") from None
