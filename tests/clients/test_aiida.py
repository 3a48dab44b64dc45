"""AiiDA: calculations on a computer with Slurm, and what it makes of their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_calculations(program: Program, cluster: LiveCluster) -> None:
    home = {"HOME": str(cluster.directory), "AIIDA_PATH": str(cluster.directory / ".aiida")}
    done = program("aiida", "aiida_sums.py", environment=home)
    # 310 is what the parser of sums says of a job without a result, 110 what AiiDA says of one without memory.
    assert [line.split(" by ")[0] for line in done.stdout.splitlines()] == [
        "0 7 COMPLETED",
        "310 The output file could not be read. CANCELLED",
        "110 The job ran out of memory. OUT_OF_MEMORY",
    ]
