"""radical.saga: jobs that end, fail, and are suspended, resumed and cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_jobs(program: Program, cluster: LiveCluster) -> None:
    done = program("radical-saga", "radical_saga_jobs.py", environment={"HOME": str(cluster.directory)})
    expected = ["well Done 0", "badly Failed 3", "ann", "Suspended", "Running", "Canceled"]
    assert done.stdout.splitlines()[-6:] == expected
