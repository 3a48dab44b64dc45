"""Unions of bitmaps by blocks against looking at each bitmap."""

from __future__ import annotations

from functools import reduce
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from rota.resources.blocks import Blocks

NODES = 5
#: So many that there are blocks of blocks, most of them of nobody's nodes.
BITMAPS = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 2**NODES - 1)), max_size=6).map(
    lambda parts: [bitmap for gap, bitmap in parts for bitmap in (*[0] * gap, bitmap)]
)


@given(
    bitmaps=BITMAPS,
    questions=st.lists(st.tuples(st.integers(0, 1300), st.integers(0, 1300), st.integers(1, 2**NODES - 1)), max_size=8),
)
def test_what_is_found_is_what_there_is_also_when_more_come(
    bitmaps: list[int], questions: list[tuple[int, int, int]]
) -> None:
    blocks, known = Blocks(bitmaps.copy()), bitmaps
    for one, other, nodes in questions:
        first, last = sorted((one % (len(known) + 1), other % (len(known) + 1)))
        with_some = [place for place, bitmap in enumerate(known) if bitmap & nodes]
        assert blocks.next_on(first, nodes, last) == next((place for place in with_some if first <= place < last), last)
        assert blocks.last_on(last, nodes) == max((place for place in with_some if place < last), default=-1)
        assert blocks.union(first, last) == reduce(or_, known[first:last], 0)
        there, count = nodes & other, nodes.bit_count()
        enough = [end for end in range(first + 1, last + 1) if (reduce(or_, known[first:end], there) & nodes) == nodes]
        if there != nodes:
            assert blocks.reach(first, last, nodes, count, there) == next(iter(enough), last + 1)
        blocks.insert(first, nodes)
        known.insert(first, nodes)
