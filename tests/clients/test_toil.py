"""Toil: a workflow whose jobs are Slurm's, with one that fails at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_workflow(program: Program, cluster: LiveCluster) -> None:
    logs = cluster.directory / "logs"
    logs.mkdir()
    store = f"file:{cluster.directory / 'store'}"
    options = ["--retryCount=1", "--defaultMemory=100M", "--disableCaching", "--logWarning", f"--batchLogsDir={logs}"]
    slurm = ["--batchSystem=slurm", "--statePollingWait=1", "--slurmTime=0:10:00", "--slurmArgs=--comment='two words'"]
    home = {"HOME": str(cluster.directory)}
    done = program("toil", "toil_workflow.py", store, *options, *slurm, environment=home)
    assert done.stdout.splitlines()[-1] == "['ann 2', 'again']"
    listed = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,ExitCode,Timelimit,Comment").stdout
    jobs = [line.removeprefix("toil_job_").split("_")[1].split("|") for line in listed.splitlines()]
    assert sorted(jobs) == [
        ["flaky", "COMPLETED", "0:0", "00:10:00", "two words"],
        ["flaky", "FAILED", "1:0", "00:10:00", "two words"],
        ["gather", "COMPLETED", "0:0", "00:10:00", "two words"],
        ["hello", "COMPLETED", "0:0", "00:10:00", "two words"],
        ["root", "COMPLETED", "0:0", "00:10:00", "two words"],
    ]
