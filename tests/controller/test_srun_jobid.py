"""Steps of a batch job that are started from outside of it, beside what Slurm 22.05.8 did.

``recorded/srun_jobid.txt`` was made by ``recorded/srun_jobid.sh``. Slurm's ``sacct`` did not know yet that the job ran.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
FirstJobId=1001
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""
_RECORDED = (Path(__file__).parent / "recorded" / "srun_jobid.txt").read_text()
_CASES = [
    (command, [line for line in lines if not line.startswith("rc=")], int(lines[-1].removeprefix("rc=")))
    for command, *lines in (block.splitlines() for block in re.split(r"(?m)^##### ", _RECORDED)[1:])
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("jobid"), _CONF) as found:
        yield found


@pytest.fixture
def job_id(cluster: LiveCluster) -> Iterator[str]:
    """A batch job that runs."""
    found = str(cluster.submit("-n2", "--mem=500", "-o", "/dev/null", "-J", "b.sh", "--wrap", "sleep 600"))
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-j", found).stdout)
    yield found
    cluster.run("scancel", found)


def _comparable(lines: list[str]) -> list[str]:
    """Sort lines, as tasks print at the same time, and leave out the job itself, which Slurm does not show."""
    return sorted(line for line in lines if not line.startswith("o| RUNS|"))


def test_as_recorded(cluster: LiveCluster, job_id: str) -> None:
    jobs = {"RUNS": job_id, "HELD": str(cluster.submit("-H", "--wrap", "true"))}
    for command, lines, status in _CASES:
        asked = command
        for name, number in jobs.items():
            asked = asked.replace(name, number)
        done = cluster.run("bash", "-c", asked, check=False)
        found = [
            *(f"o| {line}" for line in done.stdout.splitlines()),
            *(f"e| {line}" for line in done.stderr.splitlines()),
        ]
        for name, number in jobs.items():
            found = [re.sub(rf"\b{number}\b", name, line) for line in found]
        assert _comparable(found) == _comparable(lines), command
        assert done.returncode == status, command


def _outside(cluster: LiveCluster, *words: str) -> subprocess.Popen[str]:
    """Start a command, and give it while it runs."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cluster.environment)


def test_a_step_ends_with_its_job(cluster: LiveCluster, job_id: str) -> None:
    srun = _outside(cluster, "srun", f"--jobid={job_id}", "bash", "-c", "echo $$; exec sleep 600")
    assert srun.stdout is not None
    pid = int(srun.stdout.readline())
    cluster.run("scancel", job_id)
    srun.communicate(timeout=60)
    assert srun.returncode
    cluster.wait(lambda: not Path(f"/proc/{pid}").exists())
    assert f"{job_id}.0|CANCELLED" in cluster.run("sacct", "-nP", "-j", job_id, "-o", "JobID,State").stdout


def test_signals_are_handed_on(cluster: LiveCluster, job_id: str) -> None:
    script = "trap 'echo heard; exit 7' USR1; echo ready; while :; do sleep 0.05; done"
    srun = _outside(cluster, "srun", f"--jobid={job_id}", "bash", "-c", script)
    assert srun.stdout is not None
    assert srun.stdout.readline() == "ready\n"
    srun.send_signal(signal.SIGUSR1)
    out, _ = srun.communicate(timeout=60)
    assert (out, srun.returncode) == ("heard\n", 7)


def test_what_is_started_ends_when_srun_is_killed(cluster: LiveCluster, job_id: str) -> None:
    srun = _outside(cluster, "srun", f"--jobid={job_id}", "bash", "-c", "echo $$; exec sleep 600")
    assert srun.stdout is not None
    pid = int(srun.stdout.readline())
    srun.kill()
    srun.communicate(timeout=60)
    cluster.wait(lambda: not Path(f"/proc/{pid}").exists())
    cluster.wait(
        lambda: f"{job_id}.0|CANCELLED" in cluster.run("sacct", "-nP", "-j", job_id, "-o", "JobID,State").stdout
    )


def test_it_has_the_processors_of_the_job(tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as cluster:  # this machine, where jobs are bound to processors
        job_id = cluster.submit("-n1", "-o", "/dev/null", "--wrap", "sleep 600")
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R").stdout)
        ask = "import os; print(*os.sched_getaffinity(0))"
        assert len(cluster.run("srun", f"--jobid={job_id}", "python3", "-c", ask).stdout.split()) == 1
        assert len(os.sched_getaffinity(0)) >= 1
