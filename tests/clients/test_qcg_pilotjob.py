"""QCG-PilotJob: many tasks in one job, whose steps have their tasks where the program says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_tasks_of_one_job(program: Program, cluster: LiveCluster) -> None:
    allocation = ("salloc", "-Q", "-N2", "-n4", "--ntasks-per-node=2", "--mem=0")
    done = program("qcg-pilotjob", "qcg_pilot.py", launcher=allocation)
    assert done.stdout.splitlines() == [
        str({"total_nodes": 2, "total_cores": 4, "used_cores": 0, "free_cores": 4}),
        str({"both": "SUCCEED", "each": "SUCCEED", "failing": "FAILED"}),
    ]
    assert [(cluster.directory / f"each.{number}").read_text() for number in range(4)] == ["1\n"] * 4
    said = sorted((cluster.directory / "both").read_text().splitlines())
    assert said == [f"{task} {node} arbitrary" for task, node in enumerate(("n1", "n1", "n2", "n2"))]
