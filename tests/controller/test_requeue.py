"""``scontrol requeue`` of jobs that have ended. Expected texts and states are those of a Slurm 22.05.8.

There a requeued job waits two minutes before it can start, and each run is a record of its own in ``sacct -D``.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDED = Path(__file__).parent / "recorded"
_CONF = "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("requeue"), _CONF) as found:
        yield found


def test_answers_about_arrays_as_recorded(tmp_path: Path) -> None:
    conf = "FirstJobId=1001\nSelectType=select/cons_tres\nSchedulerParameters=requeue_delay=120\n" + _CONF.replace(
        "1-2", "1-4"
    )
    with LiveCluster(tmp_path, conf) as cluster:
        told = cluster.run("bash", str(_RECORDED / "arrays.sh")).stdout
    assert told.splitlines() == (_RECORDED / "arrays.txt").read_text().splitlines()


def _ended(cluster: LiveCluster, *words: str, wrap: str = "echo run $SLURM_RESTART_COUNT") -> str:
    """Run a job; give its id."""
    job = str(cluster.submit(*words, "--wrap", wrap))
    cluster.wait(lambda: int(job) in cluster.ended())
    return job


def _states(cluster: LiveCluster, job: str) -> list[list[str]]:
    asked = ("squeue", "-h", "-t", "all", "-j", job, "-o", "%i %T"), ("sacct", "-nPXj", job, "-o", "JobID,State")
    return [cluster.run(*words).stdout.replace("|", " ").splitlines() for words in asked]


def _requeue(cluster: LiveCluster, *words: str) -> str:
    done = cluster.run("scontrol", *words, check=False)
    assert bool(done.stderr) == (done.returncode == 1)
    return done.stderr


def test_a_completed_job_runs_again(cluster: LiveCluster) -> None:
    job = _ended(cluster, "-o", "again")
    assert _requeue(cluster, "requeue", job) == ""
    cluster.wait(lambda: (cluster.directory / "again").read_text() == "run\nrun 1\n")
    cluster.idle()
    assert _states(cluster, job) == [[f"{job} COMPLETED"]] * 2
    assert " Restarts=1 " in cluster.run("scontrol", "show", "job", job).stdout
    assert _requeue(cluster, "requeue", job) == ""
    cluster.wait(lambda: (cluster.directory / "again").read_text() == "run\nrun 1\nrun 2\n")
    cluster.idle()


def test_held_then_released_after_a_restart(cluster: LiveCluster) -> None:
    job = _ended(cluster, "-o", "held", wrap="echo run $SLURM_RESTART_COUNT; exit 3")
    cluster.rota("down")
    cluster.up()
    assert _requeue(cluster, "requeuehold", job) == ""
    shown = cluster.run("scontrol", "show", "job", job).stdout
    assert "JobState=PENDING" in shown
    assert " Restarts=1 " in shown
    assert _states(cluster, job) == [[f"{job} PENDING"]] * 2
    cluster.kill()
    cluster.up()
    assert _states(cluster, job) == [[f"{job} PENDING"]] * 2
    cluster.run("scontrol", "release", job)
    cluster.wait(lambda: (cluster.directory / "held").read_text() == "run\nrun 1\n")
    cluster.idle()
    assert _states(cluster, job) == [[f"{job} FAILED"]] * 2


def test_a_held_job_that_was_cancelled_is_held(cluster: LiveCluster) -> None:
    job = str(cluster.submit("-H", "-o", "cancelled", "--wrap", "echo run $SLURM_RESTART_COUNT"))
    cluster.run("scancel", job)
    cluster.wait(lambda: _states(cluster, job)[0] == [f"{job} CANCELLED"])
    assert _requeue(cluster, "requeue", job) == ""
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%T %r").stdout == "PENDING JobHeldUser\n"
    cluster.run("scontrol", "release", job)
    cluster.wait((cluster.directory / "cancelled").exists)
    cluster.idle()


def test_a_job_that_was_cancelled_before_its_begin_time_waits_for_it(cluster: LiveCluster) -> None:
    job = str(cluster.submit("--begin=now+9000", "-o", "/dev/null", "--wrap", "true"))
    cluster.run("scancel", job)
    cluster.wait(lambda: _states(cluster, job)[0] == [f"{job} CANCELLED"])
    assert _requeue(cluster, "requeue", job) == ""
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%T %r").stdout == "PENDING BeginTime\n"
    cluster.run("scancel", job)


def test_only_what_has_not_completed(cluster: LiveCluster) -> None:
    job = _ended(cluster, "-o", "/dev/null")
    assert _requeue(cluster, "requeue", "incomplete", job) == ""
    assert _states(cluster, job)[0] == [f"{job} COMPLETED"]


def test_what_depends_on_it_waits_again(cluster: LiveCluster) -> None:
    job = _ended(cluster, "-o", "/dev/null")
    cluster.run("scontrol", "requeuehold", job)
    after = str(cluster.submit("-d", f"afterok:{job}", "-o", "/dev/null", "--wrap", "true"))
    assert cluster.run("squeue", "-h", "-j", after, "-o", "%r").stdout == "Dependency\n"
    cluster.run("scontrol", "release", job)
    cluster.wait(lambda: int(after) in cluster.ended())


def test_what_cannot_be_requeued(cluster: LiveCluster) -> None:
    job = _ended(cluster, "--no-requeue", "-o", "/dev/null")
    assert _requeue(cluster, "requeue", job) == f"Requested operation is presently disabled for job {job}\n"
    cluster.run("srun", "true")
    job = str(int(job) + 1)
    cluster.wait(lambda: int(job) in cluster.ended())
    assert _requeue(cluster, "requeue", job) == f"Only batch jobs are accepted or processed for job {job}\n"
    assert _requeue(cluster, "requeue", "999") == "Invalid job id specified for job 999\n"


def test_what_was_handed_in_is_not_kept_for_longer(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, f"MinJobAge=2\n{_CONF}") as cluster:
        job = _ended(cluster, "-o", "/dev/null")

        def kept() -> int:
            with closing(sqlite3.connect(cluster.state / "rota.db")) as database:
                return int(database.execute("SELECT count(*) FROM submissions").fetchone()[0])

        assert kept() == 1
        cluster.wait(lambda: kept() == 0)
        assert _requeue(cluster, "requeue", job) == f"Invalid job id specified for job {job}\n"


# ---- sacct -D ---------------------------------------------------------------------------------------------------


def _runs(cluster: LiveCluster, job: str, *words: str) -> list[str]:
    asked = "sacct", "-nP", *(words or ("-D",)), "-j", job, "-o", "JobID,State,ExitCode,NodeList"
    return cluster.run(*asked).stdout.splitlines()


def test_each_run_of_a_job_that_has_ended(cluster: LiveCluster) -> None:
    job = _ended(cluster, "-o", "/dev/null", "-w", "n1", wrap="srun true; exit 3")
    first = [f"{job}|FAILED|3:0|n1", f"{job}.batch|FAILED|3:0|n1", f"{job}.0|COMPLETED|0:0|n1"]
    assert _runs(cluster, job) == _runs(cluster, job, "-X", "-D") + first[1:] == first
    _requeue(cluster, "requeuehold", job)
    earlier = [f"{job}|REQUEUED|3:0|n1", *first[1:]]
    held = f"{job}|PENDING|0:0|None assigned"
    assert _runs(cluster, job) == [*earlier, held]
    assert _runs(cluster, job, "-X") == [held]
    cluster.kill()
    cluster.up()
    assert _runs(cluster, job) == [*earlier, held]
    cluster.run("scontrol", "release", job)
    cluster.idle()
    assert _runs(cluster, job) == earlier + first
    assert _runs(cluster, job, "-n") == first
    # In Slurm's document each run is a job, with its own steps and times; here only with -D.
    for words, expected in ((("-D",), ["REQUEUED", "FAILED"]), ((), ["FAILED"])):
        document = json.loads(cluster.run("sacct", *words, "-j", job, "--json").stdout)
        assert [one["state"]["current"] for one in document["jobs"]] == expected
        assert {one["job_id"] for one in document["jobs"]} == {int(job)}
        assert [[str(step["step"]["id"]) for step in one["steps"]] for one in document["jobs"]] == [
            ["batch", "0"]
        ] * len(expected)
        ends = [one["time"]["end"] for one in document["jobs"]]
        assert ends == sorted(ends)
    # Without -D it is the last one of those that are chosen.
    assert _runs(cluster, job, "-X", "-s", "RQ", "-S", "00:00", "-E", "now") == [earlier[0]]
    assert _runs(cluster, job, "-X", "-s", "F", "-S", "00:00", "-E", "now") == [first[0]]


def test_each_run_of_a_job_that_is_stopped(cluster: LiveCluster) -> None:
    job = str(cluster.submit("-o", "/dev/null", "-w", "n1", "--wrap", "srun sh -c 'touch up; exec sleep 99'"))
    cluster.wait((cluster.directory / "up").exists)
    assert _requeue(cluster, "requeuehold", job) == ""
    cluster.wait(lambda: "CG" not in cluster.run("squeue", "-ho", "%t").stdout)
    run, batch, step, now = _runs(cluster, job)
    assert [run, batch, now] == [
        f"{job}|REQUEUED|0:0|n1",
        f"{job}.batch|CANCELLED|0:15|n1",
        f"{job}|PENDING|0:0|None assigned",
    ]
    assert step.startswith(f"{job}.0|CANCELLED|0:")  # 15, or 9 if its srun is gone first
    cluster.run("scancel", job)
    cluster.wait(lambda: _states(cluster, job)[0] == [f"{job} CANCELLED"])
    assert [one.partition("|")[2].split("|")[0] for one in _runs(cluster, job, "-X", "-D")] == [
        "REQUEUED",
        "CANCELLED by 0",
    ]


def test_tasks_of_an_array_run_again_and_all_of_it(cluster: LiveCluster) -> None:
    wrap = "echo $SLURM_ARRAY_TASK_ID $SLURM_RESTART_COUNT >> tasks; exit $SLURM_ARRAY_TASK_ID"
    array = str(cluster.submit("-a", "0-2", "-w", "n1", "-o", "/dev/null", "--wrap", wrap))
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", array).stdout == "")
    runs = [f"{array}_0|COMPLETED|0:0|n1", f"{array}_1|FAILED|1:0|n1", f"{array}_2|FAILED|2:0|n1"]
    assert sorted(_runs(cluster, array, "-X", "-D")) == runs
    assert _requeue(cluster, "requeuehold", f"{array}_[1-2]") == ""
    held = [f"{array}_{task}|PENDING|0:0|None assigned" for task in (1, 2)]
    earlier = [one.replace("FAILED", "REQUEUED") for one in runs[1:]]
    assert sorted(_runs(cluster, array, "-X", "-D")) == sorted([runs[0], *held, *earlier])
    cluster.kill()
    cluster.up()
    assert sorted(_runs(cluster, array, "-X")) == [runs[0], *held]
    forecast = cluster.rota("forecast", f"{array}_1", f"{array}_2").stdout
    assert f"{array}_1" in forecast
    cluster.run("scontrol", "release", f"{array}_[1-2]")
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", array).stdout == "")
    assert sorted(_runs(cluster, array, "-X")) == runs
    assert _requeue(cluster, "requeue", array) == ""
    cluster.wait(lambda: (cluster.directory / "tasks").read_text().count("\n") == 8)
    cluster.idle()
    found = sorted((cluster.directory / "tasks").read_text().splitlines())
    assert found == ["0", "0 1", "1", "1 1", "1 2", "2", "2 1", "2 2"]
    assert len(_runs(cluster, array, "-X", "-D")) == 8
    assert sorted(_runs(cluster, array, "-X")) == runs


def test_a_run_whose_record_is_not_on_disk_yet_is_the_last_one(cluster: LiveCluster) -> None:
    go = cluster.directory / "go"
    wrap = (
        f"[ -z $SLURM_RESTART_COUNT ] || while [ ! -e {go} ]; do sleep 0.1; done; exit $(( SLURM_RESTART_COUNT + 1 ))"
    )
    job = _ended(cluster, "-o", "/dev/null", "-w", "n1", wrap=wrap)
    _requeue(cluster, "requeue", job)
    cluster.wait(lambda: _runs(cluster, job, "-X") == [f"{job}|RUNNING|0:0|n1"])
    with closing(sqlite3.connect(cluster.state / "rota.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")  # nothing else is written meanwhile
        go.touch()
        cluster.wait(lambda: "RUNNING" not in str(_runs(cluster, job, "-X")))
        last = f"{job}|FAILED|2:0|n1"
        assert _runs(cluster, job, "-X") == [last]
        assert _runs(cluster, job, "-X", "-D") == [f"{job}|REQUEUED|1:0|n1", last]
    cluster.idle()
    assert _runs(cluster, job, "-X") == [last]


def test_what_waited_of_an_array_waits_again(cluster: LiveCluster) -> None:
    array = str(cluster.submit("-a", "1-3", "-H", "-o", "/dev/null", "--wrap", "echo $SLURM_ARRAY_TASK_ID >> waited"))
    cluster.run("scancel", array)
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", array).stdout == "")
    assert _requeue(cluster, "requeuehold", array) == ""
    assert cluster.run("squeue", "-h", "-j", array, "-o", "%i %T").stdout == f"{array}_[1-3] PENDING\n"
    cluster.run("scontrol", "release", array)
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", array).stdout == "")
    assert sorted((cluster.directory / "waited").read_text().splitlines()) == ["1", "2", "3"]
    assert {one.split("|")[1] for one in _runs(cluster, array, "-X")} == {"COMPLETED"}


def test_each_run_of_tasks_and_of_a_lost_node(cluster: LiveCluster) -> None:
    array = str(cluster.submit("-a", "1-2", "-w", "n2", "-o", "/dev/null", "--wrap", "sleep 99"))
    cluster.wait(lambda: cluster.run("squeue", "-hr", "-j", array, "-t", "R").stdout.count("\n") == 2)
    assert _requeue(cluster, "requeuehold", f"{array}_2") == ""
    cluster.wait(lambda: len(_runs(cluster, array, "-X", "-D")) == 3)
    assert sorted(_runs(cluster, array, "-X", "-D")) == [
        f"{array}_1|RUNNING|0:0|n2",
        f"{array}_2|PENDING|0:0|None assigned",
        f"{array}_2|REQUEUED|0:0|n2",
    ]
    cluster.run("scontrol", "update", "nodename=n2", "state=down", "reason=x")
    cluster.wait(lambda: len(_runs(cluster, f"{array}_1", "-X", "-D")) == 2)
    assert _runs(cluster, f"{array}_1", "-X", "-D") == [
        f"{array}_1|NODE_FAIL|0:0|n2",
        f"{array}_1|PENDING|0:0|None assigned",
    ]
    cluster.run("scancel", array)
    cluster.run("scontrol", "update", "nodename=n2", "state=resume")
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", array).stdout == "")
    # A replay of what has run knows each task once.
    assert len(cluster.ended()) == len(cluster.records())
