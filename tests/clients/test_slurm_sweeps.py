"""slurm-sweeps: trials as steps of one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_trials(program: Program, cluster: LiveCluster) -> None:
    done = program("slurm-sweeps", "slurm_sweeps_trials.py", launcher=("salloc", "-Q", "-n3"))
    assert "max number of concurrent trials: 3\n" in done.stderr
    assert done.stdout.splitlines()[-1] == "losses [1, 4, 9]"
    steps = cluster.run("sacct", "-nPj1", "-o", "JobID,State,JobName").stdout.splitlines()[1:]
    assert [one.split("|")[:2] for one in steps] == [[f"1.{step}", "COMPLETED"] for step in range(3)]
