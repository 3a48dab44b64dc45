"""A sequence of bitmaps, with the unions of blocks of it, so that many bitmaps are examined at once."""

from __future__ import annotations

from functools import reduce
from operator import or_

#: Number of bitmaps in a block, and of blocks in a larger one.
_BRANCHES = 8
_SIZES = tuple(_BRANCHES**level for level in (3, 2, 1))


class Blocks:
    """A sequence of bitmaps.

    Unions of blocks are computed on demand and cached until a bitmap is inserted before or into the block. A search
    takes few operations on bitmaps, however many there are.

    Args:
        bitmaps: The bitmaps, not negative. The list must not be used otherwise any more.
    """

    __slots__ = ("_bitmaps", "_unions")

    def __init__(self, bitmaps: list[int]) -> None:
        self._bitmaps = bitmaps
        #: Unions of blocks, by size and number of the block.
        self._unions: dict[int, dict[int, int]] = {size: {} for size in _SIZES}

    def insert(self, index: int, bitmap: int) -> None:
        """Insert a bitmap at an index."""
        self._bitmaps.insert(index, bitmap)
        for size, known in self._unions.items():
            self._unions[size] = {number: union for number, union in known.items() if number < index // size}

    def next_on(self, index: int, nodes: int, limit: int) -> int:
        """Give the first index, from ``index`` to before ``limit``, with some of the nodes, else ``limit``."""
        bitmaps = self._bitmaps
        while index < limit:
            if bitmaps[index] & nodes:  # most often it is one of the first
                return index
            index += 1
            while not index % _BRANCHES and index < limit:
                for size in _SIZES:
                    if not index % size and not self._union(size, index // size) & nodes:
                        index += size
                        break
                else:
                    break
        return limit

    def last_on(self, limit: int, nodes: int) -> int:
        """Give the last index before ``limit`` whose bitmap has some of the nodes, else -1."""
        bitmaps, index = self._bitmaps, limit
        while index > 0:
            index -= 1
            if bitmaps[index] & nodes:
                return index
            while not index % _BRANCHES and index:
                for size in _SIZES:
                    if not index % size and not self._union(size, index // size - 1) & nodes:
                        index -= size
                        break
                else:
                    break
        return -1

    def reach(self, index: int, limit: int, nodes: int, count: int, there: int) -> int:
        """Give the first end of a range from ``index`` on whose union, with ``there``, has ``count`` of some nodes.

        It is larger than ``limit`` if the range up to there has fewer.
        """
        bitmaps = self._bitmaps
        while index < limit:
            for size in _SIZES:
                if not index % size and index + size <= limit:
                    more = there | self._union(size, index // size) & nodes
                    if more.bit_count() < count:
                        there = more
                        index += size
                        break
            else:
                there |= bitmaps[index] & nodes
                index += 1
                if there.bit_count() >= count:
                    return index
        return limit + 1

    def union(self, first: int, last: int) -> int:
        """Give the union of the bitmaps from ``first`` to before ``last``."""
        nodes, index = 0, first
        while index < last:
            for size in _SIZES:
                if not index % size and index + size <= last:
                    nodes |= self._union(size, index // size)
                    index += size
                    break
            else:
                nodes |= self._bitmaps[index]
                index += 1
        return nodes

    def _union(self, size: int, number: int) -> int:
        known = self._unions[size]
        union = known.get(number)
        if union is None:
            first, part = number * _BRANCHES, size // _BRANCHES
            parts = self._bitmaps[first : first + _BRANCHES]
            if part > 1:
                parts = [self._union(part, one) for one in range(first, first + _BRANCHES)]
            union = known[number] = reduce(or_, parts, 0)
        return union
