"""Which nodes a job gets where nodes are shared, against the rules of select/cons_tres carried out one by one."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.core.job import Job
from rota.loader import PluginHost
from rota.model import JobSpec, Node, Partition
from rota.resources import Candidates, make_pool
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Processors, weight, and whether a node is open.
NODES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.booleans()), min_size=2, max_size=14)


def _by_the_rules(nodes: list[tuple[int, int, bool]], cpus: int, count: int) -> int:
    """Take run after run of open nodes of one weight: the tightest that suffices, else the largest.

    From each node at least one processor is needed, so that one is left for each of the nodes still to come.
    """
    opened = [(place, size, weight) for place, (size, weight, is_open) in enumerate(nodes) if is_open]
    apart = groupby(enumerate(opened), lambda item: (item[1][0] - item[0], item[1][2]))
    left = [[node for _, node in run] for _, run in apart]
    taken = 0
    while left and (cpus > 0 or count > 0):
        lightest = min(run[0][2] for run in left)
        runs = [(sum(size for _, size, _ in run), run) for run in left if run[0][2] == lightest]
        enough = [one for one in runs if one[0] >= cpus and len(one[1]) >= count]
        run = (min(enough, key=itemgetter(0)) if enough else max(runs, key=itemgetter(0)))[1]
        left.remove(run)
        if count <= 1 and (suffice := [node for node in run if node[1] >= cpus]):
            run = [min(suffice, key=itemgetter(1))]
        for place, size, _ in run:
            if cpus > 0 or count > 0:
                cpus -= min(size, max(cpus - max(count - 1, 0), 1))
                count -= 1
                taken |= 1 << place
    return 0 if cpus > 0 or count > 0 else taken


@given(nodes=NODES, data=st.data())
def test_nodes_are_taken_by_the_rules(nodes: list[tuple[int, int, bool]], data: Any) -> None:
    machine = [
        Node(name=f"n{place}", cpus=size, cores_per_socket=size, weight=weight)
        for place, (size, weight, _) in enumerate(nodes)
    ]
    count = data.draw(st.integers(1, len(nodes)))
    cpus = data.draw(st.integers(count, max(count, sum(size for size, _, _ in nodes))))
    opened = sum(1 << place for place, (_, _, is_open) in enumerate(nodes) if is_open)
    with PluginHost([]) as host:
        choose = getattr(host.load("select/cons_tres").container, "select_p_job_test")  # noqa: B009 - any object
        config = cluster(nodes=machine, SelectType="select/cons_tres", SelectTypeParameters="CR_CPU")
        pool: Any = make_pool(config, machine, choose)
        partition = Partition(name="p", nodes=(1 << len(nodes)) - 1)
        job = Job(1, JobSpec(cpus, 60, min_nodes=count), 0, partition, 1)
        assert pool.find(job, pool.view(pool.free), opened) == _by_the_rules(nodes, cpus, count)


@pytest.fixture(scope="module")
def plugin() -> Iterator[Any]:
    """Give the plugin."""
    with PluginHost([]) as host:
        yield host.load("select/cons_tres").container


@pytest.mark.parametrize("seed", range(8))
def test_many_nodes_are_taken_at_once_as_one_by_one(seed: int, plugin: Any) -> None:
    chance = Random(seed)  # noqa: S311 - the same nodes each time, no secrets
    for _ in range(100):
        count = chance.randrange(2, 25)
        cpus = [chance.choice((2, 2, 2, 3, 6)) for _ in range(count)]
        machine = [Node(name=f"n{place}", cpus=size, cores_per_socket=size) for place, size in enumerate(cpus)]
        config = cluster(nodes=machine, SelectType="select/cons_tres", SelectTypeParameters="CR_CPU")
        pool: Any = make_pool(config, machine)
        some = [place for place in range(count) if chance.random() < 0.8]
        weights = [chance.choice((1, 1, 1, 2)) for _ in some]
        candidates = Candidates(np.array(some, np.int64), np.array(cpus)[some], np.array(weights, np.int64))
        for _ in range(10):
            least = chance.randrange(1, count + 1)
            asked = chance.choice(({}, {}, {"max_nodes": chance.randrange(least, count + 1)}, {"required_nodes": "n0"}))
            spec = JobSpec(
                chance.randrange(least, sum(cpus) + 1),
                60,
                cpus_per_task=chance.randrange(1, 3),
                min_nodes=least,
                use_min_nodes=chance.random() < 0.5,
                **asked,
            )
            needs = pool.needs(spec, Partition(name="p", nodes=(1 << count) - 1))
            picked = []
            for many in (1, count + 1):
                with patch("rota.plugins.select._runs._MANY", many):
                    picked.append(plugin.select_p_job_test(needs, candidates))
            assert picked[0] == picked[1]


@pytest.mark.parametrize(("named", "nodes"), [("n2", [2, 3]), ("n3", [2, 3]), ("n0", [0, 1]), ("n0,n3", [0, 1, 3])])
def test_nodes_beside_those_that_are_named_come_first(named: str, nodes: list[int], plugin: Any) -> None:
    """Slurm's rule: upwards from the first that is named, then downwards, in a run of one weight."""
    machine = [Node(name=f"n{place}", cpus=2, cores_per_socket=2) for place in range(4)]
    pool: Any = make_pool(cluster(nodes=machine, SelectType="select/cons_tres"), machine)
    weights = np.array([1, 1, 5, 5], np.int64)
    candidates = Candidates(np.arange(4), np.full(4, 2), weights)
    spec = JobSpec(len(nodes), 60, min_nodes=len(nodes), required_nodes=named)
    needs = pool.needs(spec, Partition(name="p", nodes=15))
    assert [node for node, _ in plugin.select_p_job_test(needs, candidates)] == nodes
