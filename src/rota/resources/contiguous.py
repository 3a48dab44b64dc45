"""Runs: nodes that follow each other, found in bitmaps.

No node is looked at by itself. A bitmap that is cut with itself, moved by one place, loses the last node of each run;
moved by two, by four and so on, it tells in few steps how long runs are: O(log n) operations on the bitmap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.resources.nodeset import lowest

if TYPE_CHECKING:
    from collections.abc import Iterator


def each_run(nodes: int) -> Iterator[int]:
    """Give the runs of a set as bitmaps, ascending."""
    while nodes:
        rest = nodes & nodes + (nodes & -nodes)  # the carry goes through the lowest run
        yield nodes ^ rest
        nodes = rest


def take_runs(nodes: int, least: int, count: int) -> int:
    """Take nodes run by run: the tightest run that suffices or, where none does, the largest, until it is enough.

    Args:
        nodes: At least ``least`` of them.
        least: So many suffice.
        count: So many are taken, if there are so many; not less than ``least``.

    Returns:
        The nodes taken, of each run the first ones; of runs of one length the first is taken.
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
    while nodes and size < least:  # of each run this leaves the places where so many begin
        step = min(size, least - size)
        nodes &= nodes >> step
        size += step
    starts = nodes & ~(nodes << 1)
    if not starts & starts - 1:  # there is one, or none
        return (1 << nodes.bit_length() + least - 1) - starts if starts else 0
    more = step = 1
    while (shorter := nodes & nodes >> step) & starts == starts:
        nodes, more = shorter, more + step
        step = more
    while step > 1:
        step >>= 1
        if (shorter := nodes & nodes >> step) & starts == starts:
            nodes, more = shorter, more + step
    starts &= ~(nodes & nodes >> 1)  # one shorter, and these are gone
    first = starts & -starts
    return (first << least - 1 + more) - first


def _largest(nodes: int, most: int) -> tuple[int, int]:
    """Give the longest runs, the first ones, as many as have less than ``most`` nodes before the last; and how many."""
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
