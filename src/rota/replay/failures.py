"""Files of node failures, and what they make of the nodes as time goes on.

One failure a line, ``TIME NODES DURATION [down|drain]``::

    # time      nodes         duration
    3600        n[01-03],gn1  1800
    2-06:00:00  n04           0-12:00:00  drain
    86400       gn1           -

TIME is seconds after the log's start, or ``days-hours:minutes:seconds``; DURATION is written alike, ``-`` for a node
that never comes back. ``down``, which is meant where nothing is said, loses the jobs on the node; ``drain`` lets them
go on and starts no other. Blank lines and comments (``#``) may be anywhere; the file may be packed with gzip.

Failures of a node may overlap. It is down while one of them has it down, else draining while one has it draining, and
comes back to the state that slurm.conf gives it when all are over. A failure that begins in the very second in which
another one ends follows it without a break.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand
from rota.config.lines import Line
from rota.model import YEAR, InputError, NodeState
from rota.model.units import parse_time_seconds
from rota.workload.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from rota.model import Node

KINDS = {"down": NodeState.DOWN, "drain": NodeState.DRAIN}
#: From what is best for the jobs to what is worst.
_SEVERITY = (NodeState.UP, NodeState.DRAIN, NodeState.DOWN)
#: A time is no longer than this: it stays within the calendar, whatever the log's start.
_LONGEST = 100 * YEAR
#: Characters of a bad word that its message quotes.
_QUOTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Some nodes are away for some time."""

    #: Seconds after the log's start.
    time: int
    #: Their names.
    nodes: tuple[str, ...]
    #: Seconds, at least 1; ``None``: they never come back.
    duration: int | None = None
    #: ``DOWN`` or ``DRAIN``.
    state: NodeState = NodeState.DOWN


class NodeChange(NamedTuple):
    """One node's state changes."""

    #: Unix seconds.
    time: int
    name: str
    state: NodeState


def read_failures(path: Path, nodes: Iterable[str]) -> tuple[Failure, ...]:
    """Read a file of node failures, gzip or plain.

    Args:
        path: Where it is.
        nodes: Names of the nodes of the machine.

    Raises:
        InputError: it cannot be read, has a line that cannot be used, or names a node that the machine has not.
    """
    known = dict.fromkeys(nodes)  # in their order, for the message
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    failures = []
    for number, physical in enumerate(text.split("\n"), start=1):
        words = physical.partition("#")[0].split()
        if words:
            failures.append(_failure(words, Line(path, number, ()), known))
    return tuple(failures)


def node_changes(failures: Iterable[Failure], nodes: Sequence[Node], origin: int) -> list[NodeChange]:
    """Work out when which node changes its state, in the order in which that happens.

    Args:
        failures: In any order; may overlap.
        nodes: The machine's. In one instant they change in this order.
        origin: Unix time of the log's second 0.

    Raises:
        InputError: a node is not the machine's, or a failure does not last.
    """
    #: By node: when a state begins to hold (1) or ceases to (-1).
    edges: dict[str, list[tuple[int, int, NodeState]]] = {node.name: [] for node in nodes}
    for failure in failures:
        if failure.duration is not None and failure.duration < 1:
            raise InputError(f"{failure.duration} s is no duration: a failure lasts at least 1 s", field="duration")
        for name in dict.fromkeys(failure.nodes):
            if name not in edges:
                raise _unknown(name, edges)
            edges[name].append((origin + failure.time, 1, failure.state))
            if failure.duration is not None:
                edges[name].append((origin + failure.time + failure.duration, -1, failure.state))
    changes = [change for node in nodes for change in _changes_of(node, edges[node.name])]
    return sorted(changes, key=itemgetter(0))


def _changes_of(node: Node, edges: Iterable[tuple[int, int, NodeState]]) -> Iterable[NodeChange]:
    """Give the changes of one node: of what holds in a second only the worst counts, and only if it is new."""
    holding = Counter([node.state])
    state = node.state
    for time, group in groupby(sorted(edges, key=itemgetter(0)), key=itemgetter(0)):
        for _, change, other in group:
            holding[other] += change
        worst = max((one for one, count in holding.items() if count), key=_SEVERITY.index)
        if worst is not state:
            state = worst
            yield NodeChange(time, node.name, state)


def _failure(words: list[str], line: Line, known: Collection[str]) -> Failure:
    if len(words) not in (3, 4):
        raise line.error(f"{len(words)} words instead of 3 or 4: write TIME NODES DURATION [down|drain]")
    time, hosts, duration, *rest = words
    kind = rest[0] if rest else "down"
    nodes = expand(hosts, line, "NODES")
    for name in nodes:
        if name not in known:
            error = _unknown(name, known)
            raise line.error(error.problem, "NODES")
    if kind.lower() not in KINDS:
        raise line.error(f"{kind[:_QUOTED]!r} is none of {', '.join(KINDS)}", "kind")
    begin = _seconds(time)
    if begin is None:
        raise line.error(
            f"{time[:_QUOTED]!r} is no time: write seconds after the log's start, or days-hours:minutes:seconds, "
            "up to 100 years",
            "TIME",
        )
    lasts = None if duration == "-" else _seconds(duration)
    if duration != "-" and not lasts:
        raise line.error(
            f"{duration[:_QUOTED]!r} is no duration: write seconds or days-hours:minutes:seconds, from one second to "
            "100 years, or - if the nodes never come back",
            "DURATION",
        )
    return Failure(time=begin, nodes=tuple(nodes), duration=lasts, state=KINDS[kind.lower()])


def _seconds(text: str) -> int | None:
    """Read seconds, or one of Slurm's notations with a colon or a hyphen; ``None``: it is no such thing."""
    if len(text) > _QUOTED or not text.isascii():
        return None
    try:
        seconds = int(text) if text.isdigit() else parse_time_seconds(text)
    except ValueError:
        return None
    return seconds if seconds is not None and seconds <= _LONGEST else None


def _unknown(name: str, known: Collection[str]) -> InputError:
    example = next(iter(known))
    only = f"its only node is {example}" if len(known) == 1 else f"name nodes of slurm.conf, such as {example}"
    return InputError(f"the machine has no node {name[:_QUOTED]!r}: {only}", field="nodes")
