"""``--node-failures``, through the whole command: the same bytes, the queue while a node is down, and what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rota.results.schedule import STATES
from rota.results.store import read_result

from .conftest import JOBS as JOBS_OF_SMALL_LOG
from .conftest import kth_head

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota

SLURM_CONF = """\
ClusterName=four
JobRequeue=0
SelectType=select/linear
NodeName=n[1-4] CPUs=1
PartitionName=main Nodes=ALL Default=YES
"""
#: The example of tests/replay/test_failures.py, where it is worked out job by job.
JOBS = """\
-dt 0 -e submit_batch_job | -sim-walltime 100 --uid=ann -n 2 -t 2:00 --requeue job.sh
-dt 0 -e submit_batch_job | -sim-walltime 50 --uid=bob -n 1 -t 1:00 job.sh
-dt 5 -e submit_batch_job | -sim-walltime 30 --uid=ann -n 1 -t 0:30 job.sh
-dt 20 -e submit_batch_job | -sim-walltime 20 --uid=bob -n 1 -t 1:00 job.sh
-dt 60 -e submit_batch_job | -sim-walltime 10 --uid=ann -n 4 -t 1:00 job.sh
-dt 145 -e submit_batch_job | -sim-walltime 100 --uid=bob -n 1 -t 4:00 job.sh
-dt 160 -e submit_batch_job | -sim-walltime 20 --uid=ann -n 4 -t 1:00 job.sh
"""
FAILURES = """\
10   n4      30         drain
40   n2      0-00:01:00
200  n1      1:40
400  n[1-4]  -
"""


@pytest.fixture
def scene(tmp_path: Path) -> list[str]:
    """The arguments of the example."""
    for name, content in (("slurm.conf", SLURM_CONF), ("jobs.events", JOBS), ("failures.txt", FAILURES)):
        (tmp_path / name).write_text(content)
    words = [str(tmp_path / name) for name in ("jobs.events", "slurm.conf", "failures.txt")]
    return [words[0], "--config", words[1], "--scheduler", "sched/easy", "--node-failures", words[2]]


def shown(outcome: Outcome) -> str:
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return outcome.out


def rows(text: str) -> list[list[str]]:
    """Give the lines of squeue as words, without partition and name."""
    return [[line.split()[0], *line.split()[3:]] for line in text.splitlines()[1:]]


# ---- what becomes of the jobs -------------------------------------------------------------------------------------


def test_the_example(rota: Rota, scene: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown(rota("replay", *scene, "--out", out, "--check"))
    lines = gzip.decompress((out / "schedule.swf.gz").read_bytes()).decode().splitlines()
    jobs = [line.split() for line in lines if not line.startswith(";")]
    # Job, submission, wait, run and status: 1 ran to its end, 0 did not.
    assert [[int(words[place]) for place in (0, 1, 2, 3, 10)] for words in jobs] == [
        [1, 0, 40, 100, 1],
        [2, 0, 0, 50, 1],
        [3, 5, 0, 30, 1],
        [4, 20, 30, 20, 1],
        [5, 60, 80, 10, 1],
        [6, 145, 5, 50, 0],
        [7, 160, 140, 20, 1],
    ]
    # What tells this result from one without failures, wherever the file lies.
    assert read_result(out).options == "node_failures=failures.txt"
    assert str(tmp_path) not in "".join(lines)


def test_squeue_while_a_node_is_down(rota: Rota, scene: list[str]) -> None:
    assert rows(shown(rota("replay", *scene, "--until", "30"))) == [
        ["4", "bob", "PD", "0:00", "1", "(Resources)"],  # n4 drains, and is still given to job 3
        ["1", "ann", "R", "0:30", "2", "n[1-2]"],
        ["2", "bob", "R", "0:30", "1", "n3"],
        ["3", "ann", "R", "0:25", "1", "n4"],
    ]
    assert rows(shown(rota("replay", *scene, "--until", "40"))) == [
        ["4", "bob", "PD", "0:00", "1", "(Resources)"],
        ["1", "ann", "R", "0:00", "2", "n[1,4]"],  # again, from its beginning
        ["2", "bob", "R", "0:40", "1", "n3"],
    ]
    assert rows(shown(rota("replay", *scene, "--until", "99"))) == [
        ["5", "ann", "PD", "0:00", "4", "(ReqNodeNotAvail,", "UnavailableNodes:n2)"],
        ["1", "ann", "R", "0:59", "2", "n[1,4]"],
    ]


def test_the_one_node_has_the_name_that_squeue_prints(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    failures = tmp_path / "failures.txt"
    quiet = shown(rota("replay", small_log, "--until", "99"))
    (name,) = {words[-1] for words in rows(quiet) if words[2] == "R"}
    failures.write_text(f"100 {name} 50\n")
    options = [small_log, "--node-failures", failures]
    assert shown(rota("replay", *options, "--until", "99")) == quiet
    down = rows(shown(rota("replay", *options, "--until", "100")))
    assert down
    assert {words[2] for words in down} == {"PD"}
    # Nobody but the jobs that come meanwhile: what ran is lost, for a SWF log does not ask to be queued again.
    back = rows(shown(rota("replay", *options, "--until", "150")))
    assert {words[3] for words in back if words[2] == "R"} == {"0:00"}
    summary = json.loads(shown(rota("replay", *options, "--json", "--check")))
    assert summary["jobs"] == JOBS_OF_SMALL_LOG


def test_other_commands_know_of_failures_too(rota: Rota, scene: list[str]) -> None:
    plan = json.loads(shown(rota("plan", *scene, "--at", "60", "--json")))
    # Job 5 needs n2, which is down: no start can be planned.
    assert [(one["job"], one["state"], one["start"]) for one in plan] == [(5, "PENDING", None)]
    assert "it started after 0:30" in shown(rota("explain", "4", *scene, "--at", "60"))


# ---- the same bytes -----------------------------------------------------------------------------------------------


def faults(nodes: int) -> str:
    """Write failures of two weeks, without chance: nodes in turn, for long and short, some at once, a few for good."""
    lines = [
        f"{3600 * i} n[{i % nodes + 1:03}-{min(i % nodes + i % 9 + 1, nodes):03}] "
        f"{'-' if i % 97 == 96 else 600 + 7919 * i % 90_000} {('down', 'drain', 'down')[i % 3]}"
        for i in range(1, 24 * 14)
    ]
    return "\n".join(lines)


def results(folder: Path, scheduler: str, out: str, **environment: str) -> dict[str, bytes]:
    """Replay in a process of its own; give the files of the schedule."""
    words = ["head.swf", "--config", "slurm.conf", "--scheduler", scheduler, "--node-failures", "failures.gz"]
    subprocess.run(
        [sys.executable, "-m", "rota", "replay", *words, "--check", "--out", out],
        check=True,
        capture_output=True,
        cwd=folder,
        env=os.environ | environment,
    )
    return {name: (folder / out / name).read_bytes() for name in ("schedule.swf.gz", "jobs.parquet")}


@pytest.mark.parametrize(
    "scheduler",
    ["sched/easy", *(pytest.param(one, marks=pytest.mark.slow) for one in ("sched/conservative", "sched/backfill"))],
)
@pytest.mark.slow
def test_the_same_failures_give_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    kth_head(tmp_path / "head.swf", 800)
    conf = SLURM_CONF.replace("n[1-4]", "n[001-100]")
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "failures.gz").write_bytes(gzip.compress(faults(90).encode()))
    first = results(tmp_path, scheduler, "first", PYTHONHASHSEED="0", TZ="UTC")
    second = results(tmp_path, scheduler, "second", PYTHONHASHSEED="1", TZ="Asia/Tokyo")
    assert [name for name in first if first[name] != second[name]] == []
    schedule = read_result(tmp_path / "first").schedule
    states = [STATES[code].value for code in schedule.state.tolist()]
    # The failures matter, and every job ends.
    assert states.count("NODE_FAIL") > 20
    assert states.count("COMPLETED") > 500
    assert not {"PENDING", "RUNNING"} & set(states)
    assert (schedule.end >= schedule.start).all()
    assert (schedule.start >= schedule.submit).all()


# ---- what is wrong ------------------------------------------------------------------------------------------------

#: Content of the file, and the line.
WRONG: dict[str, tuple[str | bytes, str]] = {
    "no such node": ("# comment\n10 n5 5\n", "{path}:2: NODES: the machine has no node 'n5': name nodes of slurm.conf"),
    "a bad time": ("soon n1 5\n", "{path}:1: TIME: 'soon' is no time: write seconds after the log's start, or "),
    "a bad duration": ("10 n1 soon\n", "{path}:1: DURATION: 'soon' is no duration: write seconds or "),
    "a bad kind": ("10 n1 5 sideways\n", "{path}:1: kind: 'sideways' is none of down, drain"),
    "a word too few": ("10 n1\n", "{path}:1: 2 words instead of 3 or 4: write TIME NODES DURATION [down|drain]"),
    "half a gzip file": (gzip.compress(b"10 n1 5\n")[:-9], "{path}: the gzip data is cut short: get the file again"),
}


@pytest.mark.parametrize(("content", "problem"), WRONG.values(), ids=WRONG)
def test_a_bad_file_stops_before_anything_is_replayed(
    rota: Rota, scene: list[str], tmp_path: Path, content: str | bytes, problem: str
) -> None:
    path = tmp_path / "failures.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    # A plugin that is not there would be the next thing to complain of.
    outcome = rota("replay", *scene, "--scheduler", "sched/none_such", "--out", tmp_path / "out")
    assert outcome.problem.startswith(problem.format(path=path))
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(rota: Rota, scene: list[str], tmp_path: Path) -> None:
    (tmp_path / "failures.txt").unlink()
    assert rota("replay", *scene).problem == f"{tmp_path}/failures.txt: no such file: check the name"
