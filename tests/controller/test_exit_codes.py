"""Exit codes of jobs and of their steps, as a Slurm 22.05.8 showed them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("exit-codes"), virtual_nodes(2)) as found:
        yield found


@pytest.mark.parametrize(
    ("script", "shown", "kept"),
    [
        ("srun sleep 600", "0:15", "0:0"),
        ("srun bash -c 'exit 3'; sleep 1.1; srun sleep 600", "3:0", "3:0"),
        # The script stays until its step has ended.
        ("trap : TERM; srun bash -c 'trap \"exit 5\" TERM; touch up; sleep 600 & wait' & wait; wait", "5:0", "0:0"),
    ],
)
def test_exit_codes_of_the_steps_of_a_job_that_is_cancelled(
    cluster: LiveCluster, script: str, shown: str, kept: str
) -> None:
    """As Slurm 22.05.8 tells them: ``sacct`` leaves out those of steps that end with the job."""
    job_id = cluster.submit("-n1", "-o", "/dev/null", "--wrap", script)
    cluster.wait(lambda: "sleep" in _steps_text(cluster, job_id) or (cluster.directory / "up").exists())
    cluster.run("scancel", str(job_id))
    cluster.wait(lambda: job_id in cluster.ended())
    assert f"DerivedExitCode={shown}\n" in cluster.run("scontrol", "-d", "show", "job", str(job_id)).stdout
    found = cluster.run("sacct", "-nPXj", str(job_id), "-o", "DerivedExitCode").stdout
    assert found == f"{kept}\n"


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        (("srun", "bash", "-c", "kill -9 $$"), "FAILED JobLaunchFailure 0:9"),
        (("srun", "bash", "-c", "kill -USR1 $$"), "FAILED JobLaunchFailure 0:10"),
        (("srun", "-n2", "bash", "-c", "exit $((SLURM_PROCID+3))"), "FAILED NonZeroExitCode 4:0"),
        (("salloc", "bash", "-c", "kill -9 $$"), "FAILED JobLaunchFailure 0:9"),
        (("salloc", "bash", "-c", "exit 147"), "FAILED NonZeroExitCode 147:0"),
    ],
)
def test_a_job_ends_as_its_command_does(cluster: LiveCluster, command: tuple[str, ...], ended: str) -> None:
    """As Slurm 22.05.8 shows it."""
    before = {*cluster.ended()}
    cluster.run(*command, check=False)
    cluster.idle()
    (job_id,) = cluster.ended().keys() - before
    shown = cluster.run("scontrol", "-o", "show", "job", str(job_id)).stdout
    assert [re.findall(rf" {key}=(\S+)", shown)[0] for key in ("JobState", "Reason", "ExitCode")] == ended.split()
    *_, code = ended.split()
    told = cluster.run("sacct", "-nPXj", str(job_id), "-o", "ExitCode").stdout
    assert told == f"{code.replace('147', '19')}\n"


def _steps_text(cluster: LiveCluster, job_id: int) -> str:
    return cluster.run("squeue", "-h", "-s", "-j", str(job_id), "-o", "%j").stdout
