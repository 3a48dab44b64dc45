"""Reading slurm.conf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.keys import KNOWN_KEYS, RECORD_KEYS
from rota.config.lines import read_lines
from rota.config.nodes import read_nodes
from rota.config.partitions import read_over_time_limit, read_partitions
from rota.config.values import Record
from rota.model import ClusterConfig, InputError
from rota.model.tres import cluster_tres

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rota.config.lines import Line, Pair

#: Keys that may be repeated, once for each controller. The values are joined with commas.
_SEVERAL = frozenset({"slurmctldhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A configuration, and warnings about its file."""

    config: ClusterConfig
    #: Each is one line, with file and line number.
    warnings: tuple[str, ...]


def read_slurm_conf(path: Path) -> LoadedConfig:
    """Read slurm.conf and the files that it includes.

    Raises:
        InputError: the file cannot be read or used. The message names file, line and key.
    """
    records: dict[str, list[Line]] = {kind: [] for kind in RECORD_KEYS}
    scalars: list[Line] = []
    for line in read_lines(path):
        records.get(line.pairs[0].key.lower(), scalars).append(line)
    warnings = _doubtful_keys(records)
    parameters = _parameters(scalars, warnings)
    tres = cluster_tres(parameters.get("accountingstoragetres", ""))
    machine = read_nodes(records["nodename"], records["downnodes"], warnings)
    if not machine.nodes:
        raise InputError("no nodes are defined: add a NodeName line", path=path)
    over_time_limit: int | None = 0
    for line in scalars:
        over_time_limit = read_over_time_limit(Record(line, {}), over_time_limit)
    partitions = read_partitions(
        records["partitionname"],
        records["nodeset"],
        machine,
        tres,
        warnings,
        over_time_limit=over_time_limit,
    )
    if not partitions:
        raise InputError("no partitions are defined: add a PartitionName line", path=path)
    config = ClusterConfig(
        cluster_name=parameters.get("clustername", "cluster").lower(),  # Slurm ignores case here
        nodes=machine.nodes,
        partitions=partitions,
        parameters=parameters,
        places={line.pairs[0].key.lower(): (str(line.path), line.number) for line in scalars},
    )
    return LoadedConfig(config=config, warnings=tuple(warnings))


def _parameters(lines: Iterable[Line], warnings: list[str]) -> dict[str, str]:
    """Read the lines of one pair. The last value of a repeated key counts, as in Slurm. Unknown keys are kept."""
    parameters: dict[str, str] = {}
    for line in lines:
        (name, value), *others = line.pairs
        key = name.lower()
        if key not in KNOWN_KEYS:
            if key not in parameters:
                warnings.append(line.warning("no key of slurm.conf; it is kept, and nothing reads it", name))
            # Perhaps a line of several pairs of an unknown kind: keep them together.
            value = " ".join((value, *(f"{other}={text}" for other, text in others)))
        elif others:
            raise line.error(_surplus(others[0]), name)
        elif key in parameters and key in _SEVERAL:
            value = f"{parameters[key]},{value}"
        elif key in parameters:
            warnings.append(line.warning("set more than once; the last value counts", name))
        parameters[key] = value
    return parameters


def _surplus(pair: Pair) -> str:
    return f"{pair.key}={pair.value} must stand on a line of its own; if it belongs to the value, quote the whole"


def _doubtful_keys(records: Mapping[str, Iterable[Line]]) -> list[str]:
    """Warn about unknown and repeated keys on node, partition and similar lines."""
    warnings: list[str] = []
    warned: set[tuple[str, str]] = set()
    for kind, known in RECORD_KEYS.items():
        if known is None:
            continue
        for line in records[kind]:
            here: set[str] = set()
            for name, _ in line.pairs:
                key = name.lower()
                if key not in known and (kind, key) not in warned:
                    warned.add((kind, key))
                    warnings.append(line.warning(f"no key of a {line.pairs[0].key} line; nothing reads it", name))
                if key in here:
                    warnings.append(line.warning("set more than once; the last value counts", name))
                here.add(key)
    return warnings
