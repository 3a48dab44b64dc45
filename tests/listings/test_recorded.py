"""Every recorded command prints the same here: see data/README.md for where the text comes from."""

from __future__ import annotations

import pytest

from rota.listings import View, render

from .conftest import recording


def _lines(text: str) -> list[str]:
    """Put the two held jobs, of one priority, in a fixed order: Slurm's is that of its own memory."""
    lines = text.splitlines()
    held = [index for index, line in enumerate(lines) if line.split()[:1] in (["22"], ["7"])]
    for index, line in zip(held, sorted(lines[index] for index in held), strict=True):
        lines[index] = line
    return lines


@pytest.mark.parametrize("command", [one for one in recording("fair-tree.txt") if not one.startswith("squeue")])
def test_text_is_slurms(command: str, fair_tree: dict[str, str], fair_tree_view: View) -> None:
    assert render(command, fair_tree_view) == fair_tree[command]


@pytest.mark.parametrize("command", [one for one in recording("fair-tree.txt") if one.startswith("squeue")])
def test_squeue_is_slurms(command: str, fair_tree: dict[str, str], fair_tree_view: View) -> None:
    assert _lines(render(command, fair_tree_view)) == _lines(fair_tree[command])


@pytest.mark.parametrize("command", list(recording("classic.txt")))
def test_classic_text_is_slurms(command: str, classic: dict[str, str], classic_view: View) -> None:
    assert render(command, classic_view) == classic[command]
