"""Node sets as ``int`` bitmaps: bit *i* is the *i*-th node of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def lowest(nodes: int, count: int) -> int:
    """Give the ``count`` lowest nodes of a set that has at least so many.

    Binary search for the prefix that holds them: O(log n) operations on bitmaps.
    """
    low, high = count, nodes.bit_length()
    while low < high:
        middle = (low + high) // 2
        if (nodes & ((1 << middle) - 1)).bit_count() >= count:
            high = middle
        else:
            low = middle + 1
    return nodes & ((1 << low) - 1)


def indices(nodes: int) -> Iterator[int]:
    """Give the places of the nodes in a set, ascending."""
    while nodes:
        bit = nodes & -nodes
        yield bit.bit_length() - 1
        nodes ^= bit
