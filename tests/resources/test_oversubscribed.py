"""Whole nodes that jobs share: who may be on a node together, said once more, and that nobody waits without need.

That the nodes are those of a real Slurm is shown by ``tests/core/data/real_slurm/linear_sharing.txt``.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rota.core.job import Job
from rota.model import JobSpec, Node, NodeState
from rota.resources import OversubscribedNodePool, WholeNodePool, make_pool
from rota.resources.nodeset import indices
from rota.testing import Harness, cluster, partition

NODES, CPUS, MEMORY, GPUS = 5, 4, 8000, 2
#: Jobs a node of each partition that shares, and whether all of its jobs do.
SHARES = {"forced": (2, True), "asked": (3, False), "alone": (1, False)}


class Machine:
    """Nodes with three partitions, and the jobs that run there."""

    def __init__(self, parameters: str = "CR_Memory") -> None:
        parts = [partition(name, max_share=jobs, force_share=forced) for name, (jobs, forced) in SHARES.items()]
        nodes = [
            Node(name=f"n{number}", cpus=CPUS, real_memory=MEMORY, gres=(f"gpu:{GPUS}",)) for number in range(NODES)
        ]
        config = cluster(nodes=nodes, partitions=parts, SelectType="select/linear", SelectTypeParameters=parameters)
        self.partitions = {part.name: part for part in config.partitions}
        self.running: list[Job] = []
        self.pool: Any = make_pool(config, nodes, running=self.running)

    def job(self, part: str, **asked: Any) -> Job:
        """Make a job."""
        spec = JobSpec(time_limit=60, partition=part, **asked)
        return Job(len(self.running) + 1, spec, 0, self.partitions[part], self.pool.units(spec, self.partitions[part]))

    def start(self, part: str, **asked: Any) -> Job | None:
        """Start a job if it fits."""
        job = self.job(part, **asked)
        job.alloc = self.pool.select(job, self.pool.free)
        if not job.alloc:
            return None
        job.alloc_nodes = self.pool.nodes_of(job.alloc)
        assert self.pool.suffices(job, job.alloc)
        self.pool.free -= job.alloc
        self.running.append(job)
        return job

    def end(self, job: Job) -> None:
        """End a job."""
        self.running.remove(job)
        self.pool.release(job.alloc)

    def on(self, node: int) -> list[Job]:
        """Give the jobs of a node."""
        return [job for job in self.running if job.alloc_nodes >> node & 1]


def shares(job: Job) -> bool:
    """Whether a job shares nodes."""
    jobs, forced = SHARES[job.partition.name]
    return jobs > 1 and (forced or (job.spec.oversubscribe and not job.spec.exclusive))


def _could_have(machine: Machine, job: Job, node: int) -> bool:
    """Whether a node has room for a job that starts now."""
    jobs, spec = machine.on(node), job.spec
    most = SHARES[job.partition.name][0] if shares(job) else 1
    memory = sum(one.spec.mem_per_node or one.spec.mem_per_cpu * CPUS for one in jobs)
    gpus = sum(1 for one in jobs if one.spec.gres)
    return (
        len(jobs) < most
        and all(map(shares, jobs))
        and memory + (spec.mem_per_node or spec.mem_per_cpu * CPUS) <= MEMORY
        and gpus + bool(spec.gres) <= GPUS
    )


def _asked(chance: random.Random) -> dict[str, Any]:
    memory = {"mem_per_cpu": 500} if chance.random() < 0.3 else {"mem_per_node": chance.choice((1000, 3000))}
    return memory | {
        "min_nodes": chance.choice((1, 1, 2, 3)),
        "num_cpus": chance.choice((1, 3, 4, 6)),
        "oversubscribe": chance.random() < 0.7,
        "exclusive": chance.random() < 0.1,
        "gres": "gpu:1" if chance.random() < 0.3 else "",
    }


@pytest.mark.parametrize("seed", range(40))
def test_who_has_a_node_together_may_and_who_waits_must(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine, waited, together = Machine(), 0, 0
    for _ in range(60):
        part, asked = chance.choice(list(SHARES)), _asked(chance)
        least = max(asked["min_nodes"], -(-asked["num_cpus"] // CPUS))
        could = [node for node in range(NODES) if _could_have(machine, machine.job(part, **asked), node)]
        loads = [len(machine.on(node)) for node in range(NODES)]
        job = machine.start(part, **asked)
        assert (job is not None) == (len(could) >= least)
        if job is None:
            waited += 1
        else:
            nodes = list(indices(job.alloc_nodes))
            assert set(nodes) <= set(could)
            assert len(nodes) == least
            few = sorted(loads[node] for node in could)[least - 1]
            assert max(loads[node] for node in nodes) <= few, "no node has more jobs than must be"
            assert machine.pool.tres(job.alloc) == {"cpu": CPUS * len(nodes), "node": len(nodes)}
            assert machine.pool.is_whole(job) is not shares(job)
            together += few > 0
        if machine.running and chance.random() < 0.4:
            machine.end(chance.choice(machine.running))
        assert machine.pool.problem([job.alloc for job in machine.running]) == ""
    assert waited
    assert together


@pytest.mark.parametrize("seed", range(20))
def test_what_starts_now_could_be_planned(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine, every = Machine(), (1 << NODES) - 1
    for _ in range(40):
        part, asked = chance.choice(list(SHARES)), _asked(chance)
        job, view = machine.job(part, **asked), machine.pool.view(machine.pool.free)
        opened = chance.randrange(1 << NODES)
        some = machine.pool.without(machine.pool.free, every & ~opened)
        if resources := machine.pool.select(job, some):
            assert machine.pool.find_now(job, view, opened) == machine.pool.nodes_of(resources)
            found = machine.pool.find(job, view, opened)
            assert found
            assert not found & ~(opened & machine.pool.feasible_nodes(job, view))
        machine.start(part, **asked)
        if machine.running and chance.random() < 0.3:
            machine.end(chance.choice(machine.running))


def test_alone_it_is_planned_where_one_other_job_is_as_in_slurm() -> None:
    machine = Machine("")
    for number in range(2):
        machine.start("asked", min_nodes=1, oversubscribe=True, required_nodes=f"n{number}")
    machine.start("asked", min_nodes=1, oversubscribe=True, required_nodes="n0")
    job, view = machine.job("alone", min_nodes=1), machine.pool.view(machine.pool.free)
    assert machine.pool.find_now(job, view, 0b00011) == machine.pool.find(job, view, 0b00011) == 0b00010
    assert machine.pool.select(job, machine.pool.without(machine.pool.free, 0b11100)) == 0
    assert machine.pool.find_now(job, view, 0b00111) == 0b00100


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, 0b00001),
        ({"required_nodes": "n3"}, 0b01000),
        ({"excluded_nodes": "n0"}, 0b01000),
        ({"min_nodes": 2}, 0b00011),
        ({"num_cpus": 5}, 0b00011),
    ],
)
def test_the_oldest_job_of_as_many_nodes_is_joined(asked: dict[str, Any], expected: int) -> None:
    machine = Machine("")
    for node in (2, 0, 3, 1, 4):
        machine.start("forced", min_nodes=1, required_nodes=f"n{node}")
    machine.end(machine.running[0])
    machine.start("alone", min_nodes=1, required_nodes="n2")
    job = machine.start("forced", **{"min_nodes": 1} | asked)
    assert job is not None
    assert bin(job.alloc_nodes) == bin(expected)


def test_nodes_go_down_and_come_back_with_the_jobs_that_they_have() -> None:
    machine = Machine("")
    first, second = machine.start("forced", min_nodes=2), machine.start("forced", min_nodes=5)
    assert first
    assert second
    nodes, pool = [Node(name=f"n{number}") for number in range(NODES)], machine.pool
    nodes[0] = nodes[0]._replace(state=NodeState.DOWN)
    pool.refresh(nodes, [first.alloc, second.alloc])
    assert pool.problem([first.alloc, second.alloc]) == ""
    assert pool.up_nodes == pool.nodes_of(pool.up) == 0b11110
    machine.end(first)
    assert pool.problem([second.alloc]) == ""
    nodes[0] = nodes[0]._replace(state=NodeState.UP)
    pool.refresh(nodes, [second.alloc])
    assert pool.problem([second.alloc]) == ""
    assert machine.start("forced", min_nodes=5)


def test_it_is_made_where_whole_nodes_are_shared_only() -> None:
    nodes = [Node(name=f"n{number}", cpus=CPUS) for number in range(2)]
    for share, kind in ((1, WholeNodePool), (2, OversubscribedNodePool)):
        config = cluster(nodes=nodes, partitions=[partition("p", max_share=share)], SelectType="select/linear")
        assert type(make_pool(config, nodes)) is kind
    one = cluster(cpus=CPUS, SelectType="select/linear")
    assert type(make_pool(one, one.nodes)) is WholeNodePool


def test_a_job_starts_elsewhere_than_on_the_whole_nodes_that_it_prefers() -> None:
    sizes = (("n0", 4, ("b",)), ("n1", 8, ("b",)), ("n2", 2, ()))
    nodes = [Node(name=name, cpus=cpus, features=features) for name, cpus, features in sizes]
    config = cluster(nodes=nodes, partitions=[partition("p", max_share=2)], SelectType="select/linear")
    with Harness(config, sched="sched/easy") as rota:
        rota.submit(nodes=2, cpus=12, constraint="b")
        job = rota.submit(cpus=1, prefer="b")
        assert (job.alloc_nodes, rota.faults) == (0b100, [])
