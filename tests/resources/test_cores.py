"""Cores and sockets: how many of a node's free processors a job can use that says something of sockets."""

from __future__ import annotations

import numpy as np
import pytest

from rota.model import Node
from rota.resources.node_kinds import NodeKinds
from rota.resources.pools.cores import Cores
from rota.resources.requests.needs import SocketNeeds

#: Two sockets of two cores with two threads.
NODE = Node(name="n1", cpus=8, sockets=2, cores_per_socket=2, threads_per_core=2)


@pytest.mark.parametrize(
    ("asked", "per_task", "free", "usable"),
    [
        # Sockets with free cores: 8 processors are four cores, 6 are two and one, 2 are one.
        (SocketNeeds(2, 0, 0), 1, [8, 6, 4, 2, 0], [8, 6, 4, 0, 0]),
        (SocketNeeds(0, 2, 0), 1, [8, 6, 4, 2, 0], [8, 4, 0, 0, 0]),
        (SocketNeeds(2, 2, 0), 1, [8, 6, 4, 2, 0], [8, 0, 0, 0, 0]),
        (SocketNeeds(3, 0, 0), 1, [8], [0]),
        # Tasks of one processor fill cores, others do not.
        (SocketNeeds(0, 0, 1), 1, [8, 6, 4, 2, 0], [4, 4, 4, 2, 0]),
        (SocketNeeds(0, 0, 3), 1, [8, 6, 4, 2, 0], [8, 6, 4, 2, 0]),
        (SocketNeeds(0, 0, 1), 2, [8, 6, 4, 2, 0], [4, 4, 4, 2, 0]),
        (SocketNeeds(0, 0, 1), 3, [8, 6, 4, 2, 0], [6, 6, 4, 2, 0]),
        # A socket has four processors.
        (SocketNeeds(0, 0, 5), 1, [8], [0]),
    ],
)
def test_free_cores_are_spread_evenly(asked: SocketNeeds, per_task: int, free: list[int], usable: list[int]) -> None:
    cores = Cores(NodeKinds([NODE] * len(free)), "CR_CORE", shared=False)
    assert cores.on_sockets(asked, 0, per_task, np.array(free)).tolist() == usable


def test_unused_threads_do_not_count() -> None:
    cores = Cores(NodeKinds([NODE, NODE]), "CR_CORE", shared=False)
    assert cores.on_sockets(SocketNeeds(0, 0, 1), 1, 1, np.array([8, 2])).tolist() == [2, 1]


def test_with_whole_sockets_all_cores_of_one_are_free_or_none() -> None:
    cores = Cores(NodeKinds([NODE, NODE]), "CR_SOCKET", shared=False)
    assert cores.granule.tolist() == [4, 4]
    assert cores.on_sockets(SocketNeeds(0, 2, 0), 0, 1, np.array([8, 4])).tolist() == [8, 4]
    assert cores.on_sockets(SocketNeeds(2, 0, 0), 0, 1, np.array([8, 4])).tolist() == [8, 0]
    assert cores.used(0, 1, SocketNeeds(0, 0, 1)).tolist() == [2, 2]
