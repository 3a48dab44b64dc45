"""nipype: the nodes of a workflow as jobs, by its SLURM plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_workflow(program: Program, cluster: LiveCluster) -> None:
    environment = {"HOME": str(cluster.directory), "LOGNAME": "ann", "NO_ET": "1"}
    program("nipype", "nipype_workflow.py", environment=environment)
    assert (cluster.directory / "total").read_text() == "14"
    rows = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,ReqMem,Timelimit").stdout.splitlines()
    names = [*(f"_square{number}.ann" for number in range(3)), "square.flow.ann", "total.flow.ann"]
    assert sorted(rows) == [f"{name}|COMPLETED|400M|00:05:00" for name in names]
