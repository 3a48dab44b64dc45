"""Sets of nodes as ``int`` bitmaps: bit *i* is the node of index *i* in the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def lowest(nodes: int, count: int) -> int:
    """Give the ``count`` lowest nodes of a bitmap that has at least so many.

    A binary search for the last of them, on half as many bits each time: it costs as much as two operations on bitmaps.
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
    """Give the ``count`` highest nodes of a bitmap that has at least so many."""
    return nodes ^ lowest(nodes, nodes.bit_count() - count)


def indices(nodes: int) -> Iterator[int]:
    """Give the indices of the nodes in a bitmap, ascending."""
    while nodes:
        bit = nodes & -nodes
        yield bit.bit_length() - 1
        nodes ^= bit


def to_mask(nodes: int, count: int) -> NDArray[np.bool_]:
    """Convert a bitmap to an array of ``count`` truth values."""
    packed = np.frombuffer(nodes.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little", count=count).view(np.bool_)


def from_mask(mask: NDArray[np.bool_]) -> int:
    """Convert an array of truth values to a bitmap."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
