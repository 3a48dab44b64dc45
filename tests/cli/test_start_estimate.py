"""What ``rota explain`` says of a job that waits: for whom, until when, and what would start it sooner."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

CONF = """\
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE
PartitionName=other Nodes=n4 MaxTime=2:00:00
"""
#: One job leaves a processor of each of three nodes; one waits for all of these, and one stands behind it.
JOBS = """\
-dt 0 -e submit_batch_job | -sim-walltime 600 --uid=ann -J runs -N 3 -n 9 -t 10 x
-dt 50 -e submit_batch_job | -sim-walltime 60 --uid=ann -J wide -N 3 -n 12 -t 10 x
-dt 50 -e submit_batch_job | -sim-walltime 60 --uid=bob -J long -n 2 -t {limit} x
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "log.events").write_text(JOBS.format(limit=60))
    return tmp_path


def estimate(rota: Rota, lab: Path, job: int, *more: str) -> Any:
    options = ("--config", lab / "slurm.conf", "--at", "50", "--json", *more)
    outcome = rota("explain", job, lab / "log.events", *options)
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)["start_estimate"]


def test_what_a_job_waits_for(rota: Rota, lab: Path) -> None:
    # The first runs from 0 to 600 at the latest and has processors of all that the second needs.
    wide = estimate(rota, lab, 2)
    assert (wide["start"], wide["nodes"]) == (600, "n[1-3]")
    assert wide["waits_for"] == [{"job_id": 1, "user": "ann", "end_time": 600}]


def test_a_start_beyond_the_window_of_backfill_is_told_too(rota: Rota, lab: Path) -> None:
    """Backfill plans a day ahead, and looks for no later start; who asks wants to know all the same."""
    (lab / "log.events").write_text(
        JOBS.format(limit=60).replace("-J runs -N 3 -n 9 -t 10", "-J runs -N 3 -n 9 -t 3-0")
    )
    wide = estimate(rota, lab, 2)
    assert (wide["start"], wide["nodes"]) == (3 * 86400, "n[1-3]")


def test_what_would_start_sooner(rota: Rota, lab: Path) -> None:
    # The wide job has the nodes from 600 to 1200. Until 600 there are nine minutes; partition other is empty.
    long = estimate(rota, lab, 3)
    assert long["start"] == 1200
    assert sorted((one["what"], one["value"], one["start"]) for one in long["sooner"]) == [
        ("partition", "other", 50),
        ("time limit", 540, 50),
    ]


def test_fewer_processors_may_help(rota: Rota, lab: Path) -> None:
    # Of twelve processors on three nodes nine are in use: three are free, one on each.
    wide = estimate(rota, lab, 2)
    assert {"what": "processors", "value": 3, "start": 50} in wide["sooner"]


@pytest.mark.parametrize(
    ("change", "now"), [("-t 60", False), ("-t 9", True), ("-t 10", False), ("-p other -t 60", True)]
)
def test_what_is_said_is_true(rota: Rota, lab: Path, change: str, now: bool) -> None:
    (lab / "log.events").write_text(JOBS.replace("-t {limit}", change))
    options = ("--config", lab / "slurm.conf", "--at", "50", "--json")
    planned = json.loads(rota("plan", lab / "log.events", *options).out)
    assert (planned[1]["start"] == 0) is now


def test_sentences(rota: Rota, lab: Path) -> None:
    text = rota("explain", "3", lab / "log.events", "--config", lab / "slurm.conf", "--at", "50").out
    assert "After all jobs before it, it fits at 1970-01-01 00:20:00 on n3, if jobs run to their time limits:\n" in text
    assert "nothing is learned for that from jobs that have ended.\n" in text
    assert "It waits for job 1 of ann, which ends by 1970-01-01 00:10:00.\n" in text
    assert "With a time limit of 9:00 it would start now.\n" in text
    assert "With partition other it would start now.\n" in text


def test_on_interchangeable_processors(rota: Rota, tmp_path: Path) -> None:
    # 6 of 8 processors until 100; then 8 for 100 s; the third waits for both, unless it fits before the second.
    rows = [(1, 0, 100, 6, 100), (2, 10, 100, 8, 100), (3, 10, 100, 2, 600)]
    lines = [f"{n} {at} -1 {run} {cpus} -1 -1 {cpus} {limit} -1 1 1 1 1 1 1 -1 -1" for n, at, run, cpus, limit in rows]
    (tmp_path / "log.swf").write_text("\n".join(["; MaxProcs: 8", *lines]) + "\n")
    outcome = rota("explain", "3", tmp_path / "log.swf", "--at", "10", "--json", "--scheduler", "sched/builtin")
    found = json.loads(outcome.out)["start_estimate"]
    assert (outcome.status, found["nodes"]) == (0, "")
    # Plans are on a grid of 60 s, and end too early as with Slurm 22.05: the second is planned from 120 to 180.
    assert found["start"] == 180
    assert found["sooner"] == [{"what": "time limit", "value": 60, "start": 10}]


def test_a_job_that_runs_has_none(rota: Rota, lab: Path) -> None:
    assert set(map(str, estimate(rota, lab, 1).values())) == {"None", "", "[]"}
