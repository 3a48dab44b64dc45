"""Partitions that an administrator changes, creates and deletes: until slurm.conf is read again, whole or not at all.

What each key does is compared with a real Slurm in ``tests/controller/test_partitions.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.snapshot import save
from rota.model import Errno, JobState, NodeState, PartitionState, Reason
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.model import ClusterConfig, Partition

_SHARED: dict[str, Any] = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}


def _config(nodes: int = 4) -> ClusterConfig:
    parts = [partition("batch", range(nodes), default=True), partition("low", range(2), max_time=600, tier=2)]
    return cluster(nodes=nodes, cpus_per_node=4, partitions=parts, **_SHARED)


@pytest.fixture
def rota() -> Iterator[Harness]:
    with Harness(_config(), performs=False) as found:
        yield found


def _part(rota: Harness, name: str = "low") -> Partition:
    return rota.ctld.partitions[name]


def _set(rota: Harness, name: str = "low", **changes: Any) -> list[Errno]:
    wanted = replace(_part(rota, name), **changes)
    return _refusals(rota, ev.UpdatePartition(name=name, partition=wanted))


def _refusals(rota: Harness, event: ev.Event) -> list[Errno]:
    return [one.errno for one in rota.send(event) if isinstance(one, Refused)]


def _shown(rota: Harness) -> dict[str, tuple[object, ...]]:
    return {
        name: (part.nodes, part.max_time, part.default, part.state.value) for name, part in rota.ctld.partitions.items()
    }


def test_what_is_set_lasts_over_restarts_until_slurm_conf_is_read_again(rota: Harness) -> None:
    assert _set(rota, nodes=0b1100, max_time=60, default=True) == []
    assert _refusals(rota, ev.CreatePartition(partition=partition("new", [1], state=PartitionState.DOWN))) == []
    expected = {
        "batch": (0b1111, None, False, "UP"),
        "low": (0b1100, 60, True, "UP"),
        "new": (0b0010, None, False, "DOWN"),
    }
    assert _shown(rota) == expected
    rota.restart()
    assert _shown(rota) == expected
    # slurm.conf was edited before the start: what nobody has set is as there.
    rota.restart(replace(_config(), partitions=(*(replace(one, max_nodes=1) for one in _config().partitions),)))
    assert _shown(rota) == expected
    assert _part(rota).max_nodes == 1
    assert _refusals(rota, ev.DeletePartition(name="batch")) == []
    rota.restart()
    assert [*_shown(rota)] == ["low", "new"]
    rota.reconfigure(_config())
    assert _shown(rota) == {"batch": (0b1111, None, True, "UP"), "low": (0b0011, 600, False, "UP")}
    rota.restart()
    assert _shown(rota) == {"batch": (0b1111, None, True, "UP"), "low": (0b0011, 600, False, "UP")}


def test_nodes_are_set_by_name(rota: Harness) -> None:
    _set(rota, nodes=0b1000)
    name = rota.ctld.nodes[3].name
    config = _config()
    rota.restart(replace(config, nodes=(config.nodes[3], *config.nodes[:3])))
    assert [node.name for place, node in enumerate(rota.ctld.nodes) if _part(rota).nodes >> place & 1] == [name]


def test_a_state_and_a_change_are_one_event(rota: Harness) -> None:
    wanted = replace(_part(rota), max_time=60, state=PartitionState.DRAIN)
    assert _refusals(rota, ev.UpdatePartition(name="low", partition=wanted, state=PartitionState.DOWN)) == []
    assert (_part(rota).max_time, _part(rota).state) == (60, PartitionState.DOWN)
    _set(rota, max_time=120)
    assert _part(rota).state is PartitionState.DOWN


@pytest.mark.parametrize(
    ("changes", "errno"),
    [
        ({"qos": "nosuch"}, Errno.INVALID_QOS),
        ({"nodes": 1 << 4}, Errno.INTERNAL),
        ({"nodes": -1}, Errno.INTERNAL),
        ({"max_share": 65}, Errno.INTERNAL),
        ({"priority_tier": 2**16}, Errno.INTERNAL),
    ],
)
def test_all_or_nothing(rota: Harness, changes: dict[str, Any], errno: Errno) -> None:
    before = save(rota.engine)
    assert _set(rota, **changes, max_time=60, default=True) == [errno]
    assert save(rota.engine) == before
    assert _refusals(rota, ev.CreatePartition(partition=replace(_part(rota), name="new", **changes))) == [errno]
    assert save(rota.engine) == before


def test_a_qos_that_is_not_there_yet_is_no_matter_unless_it_is_set() -> None:
    parts = [partition("batch", range(4), qos="later")]  # sacctmgr may make it at any time
    with Harness(cluster(nodes=4, partitions=parts)) as rota:
        assert _set(rota, "batch", max_time=60) == []
        assert _set(rota, "batch", qos="other") == [Errno.INVALID_QOS]


def test_what_cannot_be(rota: Harness) -> None:
    rota.submit(cpus=1, partition="low")
    rota.submit(cpus=1, partition="batch,low", begin=1000)
    for event, errno in (
        (ev.CreatePartition(partition=partition("low")), Errno.INVALID_PARTITION_NAME),
        (ev.CreatePartition(partition=partition("a,b")), Errno.INTERNAL),
        (ev.CreatePartition(partition=partition("")), Errno.INTERNAL),
        (ev.UpdatePartition(name="nosuch", partition=partition("low")), Errno.INVALID_PARTITION_NAME),
        (ev.DeletePartition(name="nosuch"), Errno.INVALID_PARTITION_NAME),
        (ev.DeletePartition(name="low"), Errno.PARTITION_IN_USE),
        (ev.DeletePartition(name="batch"), Errno.PARTITION_IN_USE),
    ):
        before = save(rota.engine)
        assert _refusals(rota, event) == [errno]
        assert save(rota.engine) == before


def test_the_last_partition_stays() -> None:
    with Harness(cluster(nodes=1)) as rota:
        assert _refusals(rota, ev.DeletePartition(name="batch")) == [Errno.PARTITION_IN_USE]


def test_running_jobs_go_on_and_waiting_ones_are_reconsidered(rota: Harness) -> None:
    running = rota.submit(nodes=2, cpus=8, partition="low", limit=600).job_id
    waiting = rota.submit(nodes=1, cpus=4, partition="low", limit=600).job_id
    assert _set(rota, max_time=300) == []
    assert (rota.state(running), rota.job(running).time_limit) == (JobState.RUNNING, 600)
    assert rota.reason(waiting) is Reason.PARTITION_TIME_LIMIT
    assert _set(rota, nodes=0b1100, max_time=None) == []  # nodes that nobody uses
    assert (rota.state(running), rota.state(waiting)) == (JobState.RUNNING, JobState.RUNNING)
    rota.restart()
    assert rota.job(waiting).alloc_nodes == 0b0100
    rota.end(running)


def test_a_new_partition_runs_jobs_and_leaves_when_they_are_over(rota: Harness) -> None:
    _refusals(rota, ev.CreatePartition(partition=partition("new", [3])))
    job = rota.submit(cpus=4, partition="new").job_id
    assert rota.state(job) is JobState.RUNNING
    rota.restart()
    rota.reconfigure(_config())  # it is not in slurm.conf
    assert _part(rota, "new").state is PartitionState.INACTIVE
    assert _refusals(rota, ev.UpdatePartition(name="new", partition=_part(rota, "new"))) == [
        Errno.INVALID_PARTITION_NAME
    ]
    rota.end(job)
    assert "new" not in rota.ctld.partitions


def test_a_deleted_partition_can_be_created_again(rota: Harness) -> None:
    assert _refusals(rota, ev.DeletePartition(name="low")) == []
    assert _refusals(rota, ev.CreatePartition(partition=partition("low", [3]))) == []
    rota.restart()
    assert _shown(rota)["low"] == (0b1000, None, False, "UP")
    rota.reconfigure(_config())
    assert _shown(rota)["low"] == (0b0011, 600, False, "UP")


def test_nodes_that_leave_are_no_matter(rota: Harness) -> None:
    job = rota.submit(nodes=4, cpus=16).job_id
    rota.reconfigure(_config(3))
    assert rota.ctld.nodes[3].state is NodeState.DRAIN
    assert _set(rota, nodes=0b0100) == []
    rota.end(job)
    rota.restart(_config(3))
    assert _shown(rota)["low"][0] == 0b0100
