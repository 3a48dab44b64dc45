"""Hostlists: what they stand for, and how much of that there may be."""

from __future__ import annotations

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given
from hypothesis import strategies as st

from rota.config.hostlist import expand_hostlist, fold, fold_again, fold_sorted, hosts_in_order
from rota.model.bounds import MOST_NODES, MOST_OF_MACHINE, TooManyError, count_numbers, host_items


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("b,a,b", "b a"),
        ("n[3,1-2]", "n3 n1 n2"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[1-2]x[3-4]", "n1x3 n1x4 n2x3 n2x4"),
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
        "n[1-2]-ib",  # Slurm takes nothing behind the last bracket
        "n[0-1][1-2]x",
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


#: A hostlist, what Slurm 22.05.8 makes of it with ``scontrol show hostlist``, and with ``hostlistsorted``.
_AGAIN = """\
n[01-03,7] n[01-03,7] n[7,01-03]
n[1-3,2] n[1-3,2] n[1-2,2-3]
n[0-2][0-1] n0[0-1],n1[0-1],n2[0-1] n0[0-1],n1[0-1],n2[0-1]
n[0-2][0-1],n02 n0[0-1],n1[0-1],n2[0-1],n02 n02,n0[0-1],n1[0-1],n2[0-1]
n1,n1,n[2-3] n[1,1-3] n[1,1-3]
n08,n10,n1,n2,n3 n[08,10,1-3] n[1-3,08,10]
n9,n10,n011,n08,n100,n[098-101],n7 n[9-10,011,08,100,098-101,7] n[7,9-10,08,011,098-100,100-101]
n1,n2,n1,n2 n[1-2,1-2] n[1,1-2,2]
n1,m2,n2,n3 n1,m2,n[2-3] m2,n[1-3]
n2,n,n1,n n2,n,n1,n n,n,n[1-2]
r10n1,r2n[1-2],v1,z02 r10n1,r2n[1-2],v1,z02 r2n[1-2],r10n1,v1,z02
r02n1,r1n1,r2n1 r02n1,r1n1,r2n1 r02n1,r1n1,r2n1
n-ib,n1,na n-ib,n1,na n1,n-ib,na
x1,X2 x1,X2 X2,x1
b,a,a,c b,a,a,c a,a,b,c
a10x,a9x,a1 a10x,a9x,a1 a1,a9x,a10x
n99,n100 n[99-100] n[99-100]
n[009,010,1] n[009-010,1] n[1,009-010]
12,a1,3 12,a1,3 [3,12],a1
[1-3] [1-3] [1-3]
"""


@pytest.mark.parametrize("line", _AGAIN.splitlines())
def test_lists_are_formatted_as_by_slurm(line: str) -> None:
    text, in_order, in_sequence = line.split()
    assert fold_again(text, in_order=True) == in_order
    assert fold_again(text, in_order=False) == in_sequence


def test_names_keep_their_order_or_are_sorted() -> None:
    names = ["n08", "n1", "n2", "n3", "n10"]
    assert fold(names) == "n[08,1-3,10]"
    assert fold_sorted(names) == "n[1-3,08,10]"
    assert fold(["n1-ib", "n2-ib"]) == "n1-ib,n2-ib"
    assert fold([]) == fold_sorted([]) == ""


_NUMBER = st.integers(0, 120).map(str)
_RANGE = st.tuples(st.integers(0, 99), st.integers(0, 30)).map(lambda one: f"{one[0]}-{one[0] + one[1]}")
_LIST = st.lists(st.one_of(_NUMBER, _RANGE), min_size=1, max_size=4).map(",".join)
_ITEM = st.tuples(st.sampled_from(["n", "m", "rack-", "r[1-2]n"]), _LIST).map(lambda one: f"{one[0]}[{one[1]}]")


@given(st.lists(st.one_of(_ITEM, st.sampled_from(["a", "n7", "b12"])), min_size=1, max_size=5).map(",".join))
def test_the_same_names_as_of_clustershell(text: str) -> None:
    names = expand_hostlist(text)
    assert set(names) == set(NodeSet(text, resolver=RESOLVER_NOGROUP))
    assert len(set(names)) == len(names) <= len(hosts_in_order(text))
    assert expand_hostlist(fold(names)) == names
    assert sorted(hosts_in_order(fold_sorted(names))) == sorted(names)


@given(_LIST)
def test_numbers_are_counted_without_being_made(text: str) -> None:
    assert count_numbers(text) == len(hosts_in_order(f"n[{text}]"))
