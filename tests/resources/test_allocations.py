"""What jobs hold, lined up: every sum is what adding the views of the jobs gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rota.resources.pools.allocations import Allocations

if TYPE_CHECKING:
    from rota.resources.pools.allocations import AllocatedInOrder
    from rota.resources.view import View

#: Kinds of resource and nodes of the views.
SHAPE = (2, 3)


def unpack(resources: int) -> View:
    """Give the numbers of a set: 32 bits each."""
    return np.frombuffer(resources.to_bytes(24, "little"), np.uint32).reshape(SHAPE)


def pack(numbers: list[int]) -> int:
    """Make a set. Those of a few processors of the first node are small: of these numbers Python has one object."""
    return sum(number << 32 * place for place, number in enumerate(numbers))


SETS = st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any).map(pack), max_size=8)


def total(sets: list[int]) -> View:
    """Add up one by one."""
    return sum((unpack(one) for one in sets), np.zeros(SHAPE, np.uint32))


def check(lined_up: AllocatedInOrder, sets: list[int]) -> None:
    """Compare the sums of all slices."""
    start = np.full(SHAPE, 7, np.uint32)
    for first in range(len(sets) + 1):
        for last in range(first, len(sets) + 1):
            assert (lined_up.added(start, first, last) == start + total(sets[first:last])).all()
    assert (start == 7).all()


@given(rounds=st.lists(st.lists(st.integers(0, 7), max_size=8), min_size=1, max_size=4), pool=SETS.filter(len))
def test_what_is_lined_up_is_what_was_asked_for_whatever_was_before(rounds: list[list[int]], pool: list[int]) -> None:
    allocations = Allocations(unpack)
    for places in rounds:
        # In any order and more than once, which running jobs need not be.
        sets = [pool[place % len(pool)] for place in places]
        check(allocations.in_order(sets), sets)


@given(before=SETS, more=st.lists(st.tuples(st.integers(0, 99), st.integers(1, 9)), max_size=4))
def test_a_job_that_starts_is_put_in_and_others_who_asked_do_not_see_it(
    before: list[int], more: list[tuple[int, int]]
) -> None:
    allocations = Allocations(unpack)
    first, second = allocations.in_order(before), allocations.in_order(before)
    sets = before.copy()
    for place, resources in more:
        where = place % (len(sets) + 1)
        first.insert(where, resources)
        sets.insert(where, resources)
    check(first, sets)
    check(second, before)
    check(allocations.in_order(sets), sets)


@given(view=SETS, one=SETS.filter(len))
def test_what_a_job_holds_is_taken_away_from_a_view(view: list[int], one: list[int]) -> None:
    whole = total([*view, one[0]])
    assert (Allocations(unpack).taken(whole, one[0]) == total(view)).all()
    assert (whole == total([*view, one[0]])).all()


def test_a_set_is_known_until_it_is_forgotten() -> None:
    allocations, resources = Allocations(unpack), pack([0, 0, 2, 0, 0, 1])
    assert allocations.get(resources) is None
    assert allocations.of(resources).positions.tolist() == [2, 5]
    assert allocations.get(resources) is allocations.of(resources)
    allocations.forget(resources)
    allocations.forget(resources)
    assert allocations.get(resources) is None
