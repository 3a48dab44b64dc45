"""`rota forecast` and `rota whatif` on a live cluster."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Without cycles of backfill nothing happens between two looks.
_FOUR_NODES = """
ClusterName=four
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=-1
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=2000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
PartitionName=small Nodes=n1 DefMemPerCPU=100
"""
_LIMIT = 600
#: By how much a start may be later than the limits of the jobs before it: the clock's grain, and the end of the run.
_LATE = 128
_FIRST = """
from rota.interfaces.stubs.priority import *

plugin_type = "priority/last"
plugin_name = "last come, first served"
plugin_version = 100


def priority_p_set(last_prio, job_ptr):
    return 1000 + job_ptr.job_id
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of four virtual nodes: job 1 has all of them, 2 and 3 wait for all of them, 4 is held."""
    with LiveCluster(tmp_path_factory.mktemp("live"), _FOUR_NODES) as found:
        sleep = ("-o", "/dev/null", "-t", str(_LIMIT // 60), "--wrap", "sleep 3600")
        for name in ("one", "two", "three"):
            found.submit("-N", "4", "--exclusive", "-J", name, *sleep)
        found.submit("-H", *sleep)
        found.wait(lambda: found.status()["jobs"] == {"RUNNING": 1, "PENDING": 3})
        yield found


def _json(cluster: LiveCluster, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cluster.rota(*words, "--futures", "9", "--json").stdout)
    return found


def _kept(cluster: LiveCluster) -> dict[str, list[Any]]:
    """Read all that the cluster keeps on disk."""
    with closing(sqlite3.connect(f"file:{cluster.state / 'rota.db'}?mode=ro", uri=True)) as database:
        tables = ("journal", "snapshots", "submissions", "runs", "jobs")
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}  # noqa: S608


def _begun(cluster: LiveCluster) -> int:
    """Give the start of job 1, Unix seconds."""
    return int(cluster.run("squeue", "-h", "-j", "1", "-o", "%S", environment={"SLURM_TIME_FORMAT": "%s"}).stdout)


def test_jobs_start_within_the_limits_of_those_before_them(cluster: LiveCluster) -> None:
    begun, found = _begun(cluster), _json(cluster, "forecast")
    assert found["futures"] == 9
    assert found["learned_from"] == {"jobs": 0, "first_end": None, "last_end": None}
    two, three, held = found["jobs"]
    assert [two["job"], three["job"], held["job"]] == ["2", "3", "4"]
    assert found["now"] < two["early"] < two["expected"] < two["late"] <= begun + _LIMIT + _LATE
    assert two["expected"] < three["expected"] <= begun + 2 * (_LIMIT + _LATE)
    assert held["never"] == "JobHeldUser"
    assert held["expected"] is None


def test_a_job_can_be_asked_for(cluster: LiveCluster) -> None:
    found = _json(cluster, "forecast", "3", "--state", str(cluster.state))
    assert [one["job"] for one in found["jobs"]] == ["3"]
    lines = cluster.rota("forecast", "--futures", "2", "3", "4").stdout.splitlines()
    assert lines[0].split() == ["job", "name", "user", "partition", "starts", "in", "early", "late"]
    assert lines[1].split()[:2] == ["3", "three"]
    assert lines[2].endswith("never (JobHeldUser)")
    assert lines[4].startswith("2 futures: too few for ranges")
    assert lines[5] == "No job has ended so far: run times are guesses up to the time limits."


def test_more_nodes_start_a_job_sooner(cluster: LiveCluster) -> None:
    found = _json(cluster, "whatif", "--nodes", "+4", "--by", "user")
    assert found["jobs"] == 3
    assert found["learned_from"]["jobs"] == 0
    present, other = found["present"], found["other"]
    assert present["not_started"] == other["not_started"] == 1
    # Job 2 starts at once, and job 3 when one of two has ended and not after both.
    assert other["mean_wait"] < present["mean_wait"]
    by_job = {one["job"]: one["other"] - one["present"] for one in found["differences"]}
    assert by_job.keys() == {"2", "3"}
    assert by_job["2"] < 0
    assert by_job["3"] < 0
    [(jobs, now, then, change)] = found["groups"].values()
    assert jobs == 2
    assert then < now
    assert change["high"] < 0


def test_fewer_nodes_leave_jobs_waiting(cluster: LiveCluster) -> None:
    found = _json(cluster, "whatif", "--nodes", "-1")
    assert found["present"]["not_started"] == 1
    assert found["other"]["not_started"] == 3  # they want four nodes


def test_another_policy_may_be_ones_own(cluster: LiveCluster, tmp_path: Path) -> None:
    plugin = tmp_path / "priority_last.py"
    plugin.write_text(_FIRST)
    plugin.chmod(0o644)
    found = _json(cluster, "whatif", "--plugin-dir", str(tmp_path), "--priority", "priority/last", "--by", "partition")
    by_job = {one["job"]: one["other"] - one["present"] for one in found["differences"]}
    assert by_job["2"] > by_job["3"]
    assert list(found["groups"]) == ["debug"]


def test_what_an_administrator_has_set_of_a_partition_can_be_set_otherwise(cluster: LiveCluster) -> None:
    cluster.run("scontrol", "update", "partitionname=debug", "maxnodes=3")
    wide = _json(cluster, "whatif", "--set", "PartitionName=debug MaxNodes=UNLIMITED")
    assert (wide["present"]["not_started"], wide["other"]["not_started"]) == (3, 1)
    cluster.run("scontrol", "reconfigure")


def test_a_partition_and_nodes_can_be_set(cluster: LiveCluster) -> None:
    narrow = _json(cluster, "whatif", "--set", "PartitionName=debug MaxNodes=3")
    assert (narrow["present"]["not_started"], narrow["other"]["not_started"]) == (1, 3)
    for setting in ("NodeName=n4 State=DRAIN", "PartitionName=debug State=DOWN"):
        closed = _json(cluster, "whatif", "--set", setting)
        assert (closed["present"]["not_started"], closed["other"]["not_started"]) == (1, 3)


def test_a_limit_can_be_set(cluster: LiveCluster) -> None:
    limit = ("--set-qos", "normal", "GrpTRES=cpu=15")
    enforced = _json(cluster, "whatif", "--set", "AccountingStorageEnforce=limits", *limit)
    assert (enforced["present"]["not_started"], enforced["other"]["not_started"]) == (1, 3)
    idle = cluster.rota("whatif", *limit, "--futures", "2")
    assert idle.stderr == (
        "rota: warning: --set-qos normal GrpTRES=cpu=15: no limit holds without AccountingStorageEnforce=limits\n"
    )


def test_the_table_says_what_changes(cluster: LiveCluster) -> None:
    lines = cluster.rota("whatif", "--scheduler", "sched/easy", "--nodes", "+4", "--futures", "3").stdout.splitlines()
    assert lines[0] == "3 jobs wait. On average over 3 futures:"
    assert lines[2].split() == ["now", "what", "if", "change", "95", "%"]
    assert [line.split("  ")[0] for line in lines[3:7]] == ["mean wait", "median wait", "longest wait", "makespan"]
    assert all(" -" in line and " to " in line for line in lines[3:7])
    assert "No job has ended so far: run times are guesses up to the time limits." in lines


def test_nothing_of_the_cluster_changes(cluster: LiveCluster) -> None:
    before = _kept(cluster)
    cluster.rota("forecast", "--futures", "9")
    cluster.rota("whatif", "--scheduler", "sched/conservative", "--nodes", "+2", "--futures", "9")
    assert _kept(cluster) == before
    assert len(before["journal"]) > 4
    assert "error" not in (cluster.state / "controller.log").read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("forecast", "1"), "JOB: job 1 runs already"),
        (("forecast", "99"), "JOB: no job 99 waits; see squeue"),
        (("forecast", "2", "x"), "JOB: no job x waits; see squeue"),
        (("forecast", "--check"), "no job of this cluster has ended yet"),
        (("whatif",), "nothing is to change: name --scheduler, --priority, --set or --nodes"),
        (("whatif", "--set", "PriorityWeightAeg=5"), "PriorityWeightAeg is no key of slurm.conf, and no option of one"),
        (("whatif", "--set-qos", "nromal", "GrpJobs=1"), "there is no QOS nromal; did you mean normal?"),
        (("whatif", "--set", "PriorityWeightAge"), "'PriorityWeightAge' is not KEY=VALUE"),
        (("whatif", "--set", "SchedulerParameters=bf_interval=x"), "bf_interval=x is not an integer"),
        (("whatif", "--nodes", "-4"), "partition debug has 4 nodes: remove fewer"),
        (("whatif", "--plugin-dir", "/none", "--scheduler", "sched/easy"), "/none: --plugin-dir: no such directory"),
        (("whatif", "--scheduler", "sched/unheard-of"), "sched/unheard-of"),
    ],
)
def test_bad_input_is_refused_with_a_reason(cluster: LiveCluster, words: tuple[str, ...], problem: str) -> None:
    done = cluster.rota(*words, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("rota: error: ")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_name_of_a_job_stays_on_its_line(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "-o", "/dev/null", "-J", "two\nlines\u202e", "--wrap", "true")
    assert r"two\nlines\u202e" in cluster.rota("forecast", "--futures", "9", str(job_id)).stdout
    cluster.run("scancel", str(job_id))


@pytest.mark.slow
def test_past_runs_are_known_and_checked(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _FOUR_NODES) as cluster:
        assert cluster.rota("forecast").stdout == "No job waits.\n"
        quick = ("-N", "4", "--exclusive", "-o", "/dev/null", "-t", "60", "-J", "quick")
        for _ in range(12):
            cluster.submit(*quick, "--wrap", "true")
        cluster.idle()
        cluster.submit(*quick, "--wrap", "sleep 600")
        for _ in range(2):
            cluster.submit(*quick, "--wrap", "true")
        found = _json(cluster, "forecast")
        learned = found["learned_from"]
        assert learned["jobs"] == 12
        assert learned["first_end"] <= learned["last_end"] <= found["now"]
        assert "\nRun times are learned from 12 jobs, which ended from 2" in cluster.rota("forecast").stdout
        first, second = found["jobs"]
        # Twelve jobs like the first one took seconds: without them half an hour would be expected.
        assert second["expected"] - first["expected"] < 900
        done = cluster.rota("forecast", "--check", check=False)
        assert done.returncode == 2
        assert "no job waited at any of the moments" in done.stderr
