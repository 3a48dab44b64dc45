"""Reading slurm.conf, and changing what has been read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rota.config.gres_conf import read_gres_conf
from rota.config.keys import KNOWN_KEYS, RECORD_KEYS
from rota.config.lines import read_lines
from rota.config.nodes import ReadNodes, read_nodes
from rota.config.options import did_you_mean
from rota.config.partitions import read_node_sets, read_over_time_limit, read_partitions
from rota.config.settings import apply_settings, note_homeless
from rota.config.text import lines_of
from rota.config.topology import read_topology
from rota.config.values import Record
from rota.model import ClusterConfig, InputError
from rota.model.read_only import write
from rota.model.tres import cluster_tres

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rota.config.lines import Line, Pair

#: Keys that may be repeated, once for each controller. The values are joined with commas.
_SEVERAL = frozenset({"slurmctldhost"})
#: Keys of nodes that rota does not model, and the consequences.
_NOT_SET_APART = {
    "corespeccount": "jobs get the cores that are set apart for the system",
    "cpuspeclist": "jobs get the processors that are set apart for the system",
    "memspeclimit": "jobs get the memory that is set apart for the system",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A configuration, and warnings about its file."""

    config: ClusterConfig
    #: Each is one line, with file and line number.
    warnings: tuple[str, ...]
    #: The files that were read, in order.
    files: tuple[Path, ...] = ()


def read_slurm_conf(path: Path, settings: Sequence[str] = (), plugins: Iterable[str] = ()) -> LoadedConfig:
    """Read slurm.conf, the files that it includes and, beside it, gres.conf and, with ``topology/tree``, topology.conf.

    Args:
        path: The file.
        settings: Changes of its lines, see `rota.config.settings`.
        plugins: Types of the plugins that are used in place of those that the file names; their own options are known.

    Raises:
        InputError: the file cannot be read or used, or a setting cannot be made. The message names file, line and key.
    """
    notes: list[str] = []
    lines = list(read_lines(path))
    changed = apply_settings(lines, settings, notes, plugins)
    loaded = _read(changed, notes, path)
    note_homeless(loaded.config, lines, changed, notes)
    config, files = loaded.config, [*dict.fromkeys([path, *(line.path for line in lines)])]
    gres, topology = (path.parent / name for name in ("gres.conf", "topology.conf"))
    if gres.exists():
        types = filter(None, config.get("GresTypes").split(","))
        config = replace(config, nodes=read_gres_conf(gres, config.nodes, types, notes))
        files.append(gres)
    if config.get("TopologyPlugin").lower() == "topology/tree" and topology.exists():
        config = replace(config, switches=read_topology(topology, {node.name for node in config.nodes}, notes))
        files.append(topology)
    return LoadedConfig(config=config, warnings=tuple(notes), files=tuple(files))


def with_settings(config: ClusterConfig, settings: Sequence[str], plugins: Iterable[str] = ()) -> LoadedConfig:
    """Change a configuration as if its file had been changed before it was read.

    Args:
        config: The configuration, which need not be from a file.
        settings: The changes, see `rota.config.settings`.
        plugins: Types of the plugins that are used in place of those that the configuration names.

    Raises:
        InputError: a setting cannot be made.
    """
    notes: list[str] = []
    lines = lines_of(config)
    changed = apply_settings(lines, settings, notes, plugins)
    # Nodes that nothing is set of are not read again, so that they may be what no file can say.
    about_nodes = {"nodename", "downnodes"}
    same = [line for line in lines if line.pairs[0].key.lower() in about_nodes] == [
        line for line in changed if line.pairs[0].key.lower() in about_nodes
    ]
    loaded = _read(changed, notes, machine=ReadNodes(config.nodes, frozenset()) if same else None)
    note_homeless(loaded.config, lines, changed, notes)
    loaded = replace(loaded, config=replace(loaded.config, switches=config.switches, cores_apart=config.cores_apart))
    users = {one.name: one.allow_users for one in config.partitions}
    for one in loaded.config.partitions:
        if not _sets_groups(changed, one.name):  # who was in them where the file was read
            write(one, allow_users=users.get(one.name, one.allow_users))
    return loaded


def _sets_groups(lines: Iterable[Line], partition: str) -> bool:
    return any(
        line.pairs[0].key.lower() == "partitionname"
        and line.pairs[0].value == partition
        and "allowgroups" in line.settings
        for line in lines
    )


def _read(
    lines: Iterable[Line], warnings: list[str], path: Path | None = None, machine: ReadNodes | None = None
) -> LoadedConfig:
    records: dict[str, list[Line]] = {kind: [] for kind in RECORD_KEYS}
    scalars: list[Line] = []
    for line in lines:
        records.get(line.pairs[0].key.lower(), scalars).append(line)
    warnings += _doubtful_keys(records)
    parameters = _parameters(scalars, warnings)
    tres = cluster_tres(parameters.get("accountingstoragetres", ""))
    machine = machine or read_nodes(records["nodename"], records["downnodes"], warnings)
    if not machine.nodes:
        raise InputError("no nodes are defined: add a NodeName line", path=path)
    over_time_limit: int | None = 0
    for line in scalars:
        over_time_limit = read_over_time_limit(Record(line, {}), over_time_limit)
    if node_sets := read_node_sets(records["nodeset"], machine):
        parameters["nodeset"] = " ".join(f"{name}={','.join(nodes)}" for name, nodes in node_sets.items())
    partitions = read_partitions(
        records["partitionname"],
        node_sets,
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
        places={
            **{line.pairs[0].key.lower(): (str(line.path), line.number) for line in scalars if line.number},
            **{key: (f"--set {text}", 0) for line in scalars for key, text in line.settings.items()},
        },
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
                meant = did_you_mean(name, KNOWN_KEYS.values())
                warnings.append(line.warning(f"no key of slurm.conf; it is kept, and nothing reads it{meant}", name))
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
    told: set[str] = set()
    for kind, known in RECORD_KEYS.items():
        if known is None:
            continue
        for line in records[kind]:
            here: set[str] = set()
            for name, _ in line.pairs:
                key = name.lower()
                if key not in known and (kind, key) not in warned:
                    warned.add((kind, key))
                    problem = f"no key of a {line.pairs[0].key} line; nothing reads it"
                    warnings.append(line.warning(problem + did_you_mean(name, known.values()), name))
                if key in here:
                    warnings.append(line.warning("set more than once; the last value counts", name))
                if (what := _NOT_SET_APART.get(key)) and kind == "nodename" and key not in told:
                    told.add(key)
                    warnings.append(line.warning(f"is not modelled: {what}", name))
                here.add(key)
    return warnings
