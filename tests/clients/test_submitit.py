"""submitit, and hydra by it: what they submit runs, and they hear how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_array(program: Program) -> None:
    done = program("submitit", "submitit_array.py")
    assert done.stdout.splitlines() == ["COMPLETED 4", "COMPLETED 9", "FAILED FailedJobError"]


def test_tasks_dependency_and_cancel(program: Program) -> None:
    done = program("submitit", "submitit_jobs.py")
    nodes = "['n1', 'n2']"
    assert done.stdout.splitlines() == [
        f"0 0 4 {nodes}",
        f"1 0 4 {nodes}",
        f"2 1 4 {nodes}",
        f"3 1 4 {nodes}",
        "after it hello",
        "CANCELLED",
        "CANCELLED",
    ]


def test_checkpoints_are_requeued(program: Program, cluster: LiveCluster) -> None:
    done = program("submitit", "submitit_checkpoint.py")
    assert done.stdout.splitlines() == ["told 2 True", "timed 2 True"]
    assert [record["restart_count"] for record in cluster.records()] == [1, 1]


def test_hydra(program: Program, cluster: LiveCluster) -> None:
    launcher = ["timeout_min=5", "cpus_per_task=1", "mem_per_cpu=100", "array_parallelism=2", "comment='three numbers'"]
    options = ["hydra/launcher=submitit_slurm", *(f"hydra.launcher.{option}" for option in launcher)]
    program(
        "submitit",
        "submitit_hydra.py",
        "--multirun",
        *options,
        "hydra.sweep.dir=sweep",
        "hydra.job.chdir=True",
        "number=2,3,4",
    )
    assert [(cluster.directory / "sweep" / str(run) / "square").read_text() for run in range(3)] == ["4", "9", "16"]
