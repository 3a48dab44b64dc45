"""``NodeName`` and ``DownNodes`` lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand, natural
from rota.config.values import MAX_16, Record
from rota.model import Node, NodeState
from rota.model.bounds import MOST_OF_MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.config.lines import Line, Pair

_STATES = {
    "unknown": NodeState.UP,
    "idle": NodeState.UP,
    "up": NodeState.UP,
    "allocated": NodeState.UP,
    "mixed": NodeState.UP,
    "cloud": NodeState.UP,
    "drain": NodeState.DRAIN,
    "drained": NodeState.DRAIN,
    "draining": NodeState.DRAIN,
    "fail": NodeState.FAIL,
    "failing": NodeState.FAIL,
    "down": NodeState.DOWN,
    #: Not part of the machine yet.
    "future": None,
}


class ReadNodes(NamedTuple):
    """The nodes that slurm.conf defines."""

    #: Nodes in the order of their bits.
    nodes: tuple[Node, ...]
    #: Names of nodes in state FUTURE, which partitions may name.
    future: frozenset[str]


def read_nodes(lines: Iterable[Line], down_lines: Iterable[Line], warnings: list[str]) -> ReadNodes:
    """Read the nodes, and sort them as Slurm does: by name, with numbers in names by value.

    Raises:
        InputError: a value cannot be used, or a node is defined twice.
    """
    nodes: dict[str, Node | None] = {}
    defaults: dict[str, tuple[Pair, Line]] = {}
    for number, line in enumerate(lines):
        record = Record(line, defaults)
        names = record.values["nodename"]
        if names.upper() == "DEFAULT":
            defaults = record.defaults()
            continue
        pattern, state = _pattern(record, warnings)._replace(line=number), _state(record, "unknown")
        for name in expand(names, line, "NodeName"):
            if name in nodes:
                raise record.error("nodename", f"node {name} is defined twice")
            if len(nodes) == MOST_OF_MACHINE:
                raise record.error("nodename", f"the machine has more than {MOST_OF_MACHINE:,} nodes")
            nodes[name] = None if state is None else pattern._replace(name=name, state=state)
    _take_down(nodes, down_lines, warnings)
    present = sorted((node for node in nodes.values() if node is not None), key=lambda node: natural(node.name))
    return ReadNodes(tuple(present), frozenset(name for name, node in nodes.items() if node is None))


def _take_down(nodes: dict[str, Node | None], lines: Iterable[Line], warnings: list[str]) -> None:
    """Apply the ``DownNodes`` lines. Unknown nodes give a warning, as in Slurm."""
    for line in lines:
        record = Record(line, {})
        state = _state(record, "down")
        for name in expand(record.values["downnodes"], line, "DownNodes"):
            if name not in nodes:
                warnings.append(record.warning("downnodes", f"node {name} is not defined"))
            elif (node := nodes[name]) is not None:
                nodes[name] = None if state is None else node._replace(state=state)


def _pattern(record: Record, warnings: list[str]) -> Node:
    """Make a node with the attributes that all nodes of a line share."""
    cores = record.integer("corespersocket", 1, 1, MAX_16)
    threads = record.integer("threadspercore", 1, 1, MAX_16)
    sockets, cpus = _sockets_and_cpus(record, cores, threads, warnings)
    return Node(
        name="",
        cpus=cpus,
        sockets=sockets,
        cores_per_socket=cores,
        threads_per_core=threads,
        real_memory=record.integer("realmemory", 1),
        core_spec_count=record.integer("corespeccount", 0, most=max(sockets * cores - 1, 0)),
        mem_spec_limit=record.integer("memspeclimit", 0),
        features=record.words("feature", "features"),
        gres=record.words("gres"),
        weight=record.integer("weight", 1),
        tmp_disk=record.integer("tmpdisk", 0),
    )


def _sockets_and_cpus(record: Record, cores: int, threads: int, warnings: list[str]) -> tuple[int, int]:
    """Derive missing numbers of sockets and processors. An inconsistent number is corrected, as in Slurm."""
    boards = record.integer("boards", 1, 1, MAX_16)
    cpus_key = "cpus" if "cpus" in record.values else "procs"
    given = record.integer(cpus_key, 0, 1, MAX_16)
    if "socketsperboard" in record.values:
        sockets = boards * record.integer("socketsperboard", 1, 1, MAX_16)
    elif "sockets" in record.values:
        sockets = record.integer("sockets", 1, 1, MAX_16)
    else:
        sockets, rest = divmod(given, cores * threads)
        if rest or not sockets:
            sockets = boards
    all_threads = sockets * cores * threads
    if not given or given in (sockets, sockets * cores, all_threads):
        return sockets, given or all_threads
    problem = f"{given} is neither the number of sockets, of cores nor of threads; {all_threads} is taken"
    warnings.append(record.warning(cpus_key, problem))
    return sockets, all_threads


def _state(record: Record, default: str) -> NodeState | None:
    """Read a state; ``None`` for FUTURE."""
    text = record.text("state") or default
    if text.lower() not in _STATES:
        known = ", ".join(state.upper() for state in _STATES)
        raise record.error("state", f"{text!r} is no node state: use one of {known}")
    return _STATES[text.lower()]
