"""What is known of a job of which only the process is left, whose environment its user can write."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from rota.controller.recovery.found_job import describe
from rota.executor.supervisor import kernel
from rota.executor.traces import TracedRun

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("nodes", "cpus", "found", "count"),
    [
        ("n[1-2]", "4(x2)", ("n1", "n2"), 8),
        ("n[1-", "4", (), 4),
        ("n[1-2]]", "4(y", (), 1),
        ("n[0-99999999]", "x", (), 1),
        ("n1", "9" * 5000, ("n1",), 1),
        ("", "", (), 1),
    ],
)
def test_an_environment_that_its_user_has_written(
    nodes: str, cpus: str, found: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    environment = {"SLURM_JOB_NODELIST": nodes, "SLURM_JOB_CPUS_PER_NODE": cpus}
    process = subprocess.Popen(["/bin/sleep", "60"], env=environment, start_new_session=True)
    try:
        while not kernel.read(f"/proc/{process.pid}/environ"):
            time.sleep(0.001)  # it has no environment for a moment while it executes the program
        stat = kernel.stat_of(process.pid)
        assert stat is not None
        run = TracedRun(7, 0, "", os.geteuid(), process.pid, stat.ticks, 0.0)
        job = describe(run, tmp_path)
    finally:
        process.kill()
        process.wait()
    assert (job.nodes, job.spec.num_cpus, job.spec.payload) == (found, count, "7")
