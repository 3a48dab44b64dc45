"""DPDispatcher: tasks as jobs and as tasks of job arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_tasks(program: Program, cluster: LiveCluster) -> None:
    done = program("dpdispatcher", "dpdispatcher_tasks.py")
    assert done.stdout.splitlines()[-2:] == [
        str([[kind, str(number), "2"] for number in range(4)]) for kind in ("Slurm", "SlurmJobArray")
    ]
    assert {record["base_state"] for record in cluster.records()} == {"COMPLETED"}
