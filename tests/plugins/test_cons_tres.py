"""Which nodes a job gets where nodes are shared, against the rules of select/cons_tres carried out one by one."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rota.loader import PluginHost
from rota.model import Job, JobSpec, Node, Partition
from rota.resources import make_pool
from rota.testing import cluster

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
