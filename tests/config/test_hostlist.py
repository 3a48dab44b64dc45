"""Hostlists: what they stand for, and how much of that there may be."""

from __future__ import annotations

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given
from hypothesis import strategies as st

from rota.config.hostlist import expand_hostlist, fold, hosts_in_order
from rota.model.bounds import MOST_NODES, MOST_OF_MACHINE, TooManyError, count_numbers, host_items


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("b,a,b", "b a"),
        ("n[3,1-2]", "n3 n1 n2"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[1-2]x[3-4]y", "n1x3y n1x4y n2x3y n2x4y"),
        ("n[0-1][0-1]", "n00 n01 n10 n11"),  # as Slurm 22.05 has it
        ("[1-2]", "1 2"),
        ("a-1,b:2,c.d", "a-1 b:2 c.d"),
        ("m,n[1,1-2],n2", "m n1 n2"),
    ],
)
def test_names(text: str, names: str) -> None:
    assert expand_hostlist(text) == names.split()


def test_names_that_come_again_are_kept_where_they_count() -> None:
    assert hosts_in_order("b,a,b,n[1,1]") == ["b", "a", "b", "n1", "n1"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "a,,b",
        "a,",
        "n[",
        "n]",
        "n[1-2",
        "n[]",
        "n[1-]",
        "n[-1]",
        "n[3-1]",
        "n[a]",
        "n[1:2]",
        "n[[1]]",
        "n[1,]",
    ],
)
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="is not a list of nodes"):
        expand_hostlist(text)


@pytest.mark.parametrize(
    "text",
    [
        "n[0-999]-[0-999]-[0-99]",
        "n[0-9999][0-9999]",
        "n" + "[0-1]" * 16,
        "n" + "[0]" * 5_000,
        f"n[0-{MOST_NODES}]",
        "n[0-999999999999999999]",
        ",".join(f"n{number}" for number in range(MOST_NODES + 1)),
        ",".join(["n[0-999]"] * 33),
        "n[0-20000],m[0-20000]",
        "x" * 1_000_000,
    ],
)
def test_lists_of_too_many_are_not_expanded(text: str) -> None:
    with pytest.raises(TooManyError, match=r"names more than 32,768 nodes$") as caught:
        host_items(text)
    assert len(str(caught.value)) < 200


def test_as_many_as_there_may_be() -> None:
    assert len(expand_hostlist(f"n[1-{MOST_NODES}]")) == MOST_NODES
    assert len(expand_hostlist(f"n[1-{MOST_OF_MACHINE}]", MOST_OF_MACHINE)) == MOST_OF_MACHINE
    with pytest.raises(TooManyError, match="262,144"):
        expand_hostlist(f"n[0-{MOST_OF_MACHINE}]", MOST_OF_MACHINE)


def test_names_are_not_longer_than_names_are() -> None:
    with pytest.raises(ValueError, match="more than 255 characters"):
        expand_hostlist("x" * 300 + "[1-9]")


_NUMBER = st.integers(0, 120).map(str)
_RANGE = st.tuples(st.integers(0, 99), st.integers(0, 30)).map(lambda one: f"{one[0]}-{one[0] + one[1]}")
_LIST = st.lists(st.one_of(_NUMBER, _RANGE), min_size=1, max_size=4).map(",".join)
_ITEM = st.tuples(st.sampled_from(["n", "m", "rack-"]), _LIST, st.sampled_from(["", "x", ".y"])).map(
    lambda one: f"{one[0]}[{one[1]}]{one[2]}"
)


@given(st.lists(st.one_of(_ITEM, st.sampled_from(["a", "n7", "b12"])), min_size=1, max_size=5).map(",".join))
def test_the_same_names_as_of_clustershell(text: str) -> None:
    names = expand_hostlist(text)
    assert set(names) == set(NodeSet(text, resolver=RESOLVER_NOGROUP))
    assert len(set(names)) == len(names) <= len(hosts_in_order(text))
    assert set(expand_hostlist(fold(names))) == set(names)


@given(_LIST)
def test_numbers_are_counted_without_being_made(text: str) -> None:
    assert count_numbers(text) == len(hosts_in_order(f"n[{text}]"))
