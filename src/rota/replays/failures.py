"""Files of node failures, and the states of nodes that follow from them.

One failure a line, ``TIME NODES DURATION [down|drain]``::

    # time      nodes         duration
    3600        n[01-03],gn1  1800
    2-06:00:00  n04           0-12:00:00  drain
    86400       gn1           -

TIME is seconds after the log's start, or ``days-hours:minutes:seconds``. DURATION is written the same way, or ``-`` for
a node that never comes back. With ``down``, the default, the jobs on the node are lost; with ``drain`` they go on, and
no others start. Blank lines and comments (``#``) are allowed anywhere; the file may be gzip.

Failures of a node may overlap. The node is down while any of them has it down, else draining while any has it draining,
and returns to its state in slurm.conf after the last. A failure that begins in the second in which another one ends
follows it without a gap.
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
#: States from the best to the worst.
_SEVERITY = (NodeState.UP, NodeState.DRAIN, NodeState.DOWN)
#: Largest time, so that all times stay within the calendar.
_LONGEST = 100 * YEAR
#: Number of characters of a bad word that its error message quotes.
_QUOTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of some nodes."""

    #: Seconds after the log's start.
    time: int
    #: Names of the nodes.
    nodes: tuple[str, ...]
    #: Seconds, at least 1; ``None``: the nodes never come back.
    duration: int | None = None
    #: ``DOWN`` or ``DRAIN``.
    state: NodeState = NodeState.DOWN


class NodeChange(NamedTuple):
    """A change of a node's state."""

    #: Unix seconds.
    time: int
    name: str
    state: NodeState


def read_failures(path: Path, nodes: Iterable[str]) -> tuple[Failure, ...]:
    """Read a file of node failures, gzip or plain.

    Args:
        path: The file.
        nodes: Names of the nodes of the machine.

    Raises:
        InputError: the file cannot be read, has a line that cannot be used, or names an unknown node.
    """
    known = dict.fromkeys(nodes)  # in order, for the error message
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    failures = []
    for number, physical in enumerate(text.split("\n"), start=1):
        words = physical.partition("#")[0].split()
        if words:
            failures.append(_failure(words, Line(path, number, ()), known))
    return tuple(failures)


def node_changes(failures: Iterable[Failure], nodes: Sequence[Node], origin: int) -> list[NodeChange]:
    """Give all changes of nodes' states, sorted by time.

    Args:
        failures: Failures in any order; they may overlap.
        nodes: The machine's nodes. Changes at the same time are in this order.
        origin: Unix time of the log's second 0.

    Raises:
        InputError: a node is unknown, or a failure has no duration.
    """
    #: By node: the times at which a state begins (1) or ends (-1).
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
    """Give the changes of one node: at each time the worst state counts, if it differs from the last."""
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
    """Parse seconds, or one of Slurm's notations with a colon or a hyphen; ``None`` for other texts."""
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
