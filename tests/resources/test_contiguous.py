"""Runs in bitmaps against looking at each node."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rota.resources.contiguous import each_run, take_runs
from rota.resources.nodeset import highest, indices

#: Runs of nodes, each with the nodes that are missing after it: bitmaps of few long runs as well as of many short ones.
NODES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=12).map(
    lambda runs: int("".join("1" * length + "0" * gap for length, gap in runs), 2)
)


def _runs(nodes: int) -> list[list[int]]:
    """Give the runs as lists of places, ascending."""
    apart = groupby(enumerate(indices(nodes)), lambda item: item[1] - item[0])
    return [[place for _, place in run] for _, run in apart]


def _bitmap(places: list[int]) -> int:
    return sum(1 << place for place in places)


@given(NODES)
def test_runs_are_given_one_by_one(nodes: int) -> None:
    assert list(each_run(nodes)) == [_bitmap(run) for run in _runs(nodes)]


@given(nodes=NODES, data=st.data())
def test_the_tightest_run_is_taken_or_the_largest_and_so_on(nodes: int, data: Any) -> None:
    least = data.draw(st.integers(1, nodes.bit_count()))
    count = data.draw(st.integers(least, least + 5))
    left = _runs(nodes)
    taken: list[int] = []
    while left and len(taken) < count:
        suffice = [run for run in left if len(run) >= least - len(taken)]
        run = min(suffice, key=len) if suffice else max(left, key=len)
        left.remove(run)
        taken += run[: count - len(taken)]
    assert take_runs(nodes, least, count) == _bitmap(taken)


@given(nodes=NODES, data=st.data())
def test_highest_gives_the_highest_bits(nodes: int, data: Any) -> None:
    count = data.draw(st.integers(0, nodes.bit_count()))
    assert list(indices(highest(nodes, count))) == list(indices(nodes))[nodes.bit_count() - count :]
