"""``--nodes``: a machine with more or fewer nodes.

================= ============================================================================================
``+4``            four more nodes like the last one of the largest partition, in all partitions of that one
``+4:like=g1``    the same like node g1
``-2``            without the last two nodes of the largest partition
``-2:like=g1``    without the last two of the nodes that are as g1 is
================= ============================================================================================
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count as count_from
from typing import TYPE_CHECKING

from rota.model import InputError, NodeState

if TYPE_CHECKING:
    from rota.model import ClusterConfig, Node

_CHANGE = re.compile(r"(?P<change>[+-]\d{1,5})(?::like=(?P<like>[^:=]+))?", re.ASCII)
#: What tells nodes of one kind apart, and says nothing of what they are.
_OWN = {"name": "", "line": 0, "state": NodeState.UP, "reason": "", "reason_uid": 0, "reason_time": 0, "weight": 1}


def with_nodes(config: ClusterConfig, text: str) -> ClusterConfig:
    """Add nodes, or remove some.

    Args:
        config: The configuration.
        text: How many, and like which: see the top of this module.

    Raises:
        InputError: the text has another form, there is no such node, or there are not so many to remove.
    """
    match = _CHANGE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is neither +N nor -N, nor one of these with :like=NODE", field="--nodes")
    change, like = int(match["change"]), match["like"]
    largest = max(config.partitions, key=lambda one: one.nodes.bit_count())
    mine = [place for place in range(len(config.nodes)) if largest.nodes >> place & 1]
    kind = f"partition {largest.name} has {len(mine)} nodes"
    if like is not None:
        model = next((place for place, node in enumerate(config.nodes) if node.name == like), None)
        if model is None:
            raise InputError(f"there is no node {like}", field="--nodes")
        mine = [place for place, node in enumerate(config.nodes) if _what(node) == _what(config.nodes[model])]
        kind = f"there are {len(mine)} nodes like {like}"
    else:
        model = mine[-1]
    if change >= 0:
        return _with_more(config, model, change)
    if -change >= (len(mine) if like is None else len(mine) + (len(mine) < len(config.nodes))):
        raise InputError(f"{kind}: remove fewer", field="--nodes")
    return _without(config, set(mine[change:]))


def _what(node: Node) -> Node:
    return node._replace(**_OWN)  # type: ignore[arg-type] # a type for each key


def _without(config: ClusterConfig, gone: set[int]) -> ClusterConfig:
    kept = [place for place in range(len(config.nodes)) if place not in gone]
    partitions = tuple(
        replace(one, nodes=sum(1 << new for new, old in enumerate(kept) if one.nodes >> old & 1))
        for one in config.partitions
    )
    return replace(config, nodes=tuple(config.nodes[place] for place in kept), partitions=partitions)


def _with_more(config: ClusterConfig, model: int, count: int) -> ClusterConfig:
    """Add nodes like the one at the place ``model``, to its partitions."""
    node, taken = config.nodes[model], {one.name for one in config.nodes}
    free = (name for number in count_from(1) if (name := f"{node.name}-{number}") not in taken)
    more = tuple(node._replace(name=next(free), state=NodeState.UP, reason="") for _ in range(count))
    added = ((1 << count) - 1) << len(config.nodes)
    partitions = tuple(
        replace(one, nodes=one.nodes | added) if one.nodes >> model & 1 else one for one in config.partitions
    )
    return replace(config, nodes=(*config.nodes, *more), partitions=partitions)
