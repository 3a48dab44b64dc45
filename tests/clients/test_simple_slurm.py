"""simple-slurm: jobs, arrays, dependencies, signals and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_jobs(program: Program, cluster: LiveCluster) -> None:
    done = program("simple-slurm", "simple_slurm_jobs.py")
    assert done.stdout.splitlines() == ["task 0 task 1 task 2", "R 1 100M n1", "gone", "{}", "42", "42", "0"]
    states = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,Comment").stdout
    assert states.splitlines()[3:] == ["after|CANCELLED by 0|two words", "echo|COMPLETED|"]


def test_command_line(program: Program, cluster: LiveCluster) -> None:
    done = program("simple-slurm", "simple_slurm", "--job_name", "line", "--cpus_per_task", "2", "echo $SLURM_JOB_NAME")
    job = done.stdout.split()[-1]
    cluster.idle()
    assert (cluster.directory / f"slurm-{job}.out").read_text() == "line\n"
