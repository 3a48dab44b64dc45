"""The language of features: what Slurm 22.05.8 made of it on eight nodes, and properties against a naive reading.

The eight nodes had each its own of the subsets of a, b, c. For plain expressions the node sets are those on which
``sbatch --test-only -w NODE -C TEXT`` could run; for brackets and counts they follow from the nodes that real jobs got
or were refused. Where this differs from Slurm, the test says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model.constraint import EVERY_NODE, Constraint, parse_constraint

if TYPE_CHECKING:
    from collections.abc import Callable

#: Features of the nodes n01 to n08.
NODES = ("", "a", "b", "ab", "c", "ac", "bc", "abc")


def having(feature: str) -> int:
    return sum(1 << node for node, features in enumerate(NODES) if feature in features)


def shown(bitmap: int) -> str:
    """Write a set of the eight nodes, n01 first."""
    return "".join("1" if bitmap >> node & 1 else "0" for node in range(len(NODES)))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a", "01010101"),
        ("a&b", "00010001"),
        ("a,b", "00010001"),
        ("a|b", "01110111"),
        # From left to right.
        ("a&b|c", "00011111"),
        ("a|b&c", "00000111"),
        ("c&a|b", "00110111"),
        ("a,b|c", "00011111"),
        ("a|b,c", "00000111"),
        ("a|b|c", "01111111"),
        ("(a|b)&c", "00000111"),
        ("(a&b)|c", "00011111"),
        ("c|(a&b)", "00011111"),
        ("a&(b|c)", "00010101"),
        ("(a|b)&(b|c)", "00110111"),
        ("(a&b)|(b&c)", "00010011"),
        ("(a)", "01010101"),
        ("[a]", "01010101"),
        ("[a]&c", "00000101"),
        # Slurm refuses a job that names it; it is on no node.
        ("d", "00000000"),
        ("a|d", "01010101"),
    ],
)
def test_plain_features(text: str, nodes: str) -> None:
    constraint = parse_constraint(text)
    assert shown(constraint.nodes(having)) == nodes
    assert constraint.alternatives(having) == (constraint.nodes(having),)
    assert constraint.counts(having) == ()


@pytest.mark.parametrize(
    ("text", "alternatives", "nodes"),
    [
        # -N 4 ran on n[02,04,06,08], without n02 on n[03-04,07-08]; -N 5 was refused.
        ("[a|b]", ["01010101", "00110011"], "01110111"),
        ("[b|c|a]", ["00110011", "00001111", "01010101"], "01111111"),
        # -N 2 ran on n[06,08], -N 3 was refused.
        ("[a|b]&c", ["00000101", "00000011"], "00000111"),
        ("c&[a|b]", ["00000101", "00000011"], "00000111"),
        # -N 2 ran on n[04,08], without n04 on n[06,08].
        ("a&[b|c]&a", ["00010001", "00000101"], "00010101"),
        # -N 3 with n06 ran on n[06-08].
        ("a|b&[b|c]", ["00110011", "00000111"], "00110111"),
        # -N 4 with n05 ran on n[05-08], -N 2 with n04 on n[04,08].
        ("[c|(a&b)]", ["00001111", "00010001"], "00011111"),
        # Slurm 22.05.8 knows groups that come first less well: it refused -N 4 here, but not with the two exchanged.
        ("[(a&b)|c]", ["00010001", "00001111"], "00011111"),
        ("[(a&b)|(b&c)]", ["00010001", "00000011"], "00010011"),
    ],
)
def test_all_nodes_have_the_same_one(text: str, alternatives: list[str], nodes: str) -> None:
    constraint = parse_constraint(text)
    assert [shown(one) for one in constraint.alternatives(having)] == alternatives
    assert shown(constraint.nodes(having)) == nodes
    assert constraint.counts(having) == ()


@pytest.mark.parametrize(
    ("text", "counts", "nodes"),
    [
        # -N 3 -w n01 ran on n[01-02,04], -N 8 on all: the others may be any.
        ("a*2", [("01010101", 2)], "11111111"),
        ("[a*2]", [("01010101", 2)], "11111111"),
        ("(a&b)*2", [("00010001", 2)], "11111111"),
        # Without -N it took n[02,04,07-08]; -N 5 and -N 6 only nodes with a or b, -N 7 was refused.
        ("[a*2&b*2]", [("01010101", 2), ("00110011", 2)], "01110111"),
        ("[a*1,b*1]", [("01010101", 1), ("00110011", 1)], "01110111"),
        ("[(a|b)*1&(c)*2]", [("01110111", 1), ("00001111", 2)], "01111111"),
        # Slurm refuses several counts without brackets.
        ("a*2&b*4", [("01010101", 2), ("00110011", 4)], "01110111"),
        # With n01 it ran on n[01-02]: c says nothing.
        ("a*1&c", [("01010101", 1)], "11111111"),
        ("c&[a*1&b*1]", [("01010101", 1), ("00110011", 1)], "01110111"),
    ],
)
def test_counts(text: str, counts: list[tuple[str, int]], nodes: str) -> None:
    constraint = parse_constraint(text)
    assert [(shown(group), count) for group, count in constraint.counts(having)] == counts
    assert shown(constraint.nodes(having)) == nodes
    assert constraint.alternatives(having) == (constraint.nodes(having),)


def test_one_count_leaves_every_node_open() -> None:
    assert parse_constraint("a*2").nodes(having) == EVERY_NODE


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("IB&CPU-Gold-6230", ("IB", "CPU-Gold-6230")),
        ("b|(a&b)&c", ("b", "a", "c")),
        ("x&[a|(b&c)]", ("x", "a", "b", "c")),
        ("x&[a*2&b*4]", ("x", "a", "b")),
        ("a*1&c", ("c", "a")),
    ],
)
def test_features_that_are_named(text: str, features: tuple[str, ...]) -> None:
    assert parse_constraint(text).features == features


# Slurm refuses these too ("Invalid feature specification"), save those marked, of which it makes something else.
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the end where a feature is due"),
        ("a&&b", "'&' where a feature is due"),
        ("&a", "'&' where a feature is due"),
        ("a&", "the end where a feature is due"),  # Slurm: a
        ("a|", "the end where a feature is due"),  # Slurm: a
        ("a b", "' ' where an operator is due"),
        (" a", "' ' where a feature is due"),
        ("a & b", "' ' where an operator is due"),
        ("()", "')' where a feature is due"),
        ("[]", "']' where a feature is due"),
        ("(a", "the end where & or | or ) is due"),
        ("[a|b", "the end where & or | or ] is due"),
        ("[(a|b]", "']' where & or | or ) is due"),
        ("a)", "')' where an operator is due"),
        ("a]", "']' where an operator is due"),
        ("a(b)", "'(' where an operator is due"),
        ("((a|b)&c)", "'(' where a feature is due"),
        ("([a|b])", "'[' where a feature is due"),  # Slurm: a|b
        ("[[a|b]|c]", "'[' where a feature is due"),
        ("[a|b]c", "'c' where an operator is due"),  # Slurm: some of it
        ("[a|b]&[b|c]", "only one pair of brackets is possible"),
        ("[a|b]|c", "brackets are joined to what is outside of them with & only"),  # Slurm: hardly anything fits
        ("a|[b|c]", "brackets are joined to what is outside of them with & only"),  # likewise
        ("[a|b]&c|a", "brackets are joined to what is outside of them with & only"),  # likewise
        ("[a&b]", "what & joins in brackets has a count each: [a*2&b*4]"),
        ("[a,b]", "what & joins in brackets has a count each: [a*2&b*4]"),
        ("[b|a&c]", "what & joins in brackets has a count each: [a*2&b*4]"),
        ("[a&b*2]", "in brackets all have counts or none has"),
        ("[a*1|b*1]", "features with counts are joined with & only"),
        ("a*2|b*2", "features with counts are joined with & only"),
        ("a|b*2", "features with counts are joined with & only"),  # Slurm: b*2
        ("(a*2)&b", "a count stands behind parentheses, not in them"),
        ("[a|b]*2", "'*' where an operator is due"),
        ("a*2*2", "'*' where an operator is due"),  # Slurm: a*2
        ("*2", "'*' where a feature is due"),
        ("a*", "the end where a number of nodes is due"),
        ("a*0", "'0' where a number of nodes is due"),
        ("a*x", "'x' where a number of nodes is due"),
        ("a*-1", "'-1' where a number of nodes is due"),
        ("a*4294967296", "'4294967296' where a number of nodes is due"),
        ("a*²", "'²' where a number of nodes is due"),
    ],
)
def test_what_makes_no_sense(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(f'{text!r}: {problem}')}\Z"):
        parse_constraint(text)


# ---- against a naive reading, node by node ----------------------------------------------------------------------

Node = frozenset[str]
#: A text, and whether a node fulfils it.
Part = tuple[str, "Callable[[Node], bool]"]
FEATURES = ("a", "b", "gpu-v100", "ib.2", "Ä")


def _feature(name: str) -> Part:
    return name, lambda node: name in node


def _chain(parts: list[tuple[str, Part]], around: str = "{}") -> Part:
    """Join parts, each with the operator before it, reading what stands left of the last operator first."""
    text = parts[0][1][0] + "".join(operator + part[0] for operator, part in parts[1:])

    def fulfilled(node: Node, upto: int = len(parts)) -> bool:
        operator, (_, last) = parts[upto - 1]
        if upto == 1:
            return last(node)
        before = fulfilled(node, upto - 1)
        return before or last(node) if operator == "|" else before and last(node)

    return around.format(text), fulfilled


def _chains(part: st.SearchStrategy[Part], operators: str, around: str = "{}") -> st.SearchStrategy[Part]:
    linked = st.tuples(st.sampled_from(operators), part)
    return st.lists(linked, min_size=1, max_size=5).map(lambda parts: _chain(parts, around))


names = st.sampled_from(FEATURES).map(_feature)
operands = names | _chains(names, "&|,", "({})")
plain = _chains(operands, "&|,")
machines = st.lists(st.frozensets(st.sampled_from(FEATURES)), min_size=1, max_size=12)


def _having(machine: list[Node]) -> Callable[[str], int]:
    return lambda feature: sum(1 << place for place, node in enumerate(machine) if feature in node)


def _fulfilling(machine: list[Node], *parts: Part) -> int:
    return sum(1 << place for place, node in enumerate(machine) if all(part[1](node) for part in parts))


def _read(text: str) -> Constraint:
    constraint = parse_constraint(text)
    assert constraint.text == text
    assert {name for name in FEATURES if name in text} >= set(constraint.features)
    return constraint


@given(plain, machines)
def test_plain_texts_as_each_node_by_itself(part: Part, machine: list[Node]) -> None:
    constraint, having = _read(part[0]), _having(machine)
    assert constraint.nodes(having) == _fulfilling(machine, part)
    assert constraint.alternatives(having) == (constraint.nodes(having),)


@given(st.none() | plain, st.lists(operands, min_size=2, max_size=4), st.none() | _chains(operands, "&,"), machines)
def test_brackets_as_each_node_by_itself(
    before: Part | None, options: list[Part], after: Part | None, machine: list[Node]
) -> None:
    text = f"[{'|'.join(text for text, _ in options)}]"
    outside = [part for part in (before, after) if part]
    text = "&".join([before[0], text] if before else [text])
    constraint, having = _read(f"{text}&{after[0]}" if after else text), _having(machine)
    expected = tuple(_fulfilling(machine, option, *outside) for option in options)
    assert constraint.alternatives(having) == expected
    assert constraint.nodes(having) == sum(
        1 << place for place in range(len(machine)) if any(one >> place & 1 for one in expected)
    )


@given(st.lists(st.tuples(operands, st.integers(1, 2**32 - 1)), min_size=2, max_size=4), st.booleans(), machines)
def test_counts_as_each_node_by_itself(parts: list[tuple[Part, int]], bare: bool, machine: list[Node]) -> None:
    text = "&".join(f"{part[0]}*{count}" for part, count in parts)
    constraint, having = _read(text if bare else f"[{text}]"), _having(machine)
    assert constraint.counts(having) == tuple((_fulfilling(machine, part), count) for part, count in parts)
    assert constraint.nodes(having) == sum(
        1 << place for place, node in enumerate(machine) if any(part[1](node) for part, _ in parts)
    )


@given(st.text("ab&|,()[]*2 ", max_size=12))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        constraint = parse_constraint(text)
    except ValueError as error:
        assert str(error).startswith(f"{text!r}: ")  # noqa: PT017 - most texts are refused, none must fail otherwise
    else:
        assert constraint.features
