"""GRES of jobs: how many each node of a job gives, and what goes with GPUs.

That the nodes are those of a real Slurm is shown by ``tests/core/data/real_slurm/placements.txt``, which does not tell
memory.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rota.core.job import Job
from rota.model import JobSpec, Node
from rota.resources import make_pool
from rota.testing import cluster, partition

#: GPUs of each node; all have 8 processors and 8000 MiB.
GPUS = (0, 2, 4, 2, 4, 4)


class Machine:
    """Nodes with and without GPUs, and what jobs get of them."""

    def __init__(self, cpus: int = 8, gpus_of_nodes: tuple[int, ...] = GPUS) -> None:
        nodes = [
            Node(
                name=f"n{number}",
                cpus=cpus,
                cores_per_socket=cpus,
                real_memory=8000,
                gres=(f"gpu:{gpus}",) if gpus else (),
            )
            for number, gpus in enumerate(gpus_of_nodes)
        ]
        config = cluster(
            nodes=nodes,
            partitions=[partition("main")],
            SelectType="select/cons_tres",
            SelectTypeParameters="CR_Core_Memory",
            DefMemPerCPU="100",
        )
        self.partition = config.partitions[0]
        self.pool: Any = make_pool(config, nodes)
        self.places = range(len(nodes))

    def start(self, **asked: Any) -> list[tuple[int, int, int, int]] | None:
        """Start a job; give places of nodes, and processors, GPUs and MiB there."""
        pool, spec = self.pool, JobSpec(time_limit=60, **asked)
        job = Job(1, spec, 0, self.partition, pool.units(spec, self.partition))
        resources = pool.select(job, pool.free) if job.units else 0
        if not resources:
            return None
        assert pool.suffices(job, resources)
        pool.free -= resources
        parts = [pool.tres(pool.without(resources, ~(1 << place))) for place in self.places]
        return [(n, one["cpu"], one["gres/gpu"], one["mem"]) for n, one in enumerate(parts) if one["cpu"]]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"gres_per_job": "gpu:5", "mem_per_gpu": 1000}, [(2, 1, 4, 4000), (4, 1, 1, 1000)]),
        # Three GPUs have memory on a node.
        ({"gres_per_job": "gpu:4", "mem_per_gpu": 2500}, [(2, 1, 3, 7500), (4, 1, 1, 2500)]),
        ({"gres_per_job": "gpu:2", "cpus_per_gpu": 3, "num_cpus": 6, "mem_per_cpu": 10}, [(1, 6, 2, 60)]),
        ({"gres": "gpu:2", "cpus_per_gpu": 2, "num_cpus": 4, "mem_per_gpu": 500}, [(1, 4, 2, 1000)]),
        ({"gres": "gpu:1", "mem_per_gpu": 500, "exclusive": True}, [(1, 8, 2, 1000)]),
        (
            {"gres_per_task": "gpu:1", "num_tasks": 3, "num_cpus": 3, "mem_per_gpu": 4000},
            [(1, 2, 2, 8000), (2, 1, 1, 4000)],
        ),
        ({"gres_per_job": "gpu:4", "gres": "gpu:2", "min_nodes": 2, "num_cpus": 2}, [(1, 1, 2, 100), (2, 1, 2, 100)]),
        ({"gres_per_job": "gpu:17"}, None),
        ({"gres_per_job": "gpu:3", "num_tasks": 1, "max_nodes": 1}, [(2, 1, 3, 100)]),
        ({"gres_per_job": "gpu:1", "mem_per_gpu": 8001}, None),
        ({"gres_per_job": "gpu:1", "cpus_per_gpu": 9, "num_cpus": 9}, None),
    ],
)
def test_gpus_bring_processors_and_memory(asked: dict[str, Any], given: list[tuple[int, int, int, int]] | None) -> None:
    assert Machine().start(**asked) == given


def test_without_gpus_nodes_need_the_processors_that_would_go_with_one() -> None:
    """What a Slurm 22.05.8 did with ``sbatch --cpus-per-gpu``, in this order, on two nodes of 4 processors."""
    machine = Machine(cpus=4, gpus_of_nodes=(2, 2))
    assert machine.start(cpus_per_gpu=5) is None
    assert machine.start(cpus_per_gpu=4) == [(0, 1, 0, 100)]
    assert machine.start(cpus_per_gpu=3) == [(0, 1, 0, 100)]
    assert machine.start(cpus_per_gpu=4, num_tasks=2, num_cpus=2) == [(1, 2, 0, 200)]
    assert machine.start(cpus_per_gpu=3) is None
    assert [part[0] for part in machine.start(cpus_per_gpu=2, num_tasks=3, num_cpus=3) or ()] == [0, 1]


@pytest.mark.parametrize("seed", range(30))
def test_no_node_gives_more_than_it_has(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine = Machine()
    used = [[8, gpus, 8000] for gpus in GPUS]
    for _ in range(12):
        gpus, per_gpu = chance.randint(1, 6), chance.choice((0, 0, 1, 2, 3))
        asked: dict[str, Any] = {"mem_per_gpu": chance.choice((0, 500, 2500))}
        kind = chance.choice(("gres", "gres_per_task", "gres_per_job"))
        nodes = chance.choice((0, 0, 1, 2)) if kind == "gres_per_job" else 1
        if kind == "gres_per_task":
            asked |= {"num_cpus": gpus * 2, "num_tasks": gpus, "cpus_per_task": 2, kind: "gpu:1"}
        else:
            gpus = max(gpus, nodes)
            asked |= {"num_cpus": max(gpus * per_gpu, nodes, 1), "cpus_per_gpu": per_gpu, kind: f"gpu:{gpus}"}
            asked["min_nodes"] = nodes
        given = machine.start(**asked)
        if given is None:
            continue
        assert sum(count for _, _, count, _ in given) == gpus, asked
        assert sum(cpus for _, cpus, _, _ in given) >= asked["num_cpus"], asked
        assert machine.pool.problem([]) != "something of a node is allocated twice"
        for place, cpus, count, memory in given:
            for row, amount in enumerate((cpus, count, memory)):
                used[place][row] -= amount
                assert used[place][row] >= 0, asked
            assert memory == count * asked["mem_per_gpu"] if asked["mem_per_gpu"] else cpus * 100, asked
            assert cpus >= count * asked.get("cpus_per_gpu", 0) or kind == "gres_per_job", asked
