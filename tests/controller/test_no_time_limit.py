"""Jobs without a time limit: ``-t 0`` and ``-t UNLIMITED``.

All that is expected here, Slurm 22.05.8 showed in these partitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=high Nodes=ALL MaxTime=60
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
_WALL = "QOSMaxWallDurationPerJobLimit"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(
        tmp_path_factory.mktemp("limits"), f"{_CONF}AccountingStorageEnforce=associations,limits,qos\n"
    ) as found:
        found.run("sacctmgr", "-i", "add", "user", "root", "account=root", check=False)
        found.run("sacctmgr", "-i", "add", "qos", "wall", "maxwall=30")
        found.run("sacctmgr", "-i", "add", "qos", "hard", "maxwall=30", "flags=DenyOnLimit")
        found.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=wall,hard")
        yield found


def _shown(cluster: LiveCluster, job: object) -> list[str]:
    text = cluster.run("scontrol", "show", "job", str(job)).stdout
    return [re.findall(rf"\b{key}=(\S+)", text)[0] for key in ("JobState", "Reason", "TimeLimit")]


def _submit(cluster: LiveCluster, *words: str) -> int:
    return cluster.submit(*words, "-o", "/dev/null", "--wrap", "sleep 60")


@pytest.mark.parametrize(
    ("options", "expected"),
    {
        "": "RUNNING None 01:00:00",
        "-t 0": "RUNNING None UNLIMITED",
        "-t infinite": "RUNNING None UNLIMITED",
        "-t -1": "RUNNING None UNLIMITED",
        "-t 0:00": "RUNNING None UNLIMITED",
        "-p high": "RUNNING None 01:00:00",
        "-p high -t 0": "PENDING PartitionTimeLimit UNLIMITED",
        "-p short -t UNLIMITED": "PENDING PartitionTimeLimit UNLIMITED",
        "-p high,debug -t 0": "RUNNING None UNLIMITED",
        "-p short,high -t 0": "PENDING PartitionTimeLimit UNLIMITED",
        "-q wall": f"PENDING {_WALL} 01:00:00",
        "-q wall -p high": "RUNNING None 00:30:00",
        "-q wall -t 0": f"PENDING {_WALL} UNLIMITED",
        "-t 0 --time-min=5": "RUNNING None UNLIMITED",
        "-t 0 --deadline=now+1hour": "RUNNING None 01:00:00",
        "-t 0 --deadline=now+1hour --time-min=5": "RUNNING None 01:00:00",
    }.items(),
)
def test_jobs_without_a_limit_run_where_the_partition_has_none(
    cluster: LiveCluster, options: str, expected: str
) -> None:
    job = _submit(cluster, *options.split())
    cluster.wait(lambda: _shown(cluster, job)[:2] == expected.split()[:2])
    assert _shown(cluster, job) == expected.split()
    cluster.run("scancel", str(job))


def test_a_qos_refuses_them_at_once_if_it_is_to(cluster: LiveCluster) -> None:
    done = cluster.run("sbatch", "-q", "hard", "-t", "0", "--wrap", "true", check=False)
    assert (done.returncode, done.stderr.startswith(f"sbatch: error: {_WALL}")) == (1, True)


@pytest.mark.parametrize("command", [("srun", "-t", "0"), ("salloc", "-t", "UNLIMITED")], ids=" ".join)
def test_so_are_steps_and_allocations(cluster: LiveCluster, command: tuple[str, ...]) -> None:
    asked = "squeue -h -j $SLURM_JOB_ID -o '%l %L %e'"
    assert cluster.run(*command, "sh", "-c", asked).stdout == "UNLIMITED UNLIMITED NONE\n"


def test_limits_are_taken_from_jobs_and_given_back(cluster: LiveCluster) -> None:
    job = _submit(cluster, "-t", "5")
    held = _submit(cluster, "-t", "5", "-H")
    cluster.wait(lambda: _shown(cluster, job)[0] == "RUNNING")
    for one, state in ((job, "RUNNING None"), (held, "PENDING JobHeldUser")):
        for limit, shown in (("UNLIMITED", "UNLIMITED"), ("5", "00:05:00")):
            cluster.run("scontrol", "update", f"jobid={one}", f"timelimit={limit}")
            assert _shown(cluster, one) == [*state.split(), shown]
        cluster.run("scancel", str(one))


def test_what_is_accounted_of_them(cluster: LiveCluster) -> None:
    job = cluster.submit("-t", "0", "-o", "/dev/null", "--wrap", "true")
    form = "State,Timelimit,TimelimitRaw"
    told = ("sacct", "-j", str(job), "-n", "-P", "-X", "-o", form)
    cluster.wait(lambda: cluster.run(*told).stdout == "COMPLETED|UNLIMITED|UNLIMITED\n")


@pytest.mark.parametrize(
    ("enforced", "options", "is_refused"),
    [
        ("ALL", "-p high", True),
        ("ALL", "-p high,debug", True),
        ("ALL", "", False),
        ("ANY", "-p high", True),
        ("ANY", "-p high,short", True),
        ("ANY", "-p high,debug", False),
    ],
)
def test_enforced_limits_of_partitions(tmp_path: Path, enforced: str, options: str, *, is_refused: bool) -> None:
    with LiveCluster(tmp_path, f"{_CONF}EnforcePartLimits={enforced}\n") as found:
        done = found.run("sbatch", "-H", "-t", "0", *options.split(), "--wrap", "true", check=False)
    refusal = "Requested time limit is invalid (missing or exceeds some limit)"
    told = f"sbatch: error: Batch job submission failed: {refusal}\n" if is_refused else ""
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1:]) == (int(is_refused), [told] if told else [])
