"""What the pool gives a job is what a scheduler that picks it may start the job on, whatever the job asks for."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from rota.core.job import Job
from rota.loader import PluginHost
from rota.model import JobSpec, Node, Partition, RequestError
from rota.resources import make_pool
from rota.testing import cluster

#: Some of each line, at random.
ASKED: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"sockets_per_node": 2}, {"cores_per_socket": 3}, {"ntasks_per_socket": 1}, {"threads_per_core": 1}),
    ({"ntasks_per_core": 1}, {"ntasks_per_node": 2}, {"min_cpus_per_node": 3}, {"cpus_per_task": 2}),
    ({"gres": "gpu:1"}, {"gres_per_job": "gpu:3"}, {"gres_per_task": "gpu:1"}, {"gres": "gpu:2", "mem_per_gpu": 500}),
    ({"mem_per_node": 3000}, {"mem_per_cpu": 700}, {}, {}),
    ({"min_nodes": 2}, {"min_nodes": 1, "max_nodes": 3}, {"contiguous": True, "min_nodes": 2}, {"spread": True}),
    ({"exclusive": True}, {"oversubscribe": True}, {"cpus_per_gpu": 2}, {}),
)


def _spec(chance: Random) -> JobSpec:
    asked: dict[str, Any] = {}
    for line in ASKED:
        if chance.random() < 0.5:
            asked |= chance.choice(line)
    if "cpus_per_gpu" in asked and not {"gres", "gres_per_job"} & asked.keys():
        del asked["cpus_per_gpu"]
    tasks = chance.randrange(1, 7)
    return JobSpec(tasks * asked.get("cpus_per_task", 1), 60, num_tasks=tasks, **asked)


@pytest.mark.parametrize("threads", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("parameters", ["CR_Core_Memory", "CR_CPU", "CR_CPU_Memory", "CR_Socket_Memory"])
@pytest.mark.parametrize("most", [1, 2])
def test_what_a_job_gets_suffices(most: int, parameters: str, threads: int) -> None:
    nodes = [
        Node(
            name=f"n{place}",
            cpus=2 * cores * threads,
            sockets=2,
            cores_per_socket=cores,
            threads_per_core=threads,
            real_memory=8000,
            gres=("gpu:2",),
        )
        for place, cores in enumerate((4, 3, 3, 4))
    ]
    partition = Partition(name="p", nodes=15, max_share=most)
    started = 0
    with PluginHost([]) as host:
        choose = getattr(host.load("select/cons_tres").container, "select_p_job_test")  # noqa: B009 - any object
        config = cluster(
            nodes=nodes,
            partitions=[partition],
            SelectType="select/cons_tres",
            SelectTypeParameters=parameters,
            DefMemPerCPU="200",
        )
        for seed in range(60):
            chance = Random(seed)  # noqa: S311 - the same jobs each time, no secrets
            pool: Any = make_pool(config, nodes, choose)
            held: list[int] = []
            for number in range(8):
                spec = _spec(chance)
                try:
                    job = Job(number, spec, 0, partition, pool.units(spec, partition))
                except RequestError:
                    continue
                if job.units and (resources := pool.select(job, pool.free)):
                    assert pool.suffices(job, resources), spec
                    view = pool.view(pool.free)
                    assert not pool.find(job, view, pool.up_nodes) & ~pool.feasible_nodes(job, view)
                    pool.free -= resources
                    held.append(resources)
                    started += 1
            assert not pool.problem(held)
    assert started > 60


#: What a job asks for, and what another one does: what that one gets is not for the first.
NOT_ITS_OWN: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"num_cpus": 4}, {"num_cpus": 5}),
    ({"num_cpus": 4}, {"num_cpus": 3}),
    ({"num_cpus": 4, "cpus_per_task": 4}, {"num_cpus": 7}),
    ({"num_cpus": 4, "cpus_per_task": 2, "min_nodes": 2}, {"num_cpus": 7, "min_nodes": 2}),
    ({"num_cpus": 4, "max_nodes": 1}, {"num_cpus": 4, "min_nodes": 2}),
    ({"num_cpus": 4, "min_nodes": 2}, {"num_cpus": 4}),
    ({"num_cpus": 4}, {"num_cpus": 4, "exclusive": True}),
    ({"num_cpus": 4, "exclusive": True}, {"num_cpus": 4}),
    ({"num_cpus": 4, "mem_per_node": 100}, {"num_cpus": 4, "mem_per_node": 101}),
    ({"num_cpus": 4, "mem_per_cpu": 100}, {"num_cpus": 4, "mem_per_node": 399}),
    ({"num_cpus": 4, "gres": "gpu:1"}, {"num_cpus": 4}),
    ({"num_cpus": 4}, {"num_cpus": 4, "gres": "gpu:1"}),
    ({"num_cpus": 4, "gres_per_job": "gpu:1"}, {"num_cpus": 4, "gres_per_job": "gpu:2"}),
    ({"num_cpus": 1, "excluded_nodes": "n0"}, {"num_cpus": 1}),
    ({"num_cpus": 1, "required_nodes": "n1"}, {"num_cpus": 1}),
    ({"num_cpus": 4}, {"num_cpus": 4, "oversubscribe": True}),
    ({"num_cpus": 4, "oversubscribe": True}, {"num_cpus": 4}),
    ({"num_cpus": 4, "oversubscribe": True}, {"num_cpus": 4, "oversubscribe": True, "partition": "other"}),
)


@pytest.mark.parametrize(("asked", "others"), NOT_ITS_OWN)
def test_what_another_job_gets_does_not_suffice(asked: dict[str, Any], others: dict[str, Any]) -> None:
    node = Node(name="n0", cpus=8, cores_per_socket=8, real_memory=8000, gres=("gpu:2",))
    nodes = [node, node._replace(name="n1"), node._replace(name="n2")]
    parts = {name: Partition(name=name, nodes=7, max_share=2) for name in ("own", "other")}
    config = cluster(nodes=nodes, partitions=list(parts.values()), SelectType="select/cons_tres", DefMemPerNode="100")
    with PluginHost([]) as host:
        choose = getattr(host.load("select/cons_tres").container, "select_p_job_test")  # noqa: B009 - any object
        pool: Any = make_pool(config, nodes, choose)
    got = []
    for number, request in enumerate((asked, others)):
        spec = JobSpec(time_limit=60, **({"partition": "own"} | request))
        job = Job(number, spec, 0, parts[spec.partition], pool.units(spec, parts[spec.partition]))
        assert job.units
        got.append((job, pool.select(job, pool.free)))
    (one, its_own), (other, its) = got
    assert pool.suffices(one, its_own)
    assert pool.suffices(other, its)
    assert not pool.suffices(one, its)
