"""``--reservations FILE``, and that what is wrong in it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

EVENTS = """\
-dt 0 -e submit_batch_job | -sim-walltime 900 --uid=ann -N 1 -t 20 x
-dt 1 -e submit_batch_job | -sim-walltime 900 --uid=bob -N 2 -t 20 x
-dt 2 -e submit_batch_job | -sim-walltime 300 --uid=ann -N 1 -t 10 --reservation=course x
"""
GOOD = "ReservationName=course StartTime=0-01:00:00 Duration=60 Nodes=n2 Users=ann\n"


def scene(tmp_path: Path, reservations: str) -> list[object]:
    conf = "ClusterName=c\nSelectType=select/linear\nNodeName=n[1-2]\nPartitionName=p Nodes=ALL Default=YES\n"
    for name, text in (("log.events", EVENTS), ("slurm.conf", conf), ("reservations", reservations)):
        (tmp_path / name).write_text(text)
    return [tmp_path / "log.events", "--config", tmp_path / "slurm.conf", "--reservations", tmp_path / "reservations"]


@pytest.mark.parametrize("scheduler", ["sched/builtin", "sched/backfill", "sched/easy", "sched/conservative"])
def test_jobs_run_around_a_reservation_and_in_it(rota: Rota, tmp_path: Path, scheduler: str) -> None:
    """From 1000 to 2200 node n1 is under repair; job 2 wants both nodes for 20 minutes, and has them after that."""
    given = scene(tmp_path, "ReservationName=repair StartTime=1000 Duration=20 Nodes=n1 Flags=MAINT # soon\n" + GOOD)
    outcome = rota("replay", *given, "--scheduler", scheduler, "--out", tmp_path / "out")
    assert (outcome.status, outcome.err) == (0, "")
    jobs = pq.read_table(tmp_path / "out" / "jobs.parquet").to_pylist()
    assert [(job["start"], job["nodes"]) for job in jobs] == [(0, "n2"), (jobs[1]["start"], "n[1-2]"), (3600, "n2")]
    assert 2200 <= jobs[1]["start"] <= 2220  # backfill's grid, or its next cycle
    assert "reservations=reservations" in outcome.out


@pytest.mark.parametrize("asked", ["NodeCnt=1", "NodeCnt=1 PartitionName=p", "NodeCnt=9 PartitionName=p"])
def test_a_number_of_nodes(rota: Rota, tmp_path: Path, asked: str) -> None:
    """Node n2 is reserved at that time, so it is n1, however many more are asked for."""
    given = scene(tmp_path, f"{GOOD}ReservationName=x StartTime=3700 Duration=20 {asked} Users=ann\n")
    with (tmp_path / "log.events").open("a") as log:
        log.write("-dt 3 -e submit_batch_job | -sim-walltime 300 --uid=ann -N 1 -t 10 --reservation=x x\n")
    outcome = rota("replay", *given, "--out", tmp_path / "out")
    assert (outcome.status, outcome.err) == (0, "")
    jobs = pq.read_table(tmp_path / "out" / "jobs.parquet").to_pylist()
    assert (jobs[3]["start"], jobs[3]["nodes"]) == (3700, "n1")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Name=x", "Name: Unknown parameter Name=x."),
        ("ReservationName=x Duration=5 Nodes=n1", "StartTime: A start time must be given."),
        ("ReservationName=x StartTime=5 Nodes=n1", "EndTime: An end time or duration must be given."),
        ("ReservationName=x StartTime=5 Duration=5", "Nodes: CoreCnt, Nodes, NodeCnt, "),
        ("ReservationName=x StartTime=5 Duration=5 Nodes=n1 NodeCnt=1 Users=a", "NodeCnt: goes without Nodes"),
        ("ReservationName=x StartTime=5 Duration=5 NodeCnt=0 Users=a", "Nodes: CoreCnt, Nodes, NodeCnt, "),
        ("ReservationName=x StartTime=5 Duration=5 PartitionName=p Features=f Users=a", "Features: goes with NodeCnt"),
        (
            "ReservationName=x StartTime=5 Duration=5 NodeCnt=1 Features=f Users=a",
            "ReservationName: Invalid feature specification",
        ),
        (
            "ReservationName=x StartTime=5 Duration=5 Nodes=n9 Flags=MAINT",
            "Nodes: Invalid node name specified: the machine has no node 'n9'",
        ),
        (
            "ReservationName=x StartTime=5 Duration=5 PartitionName=q Flags=MAINT",
            "PartitionName: Invalid partition name specified: there is no partition 'q'",
        ),
        (
            "ReservationName=x StartTime=5 Duration=5 Nodes=ALL Flags=STATIC",
            "Flags: STATIC_ALLOC of a reservation is not supported by rota.",
        ),
        (
            "ReservationName=x StartTime=5 Duration=5 Nodes=ALL",
            "Users: Either Users/Groups and/or Accounts must be specified.",
        ),
        ("ReservationName=x StartTime=soon Duration=5 Nodes=ALL Users=a", "StartTime: 'soon' "),
        ("ReservationName=x StartTime=5 Duration=long Nodes=ALL Users=a", "Duration: Invalid duration Duration=long."),
        ("StartTime=5 Duration=5 Nodes=ALL Users=a", "ReservationName: a reservation needs a name"),
        (
            "ReservationName=course StartTime=5 Duration=5 Nodes=n1 Users=a",
            "ReservationName: Duplicate reservation name",
        ),
        (
            "ReservationName=x StartTime=4000 Duration=5 Nodes=n2 Users=a",
            "ReservationName: Requested reservation overlaps",
        ),
    ],
)
def test_what_is_wrong_is_named(rota: Rota, tmp_path: Path, line: str, problem: str) -> None:
    outcome = rota("replay", *scene(tmp_path, f"{GOOD}{line}\n"))
    assert outcome.status != 0
    assert f"{tmp_path / 'reservations'}:2: {problem}" in outcome.err
