"""Nodes that fail in a replay: the file, and the states that follow from it."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from rota.model import InputError, Node, NodeState
from rota.replays.failures import Failure, NodeChange, node_changes, read_failures

from .conftest import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


UP, DRAIN, DOWN = NodeState.UP, NodeState.DRAIN, NodeState.DOWN
NAMES = ("n01", "n02", "n03", "gn1")
SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")
#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)


# ---- the file -----------------------------------------------------------------------------------------------------

TEXT = """\
# time      nodes         duration

3600        n[01-02],gn1  1800
  2-06:00:00\tn03  0-12:00:30 drain   # in the middle of a line, too
0 gn1 - DOWN
1:30 n01 1-0
"""
READ = (
    Failure(time=3600, nodes=("gn1", "n01", "n02"), duration=1800, state=DOWN),
    Failure(time=2 * 86400 + 6 * 3600, nodes=("n03",), duration=12 * 3600 + 30, state=DRAIN),
    Failure(time=0, nodes=("gn1",), duration=None, state=DOWN),
    Failure(time=90, nodes=("n01",), duration=86400, state=DOWN),
)


def in_order(failures: Sequence[Failure]) -> list[tuple[int, tuple[str, ...], int | None, NodeState]]:
    return [(one.time, tuple(sorted(one.nodes)), one.duration, one.state) for one in failures]


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        gzip.compress(TEXT.encode()),
        b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(),
        TEXT.encode().rstrip(),
    ],
    ids=["plain", "gzip", "from Windows", "no last newline"],
)
def test_a_file_is_read(log_file: Callable[..., Path], content: bytes) -> None:
    assert in_order(read_failures(log_file(content), NAMES)) == in_order(READ)


def test_a_file_of_comments_has_no_failures(log_file: Callable[..., Path]) -> None:
    assert read_failures(log_file("# quiet\n\n"), NAMES) == ()


#: A line, the field, and what is said of it.
WRONG: dict[str, tuple[str, str | None, str]] = {
    "two words": ("10 n01", None, "2 words instead of 3 or 4: write TIME NODES DURATION [down|drain]"),
    "five words": ("10 n01 5 down again", None, "5 words instead of 3 or 4: "),
    "a time of letters": ("noon n01 5", "TIME", "'noon' is no time: write seconds after"),
    "a negative time": ("-5 n01 5", "TIME", "'-5' is no time: "),
    "a fraction": ("0.5 n01 5", "TIME", "'0.5' is no time: "),
    "no moment at all": ("UNLIMITED n01 5", "TIME", "'UNLIMITED' is no time: "),
    "a date": ("2022-01-01T00:00:00 n01 5", "TIME", "'2022-01-01T00:00:00' is no time: "),
    "digits that are none of ours": ("\u0663 n01 5", "TIME", "'\u0663' is no time: "),
    "a superscript": ("\u00b2 n01 5", "TIME", "'\u00b2' is no time: "),
    "a time beyond reason": ("9" * 40 + " n01 5", "TIME", f"'{'9' * 40}' is no time: "),
    "a time that no line could hold": ("9" * 9000 + " n01 5", "TIME", f"'{'9' * 60}' is no time: "),
    "no duration": ("10 n01 long", "DURATION", "'long' is no duration: write seconds or days-hours:minutes:seconds"),
    "an instant": ("10 n01 0", "DURATION", "'0' is no duration: "),
    "an instant of Slurm's": ("10 n01 0-00:00:00", "DURATION", "'0-00:00:00' is no duration: "),
    "a negative duration": ("10 n01 -1", "DURATION", "'-1' is no duration: "),
    "a duration beyond reason": ("10 n01 36501-0", "DURATION", "'36501-0' is no duration: "),
    "an unknown kind": ("10 n01 5 reboot", "kind", "'reboot' is none of down, drain"),
    "an unknown node": ("10 n04 5", "NODES", "the machine has no node 'n04': name nodes of slurm.conf, such as n01"),
    "an unknown node of a list": ("10 n[03-04] 5", "NODES", "the machine has no node 'n04': "),
    "a width that is not the nodes'": ("10 n[1-2] 5", "NODES", "the machine has no node 'n1': "),
    "half a list": ("10 n[01-02 5", "NODES", "'n[01-02' is not a list of nodes"),
    "the wrong way round": ("10 n[02-01] 5", "NODES", "'n[02-01]' is not a list of nodes: "),
    "binary data": ("\x7fELF\0\0", None, "1 words instead of 3 or 4: "),
}


@pytest.mark.parametrize(("line", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_bad_line_is_named(log_file: Callable[..., Path], line: str, field: str | None, problem: str) -> None:
    path = log_file(f"# so far, so good\n5 n01 5\n{line}\n5 n01 5\n")
    with pytest.raises(InputError) as caught:
        read_failures(path, NAMES)
    error = caught.value
    assert (error.path, error.line, error.field) == (path, 3, field)
    assert error.problem.startswith(problem)
    assert "\n" not in str(error)


def test_the_only_node_is_told_by_name(log_file: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"the machine has no node 'n01': its only node is processors"):
        read_failures(log_file("5 n01 5\n"), ["processors"])


@pytest.mark.parametrize("content", [None, gzip.compress(TEXT.encode())[:-9]], ids=["no file", "half a gzip file"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "failures.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_failures(path, NAMES)
    assert caught.value.path == path


# ---- states of nodes ----------------------------------------------------------------------------------------------


#: Failures of one node, and when it changes to what.
STATES_OF_A_NODE: dict[str, tuple[list[Failure], list[tuple[int, NodeState]]]] = {
    "one": ([failure(10, 5)], [(10, DOWN), (15, UP)]),
    "for ever": ([failure(10, None), failure(20, 5)], [(10, DOWN)]),
    "one within the other": ([failure(10, 20), failure(15, 5)], [(10, DOWN), (30, UP)]),
    "one after the beginning of the other": ([failure(15, 20), failure(10, 10)], [(10, DOWN), (35, UP)]),
    "the same twice": ([failure(10, 5), failure(10, 5)], [(10, DOWN), (15, UP)]),
    "without a break": ([failure(10, 5), failure(15, 5)], [(10, DOWN), (20, UP)]),
    "with a break": ([failure(10, 5), failure(16, 5)], [(10, DOWN), (15, UP), (16, DOWN), (21, UP)]),
    "a drain": ([failure(10, 5, DRAIN)], [(10, DRAIN), (15, UP)]),
    "a drain within a down": ([failure(10, 20), failure(15, 5, DRAIN)], [(10, DOWN), (30, UP)]),
    "a down within a drain": (
        [failure(10, 20, DRAIN), failure(15, 5)],
        [(10, DRAIN), (15, DOWN), (20, DRAIN), (30, UP)],
    ),
    "a down that a drain outlasts": ([failure(10, 10), failure(15, 15, DRAIN)], [(10, DOWN), (20, DRAIN), (30, UP)]),
    "a drain that a down outlasts": ([failure(10, 10, DRAIN), failure(15, 15)], [(10, DRAIN), (15, DOWN), (30, UP)]),
    "a node named twice": ([failure(10, 5, DOWN, "n01", "n01")], [(10, DOWN), (15, UP)]),
}


@pytest.mark.parametrize(("failures", "changes"), STATES_OF_A_NODE.values(), ids=STATES_OF_A_NODE)
def test_overlapping_failures(failures: list[Failure], changes: list[tuple[int, NodeState]]) -> None:
    found = node_changes(failures, [Node(name="n01")], 1000)
    assert found == [NodeChange(1000 + time, "n01", state) for time, state in changes]


@pytest.mark.parametrize(
    ("configured", "changes"), [(DRAIN, [(10, DOWN), (15, DRAIN)]), (DOWN, [])], ids=["drained", "down"]
)
def test_a_node_comes_back_to_what_slurm_conf_says(configured: NodeState, changes: list[tuple[int, NodeState]]) -> None:
    found = node_changes([failure(10, 5), failure(30, 5, DRAIN)], [Node(name="n01", state=configured)], 0)
    assert found == [NodeChange(time, "n01", state) for time, state in changes]


def test_nodes_change_by_time_and_then_in_the_order_of_the_machine() -> None:
    nodes = [Node(name=name) for name in ("b", "c", "a")]
    found = node_changes([failure(10, 5, DOWN, "a", "c"), failure(5, 5, DRAIN, "b")], nodes, 0)
    assert [(change.time, change.name) for change in found] == [
        (5, "b"), (10, "b"), (10, "c"), (10, "a"), (15, "c"), (15, "a")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (failure(10, 5, DOWN, "n99"), "nodes: the machine has no node 'n99': its only node is n01"),
        (failure(10, 0), "duration: 0 s is no duration: a failure lasts at least 1 s"),
    ],
    ids=["node", "duration"],
)
def test_failures_made_by_a_program_are_checked_too(wrong: Failure, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        node_changes([wrong], [Node(name="n01")], 0)
    assert str(caught.value) == problem
