"""Jobs of one node: what is read from each node's ends is what views of the whole machine give, whatever is asked."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from rota.core.job import Job
from rota.loader import PluginHost
from rota.model import JobSpec, Node, Partition, RequestError
from rota.resources import NodeSpace, make_pool
from rota.resources.future.job_ends import Releases
from rota.resources.pools.shared import SharedNodePool
from rota.testing import cluster

#: Some of each line, at random.
_ASKED: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"mem_per_node": 3000}, {"mem_per_cpu": 700}, {"mem_per_node": 100}, {}),
    ({"gres": "gpu:1"}, {"gres": "gpu:2"}, {}, {}),
    ({"cpus_per_task": 2}, {"min_cpus_per_node": 3}, {"threads_per_core": 1}, {}, {}),
    ({"excluded_nodes": "n[1-3]"}, {"constraint": "a|b"}, {"constraint": "a"}, {}, {}),
)
_NODES = 9
_WINDOW = 5000


class _Machine:
    """Nodes of several kinds with random running jobs."""

    def __init__(self, chance: Random, choose: Any, parameters: str, threads: int) -> None:
        nodes = [
            Node(
                name=f"n{place}",
                cpus=(4, 8, 8)[place % 3],
                cores_per_socket=(4, 8, 8)[place % 3] // threads,
                threads_per_core=threads,
                real_memory=(4000, 8000)[place % 2],
                weight=chance.randrange(1, 3) if place > _NODES // 2 else 1,
                features=(("a",), ("b",), ())[place % 3],
                gres=("gpu:2",) if place % 2 else (),
            )
            for place in range(_NODES)
        ]
        self.choose, self._chance = choose, chance
        self._partition = Partition(name="p", nodes=2**_NODES - 1)
        config = cluster(
            nodes=nodes,
            partitions=[self._partition],
            SelectType="select/cons_tres",
            SelectTypeParameters=parameters,
            DefMemPerCPU="200",
        )
        self.pool: Any = make_pool(config, nodes, choose)
        running = []
        for number in range(40):
            job = self.job(number, most=chance.randrange(1, 4))
            if job is None or not (alloc := self.pool.select(job, self.pool.free)):
                continue
            self.pool.take(alloc)
            job.alloc, job.alloc_nodes = alloc, self.pool.nodes_of(alloc)
            job.start_time, job.end_time = 0, chance.choice((30, 60, 95, 400, 1000)) + chance.randrange(200)
            running.append(job)
        self.running = sorted(running, key=lambda job: job.end_time or 0)

    def job(self, number: int, most: int) -> Job | None:
        """Draw a job of at most so many nodes that the machine could serve."""
        asked: dict[str, Any] = {}
        for line in _ASKED:
            asked |= self._chance.choice(line)
        tasks = self._chance.randrange(1, 9)
        if most == 1 and self._chance.random() < 0.3:
            tasks, most = 1, 0  # is of one node as well
        spec = JobSpec(tasks * asked.get("cpus_per_task", 1), 60, num_tasks=tasks, max_nodes=most, **asked)
        try:
            units = self.pool.units(spec, self._partition)
        except RequestError:
            return None
        return Job(number, spec, 0, self._partition, units) if units else None


def _machines(count: int, parameters: str, threads: int = 1) -> Any:
    with PluginHost([]) as host:
        choose = getattr(host.load("select/cons_tres").container, "select_p_job_test")  # noqa: B009 - any object
        for seed in range(count):
            chance = Random(seed)  # noqa: S311 - the same jobs each time, no secrets
            yield chance, _Machine(chance, choose, parameters, threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("parameters", ["CR_Core_Memory", "CR_CPU", "CR_Core_Memory,CR_LLN"])
def test_a_node_is_found_as_in_the_whole_machine(parameters: str, threads: int) -> None:
    found = 0
    for chance, machine in _machines(15, parameters, threads):
        pool, running = machine.pool, machine.running
        releases = Releases(pool, running, [job.end_time or 0 for job in running], pool.view(pool.free))
        for number in range(100, 110):
            job = machine.job(number, most=1)
            if job is None:
                continue
            one = releases.feasible_nodes(job).one
            assert one is not None
            nodes, busy = chance.getrandbits(_NODES), chance.choice((0, chance.getrandbits(_NODES)))
            views = [pool.find(job, releases.view(ended), nodes, busy) for ended in range(len(running) + 1)]
            assert [one.find(job, ended, nodes, busy) for ended in range(len(running) + 1)] == views
            allowed = nodes & pool.ever_feasible_nodes(job)
            assert one.first(allowed) == next((ended for ended, one in enumerate(views) if one), len(running) + 1)
            for ended, node in enumerate(views):
                assert not node & ~one.by(ended)
            found += any(views)
    assert found > 50


@pytest.mark.parametrize("step", [0, 10])
@pytest.mark.parametrize("from_start", [False, True])
def test_plans_are_those_of_the_whole_machine(step: int, *, from_start: bool) -> None:
    later = 0
    for _, machine in _machines(30, "CR_Core_Memory"):
        pool, running = machine.pool, machine.running
        one, whole = (
            NodeSpace[Job](pool, 0, running, resolution=60, window=_WINDOW, step=step, from_start=from_start)
            for _ in range(2)
        )
        for number in range(100, 130):
            job = machine.job(number, most=1)
            if job is None:
                continue
            plan = one.earliest(job, 600, 0)
            with patch.object(SharedNodePool, "one_node", lambda *_: None):
                assert whole.earliest(job, 600, 0) == plan
            if plan is not None:
                later += plan[0] > 0
                for space in (one, whole):
                    space.reserve(job, plan[0], 600, plan[1])
    assert later > 100


def test_a_node_is_taken_at_once_as_by_the_runs() -> None:
    """The rules are those of `test_cons_tres`, where they are carried out one by one."""
    found = 0
    for chance, machine in _machines(40, "CR_CPU"):
        pool = machine.pool
        view = pool.view(pool.up)
        for number in range(100, 110):
            job = machine.job(number, most=1)
            if job is None:
                continue
            nodes = chance.getrandbits(_NODES)
            node = pool.find(job, view, nodes)
            with patch.dict(machine.choose.__globals__, _tightest=lambda *_: None):
                assert pool.find(job, view, nodes) == node
            found += node != 0
    assert found > 150
