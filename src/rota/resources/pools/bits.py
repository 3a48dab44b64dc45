"""Bitmaps of what a node has, such as its cores, in the elements of a view: 32 bits in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: Number of bits in a row.
BITS = 32


def in_rows(bits: int, count: int) -> list[int]:
    """Divide a bitmap among so many rows."""
    return [bits >> BITS * row & (1 << BITS) - 1 for row in range(count)]


def read_bits(rows: NDArray[Any]) -> int:
    """Put the rows of one node together: the reverse of `in_rows`."""
    return sum(bits << BITS * row for row, bits in enumerate(rows.tolist()))


def ones(bits: int) -> Iterator[int]:
    """Give the numbers of the bits that are set, ascending."""
    return (number for number in range(bits.bit_length()) if bits >> number & 1)
