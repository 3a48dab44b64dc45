"""The figures of an independent simulator, row by row: ``data/reference.tsv``, see ``data/README.md``."""

from __future__ import annotations

import csv
from dataclasses import replace as with_changes
from functools import cache
from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable
from rota.replays import ReplayOptions, Scenario, replay
from rota.workload import FILTERS, read_swf

from .conftest import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from rota.workload import Workload

    Row = dict[str, str]

TABLE = DATA / "reference.tsv"
#: Logs apart from the one that comes with rota.
FILES = {
    "SDSC-SP2": "SDSC-SP2.sc15-filtered54006.swf.gz",
    "SDSC-BLUE41": "SDSC-BLUE-2000-4.1-cln.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.swf.gz",
    "theta_2022": "theta_2022.swf.gz",
}
SCHEDULERS = {"fcfs": "sched/builtin", "easy": "sched/easy", "conservative": "sched/conservative"}
EXACT = ("jobs", "max_wait_s", "makespan_s")
#: The table has six decimals.
CLOSE = ("mean_wait_s", "mean_bounded_slowdown", "utilisation")
#: How far two numbers may differ, relative to their size.
TOLERANCE = 1e-6


def read_table() -> list[Row]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def name_of(row: Row) -> str:
    return "-".join(row[key] for key in ("trace", "policy", "queue_order", "backfill_order", "estimate", "pass_per"))


#: One of each kind: other rows of these take other orders, or are those of test_golden.py. The rest is slow.
FAST = {
    "KTH-SP2-easy-sjf-fcfs-requested-instant",
    "KTH-SP2-fcfs-sjf---requested-instant",
}
#: Of the largest logs, on which a row takes half a minute, what other rows are compared with; others show the rest too.
LARGEST = {"SDSC-BLUE41", "HPC2N"}
OF_LARGEST = {"fcfs-fcfs---requested-event", "easy-fcfs-fcfs-requested-event"}
#: Orders that take long where nothing is backfilled, and which EASY shows too.
LONG = {"wfp3", "unicep", "f1", "f2", "f3"}


def marks_of(row: Row) -> tuple[pytest.MarkDecorator, ...]:
    if name_of(row) in FAST:
        return ()
    if row["trace"] in LARGEST:
        is_longest = name_of(row).removeprefix(f"{row['trace']}-") not in OF_LARGEST
    else:
        is_longest = row["policy"] == "fcfs" and row["queue_order"] in LONG
    return (pytest.mark.slow, pytest.mark.longest) if is_longest else (pytest.mark.slow,)


ROWS = [pytest.param(row, id=name_of(row), marks=marks_of(row)) for row in read_table()]


@cache
def filtered(path: Path, procs: int) -> Workload:
    return FILTERS["sc15"](read_swf(path), procs)


@pytest.fixture
def log(row: Row, request: pytest.FixtureRequest) -> Workload:
    """The log that a row is about."""
    if row["trace"] == "KTH-SP2":
        bundled: Workload = request.getfixturevalue("kth")
        return bundled
    traces: Path = request.getfixturevalue("traces")
    return filtered(traces / FILES[row["trace"]], int(row["procs"]))


@pytest.mark.parametrize("row", ROWS)
def test_row(row: Row, log: Workload, examples: Path) -> None:
    parameters = "easy_order=sjf" if row["backfill_order"] == "sjf" else ""
    config = with_changes(interchangeable(int(row["procs"])), parameters={"schedulerparameters": parameters})
    options = ReplayOptions(
        scheduler=SCHEDULERS[row["policy"]],
        priority="priority/basic" if row["queue_order"] == "fcfs" else f"priority/{row['queue_order']}",
        plugin_dir=[examples],
        estimate=row["estimate"],
        pass_per=row["pass_per"],
        check=True,
    )
    figures = replay(Scenario(log, config, options)).summary.as_dict()
    assert {key: figures[key] for key in EXACT} == {key: int(row[key]) for key in EXACT}
    expected = {key: float(row[key]) for key in CLOSE}
    assert {key: figures[key] for key in CLOSE} == pytest.approx(expected, rel=TOLERANCE, abs=0)


def test_there_are_62_rows() -> None:
    names = {name_of(row) for row in read_table()}
    assert len(names) == 62
    assert names >= FAST


def test_the_bundled_table_is_the_published_one(traces: Path) -> None:
    assert TABLE.read_bytes() == (traces / "reference.tsv").read_bytes()
