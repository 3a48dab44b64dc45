"""The pool against brute force: what a job is given is what trying every node set would find."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.core.job import Job
from rota.model import JobSpec, Node, NodeState, Partition
from rota.resources import ProcessorPool, SharedNodePool, WholeNodePool, make_pool
from rota.resources.nodeset import indices, lowest
from rota.testing import cluster

#: Processors and weight of each node.
NODES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=2, max_size=7)


def _pool(sizes: list[tuple[int, int]]) -> WholeNodePool:
    nodes = [Node(name=f"n{i}", cpus=cpus, weight=weight) for i, (cpus, weight) in enumerate(sizes)]
    return WholeNodePool(cluster(nodes=nodes), nodes)


def _suffices(chosen: tuple[int, ...], sizes: list[tuple[int, int]], spec: JobSpec) -> bool:
    return len(chosen) >= max(spec.min_nodes, 1) and sum(sizes[i][0] for i in chosen) >= spec.num_cpus


@given(sizes=NODES, data=st.data())
def test_units_is_the_least_number_of_nodes_that_any_choice_needs(sizes: list[tuple[int, int]], data: Any) -> None:
    nodes = data.draw(st.integers(1, 2 ** len(sizes) - 1))
    spec = JobSpec(num_cpus=data.draw(st.integers(1, 20)), min_nodes=data.draw(st.integers(0, 8)))
    places = list(indices(nodes))
    least = next(
        (n for n in range(1, len(places) + 1) if any(_suffices(c, sizes, spec) for c in combinations(places, n))), 0
    )
    assert _pool(sizes).units(spec, Partition(name="p", nodes=nodes)) == least


def test_fewer_larger_nodes_are_taken_where_the_partition_allows_no_more() -> None:
    sizes = [(1, 1), (1, 1), (4, 9)]
    spec = JobSpec(num_cpus=2)
    for limit, expected in ((None, 0b011), (2, 0b011), (1, 0b100)):
        part = Partition(name="p", nodes=0b111, max_nodes=limit)
        assert _pool(sizes).select(Job(1, spec, 0, part, 1), 0b111) == expected
    part = Partition(name="p", nodes=0b111, max_nodes=1)
    assert _pool(sizes).select(Job(1, spec, 0, part, 1), 0b011) == 0


@given(st.integers(1, 2**40), st.data())
def test_lowest_gives_the_lowest_bits(nodes: int, data: Any) -> None:
    count = data.draw(st.integers(1, nodes.bit_count()))
    assert list(indices(lowest(nodes, count))) == list(indices(nodes))[:count]


@given(free=st.integers(0, 10), size=st.integers(1, 10))
def test_processors_are_counted(free: int, size: int) -> None:
    pool = ProcessorPool(10)
    part = Partition(name="p", nodes=1)
    job = Job(1, JobSpec(num_cpus=size), 0, part, pool.units(JobSpec(num_cpus=size), part))
    assert pool.select(job, free) == (size if size <= free else 0)
    assert pool.common(free, size) == min(free, size)


def test_a_job_for_the_whole_node_has_all_processors_that_are_counted() -> None:
    pool = ProcessorPool(10)
    nodes = Partition(name="p", nodes=1), Partition(name="p", nodes=1, exclusive=True)
    assert [pool.units(JobSpec(num_cpus=3), one) for one in nodes] == [3, 10]
    assert pool.units(JobSpec(num_cpus=3, exclusive=True), nodes[0]) == 10


def test_one_node_is_shared_by_processor_and_several_are_handed_out_whole() -> None:
    one, several = cluster(cpus=8), cluster(nodes=2)
    assert make_pool(one, one.nodes).interchangeable
    assert isinstance(make_pool(several, several.nodes), WholeNodePool)
    shared = cluster(nodes=2, SelectType="select/cons_tres")
    assert isinstance(make_pool(shared, shared.nodes), SharedNodePool)


@pytest.mark.parametrize("state", [NodeState.DOWN, NodeState.DRAIN])
def test_what_is_released_on_a_node_that_is_not_up_is_not_free(state: NodeState) -> None:
    nodes = [Node(name="n0"), Node(name="n1")]
    pool = WholeNodePool(cluster(nodes=nodes), nodes)
    pool.free = 0
    nodes[1] = nodes[1]._replace(state=state)
    pool.refresh(nodes, [0b11])
    pool.release(0b11)
    assert (pool.free, pool.up) == (0b01, 0b01)


def test_processors_of_a_node_that_is_not_up_come_back_with_it() -> None:
    nodes = [Node(name="n0", cpus=8)]
    pool = ProcessorPool(8)
    pool.free -= 5
    nodes[0] = nodes[0]._replace(state=NodeState.DRAIN)
    pool.refresh(nodes, [5])
    assert (pool.free, pool.up) == (0, 0)
    pool.release(2)
    assert pool.free == 0
    nodes[0] = nodes[0]._replace(state=NodeState.UP)
    pool.refresh(nodes, [3])
    assert (pool.free, pool.up) == (5, 8)
