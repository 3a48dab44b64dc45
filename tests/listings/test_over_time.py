"""A job that goes on beyond its time limit, as squeue of Slurm 22.05.8 shows one: its end stays where it was."""

from __future__ import annotations

import pytest

from rota.inspect.view import EngineView
from rota.listings import render
from rota.testing import Harness, cluster, partition


@pytest.mark.parametrize(
    ("time", "line"),
    [(57, "0:57 1:00 0:03"), (60, "1:00 1:00 0:00"), (62, "1:02 1:00 INVALID")],
    ids=["before", "at", "beyond"],
)
def test_squeue_is_slurms(time: int, line: str) -> None:
    with Harness(cluster(cpus=4, partitions=[partition(over_time_limit=60)])) as rota:
        rota.submit(limit=60)
        rota.until(time)
        rota.tick()
        assert render("squeue -h -o '%T %M %l %L %S %e'", EngineView(rota.engine.view)).split("\n")[0] == (
            f"RUNNING {line} 1970-01-01T00:00:00 1970-01-01T00:01:00"
        )
