"""Jobs that share cores: what may be on a node together, said once more, and that nobody waits without need.

The rules are those of Slurm's page on sharing consumable resources; that they lead to the same nodes as a real Slurm's
is shown by ``tests/core/data/real_slurm/sharing.txt``.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rota.core.job import Job
from rota.model import JobSpec, Node
from rota.resources import make_pool
from rota.resources.nodeset import indices
from rota.testing import cluster, partition

NODES, CPUS = 4, 4
#: Jobs a core of each partition that shares, and whether all of its jobs do.
SHARES = {"forced": (2, True), "asked": (3, False), "alone": (1, False)}


class Machine:
    """Nodes with three partitions, and the jobs that run there."""

    def __init__(self) -> None:
        parts = [partition(name, max_share=jobs, force_share=forced) for name, (jobs, forced) in SHARES.items()]
        nodes = [Node(name=f"n{number}", cpus=CPUS, cores_per_socket=CPUS) for number in range(NODES)]
        config = cluster(nodes=nodes, partitions=parts, SelectType="select/cons_tres", SelectTypeParameters="CR_Core")
        self.partitions = {part.name: part for part in config.partitions}
        self.pool: Any = make_pool(config, nodes)
        self.running: list[Job] = []

    def start(self, part: str, **asked: Any) -> Job | None:
        """Start a job if it fits."""
        pool, spec = self.pool, JobSpec(time_limit=60, partition=part, **asked)
        units = pool.units(spec, self.partitions[part])
        job = Job(1, spec, 0, self.partitions[part], units)
        job.alloc = pool.select(job, pool.free)
        if not units or not job.alloc:
            return None
        assert pool.suffices(job, job.alloc)
        pool.free -= job.alloc
        self.running.append(job)
        return job

    def cpus(self, job: Job, node: int) -> int:
        """Count what a job has of a node."""
        count: int = self.pool.tres(self.pool.without(job.alloc, ~(1 << node)))["cpu"]
        return count

    def on(self, node: int) -> list[Job]:
        """Give the jobs of a node."""
        return [job for job in self.running if node in indices(self.pool.nodes_of(job.alloc))]


def shares(job: Job) -> bool:
    """Whether a job shares cores."""
    jobs, forced = SHARES[job.partition.name]
    return jobs > 1 and (forced or (job.spec.oversubscribe and not job.spec.exclusive))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_on_a_node_may_be_there_together(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine = Machine()
    for _ in range(60):
        machine.start(
            chance.choice(list(SHARES)),
            num_cpus=chance.choice((1, 1, 2, 3, 4, 6)),
            oversubscribe=chance.random() < 0.5,
            exclusive=chance.random() < 0.1,
        )
        if machine.running and chance.random() < 0.4:
            machine.pool.release(machine.running.pop(chance.randrange(len(machine.running))).alloc)
        assert machine.pool.problem([job.alloc for job in machine.running]) == ""
        for node in range(NODES):
            jobs = machine.on(node)
            alone = [job for job in jobs if not shares(job)]
            # Who shares with none has cores to himself, and of those who share as many have one as may.
            left = CPUS - sum(machine.cpus(job, node) for job in alone)
            assert left >= 0
            for name, (most, _) in SHARES.items():
                used = sum(machine.cpus(job, node) for job in jobs if shares(job) and job.partition.name == name)
                assert used <= most * left
            if any(job.spec.exclusive for job in alone):
                assert len(jobs) == 1
    assert any(shares(job) for job in machine.running)


@pytest.mark.parametrize("seed", range(20))
def test_a_small_job_that_shares_waits_only_where_there_is_no_row_for_it(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine = Machine()
    while machine.start("forced", num_cpus=chance.choice((1, 2, 3))):
        pass
    while machine.start("forced", num_cpus=1):
        pass
    assert sum(machine.pool.size(job.alloc) for job in machine.running) == SHARES["forced"][0] * CPUS * NODES
    assert machine.start("asked", num_cpus=1, oversubscribe=True), "other partitions have rows of their own"
    assert not machine.start("alone", num_cpus=1)
