"""pydra: the tasks of a workflow as jobs; a job that is cancelled is requeued by pydra after it has ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_workflow(program: Program, cluster: LiveCluster) -> None:
    assert program("pydra", "pydra_workflow.py", "squares").stdout == "[1, 4, 9]\n"
    rows = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,ReqMem").stdout.splitlines()
    assert sorted((row.partition(".")[0], row.partition("|")[2]) for row in rows) == [("square", "COMPLETED|200M")] * 3


def test_a_cancelled_job_runs_again(program: Program, cluster: LiveCluster) -> None:
    with ThreadPoolExecutor() as pool:
        done = pool.submit(program, "pydra", "pydra_workflow.py", "cancelled")
        cluster.wait(lambda: cluster.run("squeue", "-h", "-o", "%j %T").stdout == "again RUNNING\n")
        cluster.run("scancel", "-n", "again")
        assert done.result().stdout == "42\n"
    assert " Restarts=1 " in cluster.run("scontrol", "show", "job", "1").stdout
