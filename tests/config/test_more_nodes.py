"""A machine with more or fewer nodes."""

from __future__ import annotations

import pytest

from rota.config.more_nodes import with_nodes
from rota.model import InputError, Node, NodeState
from rota.testing import cluster, partition

_CPUS = {"a1": 4, "a2": 4, "g1": 8}
_CONFIG = cluster(
    nodes=[Node(name=name, cpus=cpus) for name, cpus in _CPUS.items()],
    partitions=[partition("few", [2]), partition("most", [0, 1]), partition("first", [0])],
)


def test_more_nodes_are_like_the_last_one_of_the_largest_partition() -> None:
    made = with_nodes(_CONFIG, "+2")
    assert [(node.name, node.cpus) for node in made.nodes[3:]] == [("a2-1", 4), ("a2-2", 4)]
    assert {one.name: one.nodes for one in made.partitions} == {"few": 0b00100, "most": 0b11011, "first": 0b00001}


def test_names_are_not_given_twice_and_new_nodes_are_up() -> None:
    down = Node(name="n", cpus=2, state=NodeState.DOWN, reason="broken")
    made = with_nodes(cluster(nodes=[Node(name="n-1"), down]), "+2")
    assert [node.name for node in made.nodes] == ["n-1", "n", "n-2", "n-3"]
    assert {(node.cpus, node.state, node.reason) for node in made.nodes[2:]} == {(2, NodeState.UP, "")}


def test_fewer_nodes_lack_the_last_ones_of_the_largest_partition() -> None:
    made = with_nodes(_CONFIG, "-1")
    assert [node.name for node in made.nodes] == ["a1", "g1"]
    assert {one.name: one.nodes for one in made.partitions} == {"few": 0b10, "most": 0b01, "first": 0b01}


def test_one_node_stays() -> None:
    with pytest.raises(InputError, match="partition most has 2 nodes: remove fewer"):
        with_nodes(_CONFIG, "-2")


@pytest.mark.parametrize("text", ["2", "2:like=g1", "+", "+x", "+1:like=", "+1:of=g1", ""])
def test_other_texts_are_refused(text: str) -> None:
    """A number without a sign may be meant as how many there should be."""
    with pytest.raises(InputError, match="is neither"):
        with_nodes(_CONFIG, text)


def test_nodes_like_another_one() -> None:
    made = with_nodes(_CONFIG, "+2:like=g1")
    assert [(node.name, node.cpus) for node in made.nodes[3:]] == [("g1-1", 8), ("g1-2", 8)]
    assert {one.name: one.nodes for one in made.partitions} == {"few": 0b11100, "most": 0b00011, "first": 0b00001}
    assert [node.name for node in with_nodes(_CONFIG, "-1:like=a1").nodes] == ["a1", "g1"]
    assert [node.name for node in with_nodes(_CONFIG, "-1:like=g1").nodes] == ["a1", "a2"]
    more = with_nodes(_CONFIG, "+3:like=g1")
    assert [node.name for node in with_nodes(more, "-2:like=g1").nodes] == ["a1", "a2", "g1", "g1-1"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("+2:like=x", "there is no node x"),
        ("-2:like=g1", "there are 1 nodes like g1: remove fewer"),
        *((text, "is neither") for text in ("four", "+4like=g1", "+", "", "++4", "+4:like=", "1e3", "+999999")),
    ],
)
def test_what_is_no_such_change_is_told(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        with_nodes(_CONFIG, text)
