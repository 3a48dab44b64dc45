"""slurmpy: jobs, and dependencies of several jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_jobs(program: Program, cluster: LiveCluster) -> None:
    last = int(program("slurmpy", "slurmpy_jobs.py").stdout.split()[-1])
    # slurmpy has handed in a further job, which is to run if that one fails.
    waits = ("squeue", "-h", "-j", str(last + 1), "-o", "%r")
    cluster.wait(lambda: cluster.run(*waits).stdout == "DependencyNeverSatisfied\n")
    assert (cluster.directory / "sum").read_text() == "42 ann\n"
