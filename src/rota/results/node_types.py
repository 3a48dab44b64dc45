"""Types of nodes: those of one type have the same features, GRES, processors and memory, and it is called by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import NodeNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.plan_history import NodeKind, PlanHistory

#: Type of jobs that had nodes of several types.
SEVERAL = "several types"
#: Longest hostlist that serves as a name.
_LONGEST = 32


def type_names(kinds: Sequence[NodeKind]) -> list[str]:
    """Call each type by its nodes, as far as these are told in few words."""
    short = [kind.nodes if len(kind.nodes) <= _LONGEST else kind.nodes.partition(",")[0] + ",…" for kind in kinds]
    return [f"{name} ({i})" if name in short[: i - 1] else name for i, name in enumerate(short, 1)]


def type_by_node(history: PlanHistory) -> list[int]:
    """Give the type of each node, as its index."""
    names = NodeNames(name for name, _ in history.nodes)
    place = {node: i for i, kind in enumerate(history.kinds) for node in names.places(kind.nodes)}
    return [place[node] for node in range(len(history.nodes))]


def types_of(nodes: tuple[str, ...] | None, history: PlanHistory) -> tuple[str, ...] | None:
    """Name the type of each job's nodes, which are hostlists; empty for one that never ran; ``None``: not known."""
    if nodes is None or not history.kinds:
        return None
    names = NodeNames(name for name, _ in history.nodes)
    labels, by_node = type_names(history.kinds), type_by_node(history)
    known = {"": ""}
    for text in set(nodes) - {""}:
        kinds = {by_node[place] for place in names.places(text)}
        known[text] = labels[kinds.pop()] if len(kinds) == 1 else SEVERAL
    return tuple(known[text] for text in nodes)
