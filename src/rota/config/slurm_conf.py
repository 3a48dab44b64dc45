"""slurm.conf: the meaning of its lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.keys import KNOWN_KEYS
from rota.config.lines import read_lines
from rota.config.nodes import read_nodes
from rota.config.partitions import bitmap, read_partitions
from rota.config.values import Record
from rota.model import ClusterConfig, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rota.config.lines import Line
    from rota.model import Node

#: Keys that begin a line of several pairs. Of the last two kinds nothing is read.
_RECORDS = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A configuration, and what the administrator should know about the file."""

    config: ClusterConfig
    #: One line each, with file and line number.
    warnings: tuple[str, ...]


def read_slurm_conf(path: Path) -> LoadedConfig:
    """Read slurm.conf and the files that it includes.

    Raises:
        InputError: it cannot be read or used; the message names file, line and key.
    """
    records: dict[str, list[Line]] = {kind: [] for kind in _RECORDS}
    scalars: list[Line] = []
    for line in read_lines(path):
        kind = line.pairs[0].key.lower()
        records.get(kind, scalars).append(line)
    warnings: list[str] = []
    parameters = _parameters(scalars, warnings)
    nodes = read_nodes(records["nodename"], warnings)
    if not nodes:
        raise InputError("no nodes are defined: add a NodeName line", path=path)
    partitions = read_partitions(records["partitionname"], nodes, _node_sets(records["nodeset"], nodes))
    if not partitions:
        raise InputError("no partitions are defined: add a PartitionName line", path=path)
    config = ClusterConfig(
        cluster_name=parameters.get("clustername", "cluster"), nodes=nodes, partitions=partitions, parameters=parameters
    )
    return LoadedConfig(config=config, warnings=tuple(warnings))


def _parameters(lines: Iterable[Line], warnings: list[str]) -> dict[str, str]:
    """Collect the other keys: of a repeated one the last value counts, as in Slurm; unknown ones are kept."""
    parameters: dict[str, str] = {}
    for line in lines:
        for key, value in line.pairs:
            where = f"{line.path}:{line.number}: {key}:"
            if key.lower() in parameters:
                warnings.append(f"{where} set more than once; the last value counts")
            elif key.lower() not in KNOWN_KEYS:
                warnings.append(f"{where} no key of slurm.conf; it is kept, and nothing reads it")
            parameters[key.lower()] = value
    return parameters


def _node_sets(lines: Iterable[Line], nodes: Sequence[Node]) -> dict[str, int]:
    """Read ``NodeSet`` lines: by feature, by name, or both."""
    bits = {node.name: 1 << i for i, node in enumerate(nodes)}
    sets: dict[str, int] = {}
    for line in lines:
        record = Record(line, {})
        feature = record.text("feature")
        by_feature = sum(bits[node.name] for node in nodes if feature in node.features) if feature else 0
        sets[record.values["nodeset"]] = by_feature | bitmap(record, bits, sets)
    return sets
