"""What the schedule of a replay depends on, as its result keeps it: see `rota.results.inputs`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.config.hostlist import fold
from rota.config.keys import KNOWN_KEYS
from rota.config.options import HEEDED, names_in
from rota.model import JobSpec, Node, Partition
from rota.model.tres import gres_counts
from rota.results.inputs import Inputs
from rota.sacctmgr import write_dump

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.model import ClusterConfig
    from rota.replays.options import ReplayOptions
    from rota.replays.trace import Trace

#: Keys of slurm.conf that say what there is, not how it is given out.
_OF_MACHINE = ("licenses",)
#: Attributes of nodes that say what the node is: all but those by which one is chosen before another.
_OF_NODE = [name for name in Node._fields if name not in {"weight", "set_weight", "line"}]
#: Fields of requests that are columns of every trace.
_COLUMNS = frozenset({"num_cpus", "time_limit", "user_id", "group_id", "user", "account"})
_DEFAULTS = JobSpec()
_DIGEST = 16


def inputs_of(trace: Trace, config: ClusterConfig, options: ReplayOptions) -> Inputs:
    """Say what a replay depends on."""
    return Inputs(
        jobs=_jobs(trace),
        machine=_machine(config),
        conditions=_conditions(options),
        settings=_settings(config, options),
    )


def _jobs(trace: Trace) -> dict[str, str]:
    """Give the digests of the jobs' fields, over the jobs by their numbers."""
    numbers = trace.job_id
    is_sorted = numbers == sorted(numbers)
    rows = () if is_sorted else np.argsort(np.array(numbers), kind="stable").tolist()

    def digest(column: Sequence[Any]) -> str:
        return _digest(column if is_sorted else [column[row] for row in rows])

    columns: dict[str, Sequence[Any]] = {
        "job number": numbers,
        "submit time": trace.submit,
        "run time": trace.run,
        "processors": trace.procs,
        "time limit": trace.time_limit,
        "user": trace.user,
        "account": trace.account,
    }
    found = {name: digest(column) for name, column in columns.items()}
    requests = trace.workload.requests
    if requests is not None:
        # Else users are named by these.
        found["user id"] = digest(trace.user_id)
        for name, default, column in zip(JobSpec._fields, _DEFAULTS, zip(*requests, strict=True), strict=True):
            if name not in _COLUMNS and (column.count(default) != len(column)):
                found[name.replace("_", " ")] = digest(column)
    more: dict[str, Sequence[Any]] = {
        "order of submission": [] if is_sorted else numbers,
        "withdrawal": sorted((numbers[row], after) for row, after in trace.withdrawn.items()),
        "think time": sorted(
            (numbers[row], numbers[after], s) for row, to in trace.followers.items() for after, s in to
        ),
        "jobs that ran before": sorted(trace.workload.carried),
    }
    return found | {name: _digest(rows) for name, rows in more.items() if rows}


def _machine(config: ClusterConfig) -> dict[str, str]:
    gres: Counter[str] = Counter()
    for node in config.nodes:
        for item in node.gres:
            gres.update({name: count for name, count in gres_counts(item).items() if ":" not in name})
    memory = sum(node.real_memory - node.mem_spec_limit for node in config.nodes)
    found = {
        "processors": f"{sum(node.cpus_effective for node in config.nodes):,}",
        "nodes": f"{len(config.nodes):,}",
        **({"memory": f"{memory:,} MiB"} if memory > len(config.nodes) else {}),
        **{"GPUs" if name == "gpu" else name: f"{count:,}" for name, count in sorted(gres.items())},
        "what nodes are": _digest([[repr(getattr(one, name)) for name in _OF_NODE] for one in config.nodes]),
    }
    if config.switches:
        found["topology"] = _digest([repr(one) for one in config.switches])
    return found | {key: config.get(key) for key in _OF_MACHINE if config.get(key)}


def _conditions(options: ReplayOptions) -> dict[str, str]:
    found: dict[str, Sequence[Any]] = {
        "node failures": [repr(one) for one in options.failures],
        "earlier usage": [] if options.usage is None else [options.usage.data],
    }
    return {name: _digest(what) for name, what in found.items() if what}


def _settings(config: ClusterConfig, options: ReplayOptions) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in config.parameters.items():
        if key in HEEDED:
            for option in names_in(value):
                name, _, text = option.partition("=")
                found[name] = text or "yes"
        elif key not in _OF_MACHINE:
            found[KNOWN_KEYS.get(key, key)] = value
    for partition in config.partitions:
        for name, text in _partition(partition, config):
            found[f"PartitionName={partition.name} {name}"] = text
    if len({(node.weight, node.set_weight) for node in config.nodes}) > 1:
        found["weights of nodes"] = _digest([(node.name, node.weight, node.set_weight) for node in config.nodes])
    if options.associations is not None:
        found["associations"] = _digest([write_dump(options.associations)])
    if options.reservations:
        found["reservations"] = _digest([repr(one.request) for one in options.reservations])
    return found | {name: getattr(options, name) for name in ("pass_per", "time_zone") if getattr(options, name)}


def _partition(partition: Partition, config: ClusterConfig) -> Iterable[tuple[str, str]]:
    """Give the attributes of a partition that are not at their defaults, with Slurm's names where these are alike."""
    default = Partition(name=partition.name, nodes=0)
    for one in fields(partition):
        value = getattr(partition, one.name)
        if one.name == "nodes":
            yield "Nodes", fold(node.name for i, node in enumerate(config.nodes) if value >> i & 1)
        elif value != getattr(default, one.name):
            text = ",".join(sorted(value)) if isinstance(value, frozenset) else str(getattr(value, "value", value))
            yield one.name.title().replace("_", ""), text


def _digest(values: Sequence[Any]) -> str:
    """Give the beginning of the SHA-256 of some values as JSON."""
    return sha256(json.dumps(values, separators=(",", ":")).encode(errors="surrogateescape")).hexdigest()[:_DIGEST]
