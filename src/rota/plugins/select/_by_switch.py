"""The order in which nodes are chosen by their switches, as in Slurm with ``topology/tree``.

1. All nodes are below one switch: the highest with enough nodes; of several, one whose lightest node is lightest.
   Where nodes are required, it is the highest above one of them.
2. Nodes are considered by weight, until there are enough; all but the heaviest of these are chosen.
3. Switches that have chosen nodes give more of theirs.
4. Then leaf after leaf gives its nodes. The next one is nearest to those in use, unless it fits worse; at the same
   distance the one that fits best. The smallest that has all nodes still needed fits best, else one whose surroundings
   have them, else the largest.

O(leaves) for each leaf that is used, besides O(candidates log candidates).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rota.interfaces.select import Candidates, Switches


def by_switch(
    switches: Switches, candidates: Candidates, chosen: Sequence[int], *, cpus: int, least: int, wanted: int
) -> Iterator[int]:
    """Give candidates in the order in which they are to be chosen, until there are enough.

    Args:
        switches: The network.
        candidates: The nodes that are left.
        chosen: Nodes that are chosen already.
        cpus: How many processors are still needed.
        least: How many nodes are still needed, and
        wanted: at how many the job aims.

    Yields:
        Places among the candidates; none if they cannot be reached from one switch.
    """
    leaf, had = switches.leaf_of[candidates.nodes], np.array(chosen, np.int64)
    used = switches.count(had) > 0
    top = above_all(switches, chosen) if chosen else _top(switches, candidates, leaf, least)
    if top is None:
        return
    places = switches.below(top, leaf).nonzero()[0]
    heaviest = _heaviest_needed(candidates, places, cpus, least)
    if heaviest is None:
        return
    weight = candidates.weight[places]
    counts = switches.count(np.append(candidates.nodes[places[weight <= heaviest]], had))
    lighter, rest = places[weight < heaviest], places[weight == heaviest]
    if len(lighter):
        used |= switches.count(candidates.nodes[lighter]) > 0
        yield from lighter.tolist()
    on_used = used[leaf[rest]]
    more = rest[on_used]
    more = more[leaf[more].argsort(kind="stable")]
    yield from more.tolist()
    wanted -= len(lighter) + len(more)
    left: dict[int, list[int]] = {}
    for place, number in zip(rest[~on_used].tolist(), leaf[rest[~on_used]].tolist(), strict=True):
        left.setdefault(number, []).append(place)
    far = switches.hops[used].sum(axis=0)
    while left:
        number = _next_leaf(switches, sorted(left), far.tolist(), counts.tolist(), wanted)
        yield from left[number]
        wanted -= len(left.pop(number))
        far += switches.hops[number]


def above_all(switches: Switches, nodes: Sequence[int]) -> int | None:
    """Give the highest switch above one of several nodes; ``None``: there is none, or it is not above all of them."""
    counts = switches.count(np.array(nodes, np.int64))
    top = max(counts.nonzero()[0].tolist(), key=lambda number: switches.level[number], default=None)
    return None if top is None or counts[top] < len(nodes) else top


def _top(switches: Switches, candidates: Candidates, leaf: NDArray[np.int64], least: int) -> int | None:
    """Give the highest switch with enough candidates, the lightest of them as light as possible."""
    counts = switches.count(candidates.nodes)
    if switches.root is not None:
        return switches.root if counts[switches.root] >= least else None
    top, lightest = None, 0
    for number in (counts >= max(least, 1)).nonzero()[0].tolist():
        weight = int(candidates.weight[switches.below(number, leaf)].min())
        if top is None or (switches.level[number] >= switches.level[top] and weight <= lightest):
            top, lightest = number, weight
    return top


def _heaviest_needed(candidates: Candidates, places: NDArray[np.int64], cpus: int, least: int) -> int | None:
    """Give the smallest weight so that nodes of no more than it suffice; ``None``: all of them do not."""
    order = places[candidates.weight[places].argsort(kind="stable")]
    enough = (np.cumsum(candidates.cpus[order]) >= cpus) & (np.arange(1, len(order) + 1) >= least)
    return int(candidates.weight[order[enough.argmax()]]) if enough.any() else None


def _next_leaf(switches: Switches, leaves: list[int], far: list[float], counts: list[int], wanted: int) -> int:
    """Give the leaf whose nodes are chosen next."""
    best = leaves[0]
    for number in leaves[1:]:
        fit = _fits_better(switches, number, best, counts, wanted)
        if (far[number] < far[best] and fit >= 0) or (far[number] == far[best] and fit > 0):
            best = number
    return best


def _fits_better(switches: Switches, one: int, other: int, counts: list[int], wanted: int) -> int:
    """Compare two switches by how well they fit: 1, 0, -1 where the first fits better, as well, or worse."""
    while True:
        fits, other_fits = counts[one] >= wanted, counts[other] >= wanted
        if fits != other_fits:
            return 1 if fits else -1
        if fits and counts[one] != counts[other]:
            return 1 if counts[one] < counts[other] else -1
        above, other_above = switches.above[one], switches.above[other]
        if fits or above == other_above or (above == one and other_above == other):
            break
        one, other = above, other_above
    if counts[one] != counts[other]:
        return 1 if counts[one] > counts[other] else -1
    below = switches.level[other] - switches.level[one]
    return (below > 0) - (below < 0)
