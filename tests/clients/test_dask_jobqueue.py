"""dask-jobqueue: workers of dask as jobs, and a cluster of dask as the tasks of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_workers_come_and_go(program: Program, cluster: LiveCluster) -> None:
    done = program("dask-jobqueue", "dask_cluster.py")
    assert done.stdout.splitlines() == ["328350", "2 workers in 2 jobs", "144"]
    assert {record["base_state"] for record in cluster.records()} <= {"CANCELLED", "COMPLETED"}


def test_a_step_is_a_cluster(program: Program) -> None:
    done = program("dask-jobqueue", "dask_runner.py", launcher=("srun", "-n4"))
    assert done.stdout == "2 workers: 285\n"
