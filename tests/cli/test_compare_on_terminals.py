"""What `rota compare` prints on a real terminal: as wide as that is, and nothing cut off."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from rota.cli import compare_tables as tables
from rota.results.report.comparison import ClassRow
from rota.results.report.intervals import Interval
from rota.results.report.metrics import MEAN_WAIT, Difference, MetricRow

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

NAMES = ("sched/builtin", "sched/conservative")


def on_terminal(columns: int, *words: object) -> list[str]:
    """Run ``rota`` on a terminal of so many columns; give the lines, without styles."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    command = [sys.executable, "-m", "rota", *map(str, words)]
    env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**env, "TERM": "xterm"}) as process:
        os.close(theirs)
        text = b""
        with suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 1 << 16):
                text += piece
        os.close(ours)
        assert process.wait() == 0, text
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).splitlines()


@pytest.mark.parametrize("columns", [60, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 180))])
def test_it_is_as_wide_as_the_terminal(columns: int, rota: Rota, small_log: Path, tmp_path: Path) -> None:
    for name in NAMES:
        assert rota("replay", small_log, "--scheduler", name, "--out", tmp_path / name.replace("/", "-")).status == 0
    lines = on_terminal(columns, "compare", *(tmp_path / name.replace("/", "-") for name in NAMES))
    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > 100 or columns < 180, "there is room for the legend in one line"
    assert all(any(name in line for line in lines) for name in NAMES) or columns < 100
    assert not any("…" in line for line in lines), "cells are folded where they have no room"


@pytest.mark.parametrize("width", range(76, 90))
def test_room_is_taken_from_heads_and_labels_and_not_from_figures(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The head of the first column is wider than its labels: where the table just fits, the head is folded."""
    change = Difference(value=1041.0, interval=Interval(low=402.0, high=1751.0), is_marked=True)
    wait = MetricRow(metric=MEAN_WAIT, values=(8837.0, 9878.0), differences=(None, change), ratios=(None, 1.12))
    row = ClassRow(label="1 – 4 h", jobs=8962, wait=wait, slowdown=wait)
    for table in tables.classes("time", ["sched/easy", "sched/conservative"], [row], width):
        Console(width=width).print(table)
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= width
    assert "+00:06:42 to +00:29:11" in told


def test_large_figures_have_commas(rota: Rota, tmp_path: Path) -> None:
    """A long job, and twenty short ones that wait for it: slowdowns are above thousand."""
    jobs = [(1, 0, 100_000), *((number, number, 10) for number in range(2, 22))]
    lines = [f"{number} {submit} -1 {run} 1 -1 -1 1 {run} -1 1 1 1 1 1 -1 -1 -1" for number, submit, run in jobs]
    (tmp_path / "log.swf").write_text("; MaxProcs: 1\n" + "\n".join(lines) + "\n")
    for name in NAMES:
        folder = tmp_path / name.replace("/", "-")
        assert rota("replay", tmp_path / "log.swf", "--scheduler", name, "--out", folder).status == 0
    lines = on_terminal(180, "compare", *(tmp_path / name.replace("/", "-") for name in NAMES))
    (slowdown,) = (line for line in lines if "Mean bounded slowdown" in line)
    assert re.search(r" 9,53\d\.\d\d  ", slowdown), slowdown
