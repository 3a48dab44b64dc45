"""``NodeName`` lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.config.hostlist import expand
from rota.config.values import Record
from rota.model import Node, NodeState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.config.lines import Line

_STATES = {
    "unknown": NodeState.UP,
    "idle": NodeState.UP,
    "up": NodeState.UP,
    "cloud": NodeState.UP,
    "drain": NodeState.DRAIN,
    "fail": NodeState.DRAIN,
    "failing": NodeState.DRAIN,
    "down": NodeState.DOWN,
}
#: Defined for later: no part of the machine.
_FUTURE = "future"


def read_nodes(lines: Iterable[Line], warn: list[str]) -> tuple[Node, ...]:
    """Make the nodes, in Slurm's order: by name, numbers in names by value.

    Raises:
        InputError: a value cannot be used, or a node is defined twice.
    """
    defaults: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for line in lines:
        record = Record(line, defaults)
        names = record.values["nodename"]
        if names.upper() == "DEFAULT":
            defaults = {key: value for key, value in record.values.items() if key != "nodename"}
            continue
        for name in expand(names, line, "NodeName"):
            if name in nodes:
                raise record.error("nodename", f"node {name} is defined twice")
            if (record.text("state") or "").lower() != _FUTURE:
                nodes[name] = _node(name, record, warn)
    return tuple(nodes[name] for name in sorted(nodes, key=_natural))


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key: digits by value, everything else as text."""
    return [(1, int(part), part) if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name) if part]


def _node(name: str, record: Record, warn: list[str]) -> Node:
    cores = record.integer("corespersocket", 1, least=1)
    threads = record.integer("threadspercore", 1, least=1)
    sockets, cpus = _sockets_and_cpus(name, record, cores, threads, warn)
    return Node(
        name=name,
        cpus=cpus,
        sockets=sockets,
        cores_per_socket=cores,
        threads_per_core=threads,
        real_memory=record.integer("realmemory", 1),
        features=record.words("features", "feature"),
        gres=record.words("gres"),
        weight=record.integer("weight", 1),
        state=_state(record),
    )


def _sockets_and_cpus(name: str, record: Record, cores: int, threads: int, warn: list[str]) -> tuple[int, int]:
    """Work out what is not given; processors that fit neither sockets, cores nor threads are set right, as in Slurm."""
    boards = record.integer("boards", 1, least=1)
    given = record.integer("cpus" if "cpus" in record.values else "procs", 0, least=1)
    if "socketsperboard" in record.values:
        sockets = boards * record.integer("socketsperboard", 1, least=1)
    elif "sockets" in record.values:
        sockets = record.integer("sockets", 1, least=1)
    else:
        sockets, rest = divmod(given, cores * threads)
        if rest or not sockets:
            sockets = boards
    all_threads = sockets * cores * threads
    if not given or given in (sockets, sockets * cores, all_threads):
        return sockets, given or all_threads
    warning = f"node {name}: CPUs={given} is neither its sockets, its cores nor its threads; {all_threads} are taken"
    warn.append(f"{record.line.path}:{record.line.number}: {warning}")
    return sockets, all_threads


def _state(record: Record) -> NodeState:
    """Read a state; of several, joined with +, the worst."""
    words = (record.text("state") or "unknown").lower().split("+")
    unknown = [word for word in words if word not in _STATES]
    if unknown:
        raise record.error("state", f"{unknown[0]!r} is no node state: use one of {', '.join(_STATES)}, {_FUTURE}")
    states = [_STATES[word] for word in words]
    return max(states, key=[NodeState.UP, NodeState.DRAIN, NodeState.DOWN].index)
