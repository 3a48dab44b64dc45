"""In which order ``squeue`` names the partitions that a job waits for: Slurm 22.05.8 names ``fast`` first."""

from __future__ import annotations

from rota.model import Partition
from rota.testing import Harness, cluster


def test_partitions_of_the_highest_tier_are_named_first() -> None:
    parts = [Partition(name="main", nodes=1), Partition(name="fast", nodes=1, priority_tier=10)]
    with Harness(cluster(nodes=1, partitions=parts)) as rota:
        rota.submit(cpus=1, partition="main")
        waiting = rota.submit(cpus=1, partition="main,fast")
        assert rota.engine.view.line(waiting).partition == "fast,main"
