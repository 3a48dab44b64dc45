"""Node sets as ``int`` bitmaps: bit *i* is the *i*-th node of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def lowest(nodes: int, count: int) -> int:
    """Give the ``count`` lowest nodes of a set that has at least so many.

    Binary search for the last of them, each time in half as many places: as much work as two operations on the bitmap.
    """
    if count <= 0:
        return 0
    rest, before, width = nodes, 0, nodes.bit_length()
    while width > 1:
        half = width // 2
        lower = rest & ((1 << half) - 1)
        if (here := lower.bit_count()) >= count:
            rest, width = lower, half
        else:
            rest, width = rest >> half, width - half
            before, count = before + half, count - here
    return nodes & ((1 << before + width) - 1)


def highest(nodes: int, count: int) -> int:
    """Give the ``count`` highest nodes of a set that has at least so many."""
    return nodes ^ lowest(nodes, nodes.bit_count() - count)


def indices(nodes: int) -> Iterator[int]:
    """Give the places of the nodes in a set, ascending."""
    while nodes:
        bit = nodes & -nodes
        yield bit.bit_length() - 1
        nodes ^= bit


def to_mask(nodes: int, count: int) -> NDArray[np.bool_]:
    """Give a bitmap as an array with one place for each of ``count`` nodes."""
    packed = np.frombuffer(nodes.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little", count=count).view(np.bool_)


def from_mask(mask: NDArray[np.bool_]) -> int:
    """Give the bitmap of a mask."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
