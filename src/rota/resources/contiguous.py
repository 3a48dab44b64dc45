"""Runs of adjacent nodes in bitmaps.

Nodes are not examined one by one. The intersection of a bitmap with itself shifted by one position lacks the last node
of each run; shifts by two, four and so on give the lengths of runs in O(log n) operations on bitmaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.resources.nodeset import lowest

if TYPE_CHECKING:
    from collections.abc import Iterator


def each_run(nodes: int) -> Iterator[int]:
    """Give the runs of a bitmap as bitmaps, ascending."""
    while nodes:
        rest = nodes & nodes + (nodes & -nodes)  # the carry clears the lowest run
        yield nodes ^ rest
        nodes = rest


def take_runs(nodes: int, least: int, count: int) -> int:
    """Choose nodes run by run: the shortest run that suffices or, if none does, the longest, until there are enough.

    Args:
        nodes: Bitmap of at least ``least`` nodes.
        least: Number of nodes that suffices.
        count: Number of nodes to choose if there are so many; at least ``least``.

    Returns:
        The chosen nodes: the first ones of each run, and the first of several runs of the same length.
    """
    if nodes.bit_count() <= count:
        return nodes
    taken = 0
    while True:
        run = _tightest(nodes, max(least, 1))
        number = run.bit_count()
        if number >= count:
            first = run & -run
            return taken | (first << count) - first
        if not run:
            run, number = _largest(nodes, least)
        taken |= run
        nodes ^= run
        least -= number
        count -= number


def _tightest(nodes: int, least: int) -> int:
    """Give the shortest run of at least ``least`` nodes, 0 if there is none."""
    size = 1
    while nodes and size < least:  # keeps the positions at which so many adjacent nodes begin
        step = min(size, least - size)
        nodes &= nodes >> step
        size += step
    starts = nodes & ~(nodes << 1)
    if not starts & starts - 1:  # at most one
        return (1 << nodes.bit_length() + least - 1) - starts if starts else 0
    more = step = 1
    while (shorter := nodes & nodes >> step) & starts == starts:
        nodes, more = shorter, more + step
        step = more
    while step > 1:
        step >>= 1
        if (shorter := nodes & nodes >> step) & starts == starts:
            nodes, more = shorter, more + step
    starts &= ~(nodes & nodes >> 1)  # clears the shortest run
    first = starts & -starts
    return (first << least - 1 + more) - first


def _largest(nodes: int, most: int) -> tuple[int, int]:
    """Give the longest runs, the first of equal ones, until they have ``most`` nodes; and the number of nodes."""
    size = step = 1
    while shorter := nodes & nodes >> step:
        nodes, size = shorter, size + step
        step = size
    while step > 1:
        step >>= 1
        if shorter := nodes & nodes >> step:
            nodes, size = shorter, size + step
    number = min(nodes.bit_count(), (most - 1) // size)
    runs, width = lowest(nodes, number), 1
    while width < size:
        step = min(width, size - width)
        runs |= runs << step
        width += step
    return runs, number * size
