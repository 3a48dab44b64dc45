"""Nodes and partitions that are added, removed and changed while jobs use them: by `Reconfigure`, and in a restart.

The result is the same in both cases: used nodes are drained first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.machine import CHANGED_REASON, REMOVED_REASON
from rota.inspect.plan_reader import PlanReader
from rota.model import Errno, JobState, NodeState, PartitionState, Reason
from rota.model.reservation import Reservation
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import ClusterConfig

    Change = Callable[[Harness, ClusterConfig], None]


def _reconfigure(rota: Harness, config: ClusterConfig) -> None:
    rota.reconfigure(config)


def _restart(rota: Harness, config: ClusterConfig) -> None:
    rota.restart(config)


ways = pytest.mark.parametrize("change", [_reconfigure, _restart], ids=["reconfigure", "restart"])
kinds = pytest.mark.parametrize(
    "parameters",
    [{"SelectType": "select/linear"}, {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}],
    ids=["whole", "shared"],
)


def _nodes(rota: Harness) -> dict[str, str]:
    return {node.name: f"{node.state.value} {node.cpus}" for node in rota.ctld.nodes}


def _held(rota: Harness, job_id: int) -> list[str]:
    job = rota.job(job_id)
    return [node.name for place, node in enumerate(rota.ctld.nodes) if job.alloc_nodes >> place & 1]


@ways
@kinds
def test_nodes_come(change: Change, parameters: dict[str, Any]) -> None:
    with Harness(cluster(nodes=2, cpus_per_node=2, **parameters)) as rota:
        rota.submit(cpus=4)
        rota.submit(cpus=4)
        change(rota, cluster(nodes=5, cpus_per_node=2, **parameters))
        assert [rota.engine.view.line(rota.job(job)).nodes for job in (1, 2)] == [("n0", "n1"), ("n2", "n3")]
        assert [rota.state(job) for job in (1, 2)] == [JobState.RUNNING] * 2
        assert (_held(rota, 1), _held(rota, 2)) == (["n0", "n1"], ["n2", "n3"])


@ways
@kinds
def test_a_node_that_is_no_more_drains_first(change: Change, parameters: dict[str, Any]) -> None:
    with Harness(cluster(nodes=3, cpus_per_node=2, **parameters)) as rota:
        jobs = [rota.submit(cpus=2).job_id for _ in range(3)]
        waiting = rota.submit(cpus=2).job_id
        config = cluster(nodes=3, cpus_per_node=2, **parameters)
        without = replace(config, nodes=config.nodes[1:], partitions=(replace(config.partitions[0], nodes=0b11),))
        change(rota, without)
        assert _nodes(rota) == {"n1": "UP 2", "n2": "UP 2", "n0": "DRAIN 2"}
        assert rota.ctld.nodes[2].reason == REMOVED_REASON
        assert rota.engine.view.nodes()[2].reason == REMOVED_REASON
        assert [_held(rota, job) for job in jobs] == [["n0"], ["n1"], ["n2"]]
        rota.end(jobs[0])
        assert _nodes(rota) == {"n1": "UP 2", "n2": "UP 2"}
        assert rota.state(waiting) is JobState.PENDING
        rota.end(jobs[2])
        assert _held(rota, waiting) == ["n2"]
        assert rota.finished[0].nodes == 0b100  # as it was when the job was over


@ways
@kinds
def test_a_node_with_other_hardware_drains_first_and_then_has_it(change: Change, parameters: dict[str, Any]) -> None:
    with Harness(cluster(nodes=2, cpus_per_node=2, **parameters)) as rota:
        job = rota.submit(cpus=2).job_id
        config = cluster(nodes=2, cpus_per_node=8, **parameters)
        change(rota, config)
        assert _nodes(rota) == {"n0": "DRAIN 2", "n1": "UP 8"}
        assert rota.ctld.nodes[0].reason == CHANGED_REASON
        rota.end(job)
        larger = rota.submit(cpus=16).job_id
        assert _nodes(rota) == {"n0": "UP 8", "n1": "UP 8"}
        assert (rota.ctld.nodes[0].reason, _held(rota, larger)) == ("", ["n0", "n1"])


@ways
def test_a_node_that_is_down_stays_so(change: Change) -> None:
    with Harness(cluster(nodes=2)) as rota:
        rota.node("n1", NodeState.DOWN)
        change(rota, cluster(nodes=3))
        assert [node.state.value for node in rota.ctld.nodes] == ["UP", "DOWN", "UP"]


@ways
def test_one_that_comes_back_while_it_drains_is_up_again(change: Change) -> None:
    with Harness(cluster(nodes=3)) as rota:
        rota.submit(nodes=3)
        change(rota, cluster(nodes=2))
        assert _nodes(rota) == {"n0": "UP 1", "n1": "UP 1", "n2": "DRAIN 1"}
        change(rota, cluster(nodes=3))
        assert _nodes(rota) == {"n0": "UP 1", "n1": "UP 1", "n2": "UP 1"}
        rota.end(1)
        assert rota.ctld.free == 0b111


@ways
@kinds
def test_jobs_that_nothing_could_serve_any_more_wait_until_something_can(
    change: Change, parameters: dict[str, Any]
) -> None:
    small, large = cluster(nodes=2, **parameters), cluster(nodes=4, **parameters)
    with Harness(large) as rota:
        rota.submit(cpus=4, nodes=4)
        wide, named = rota.submit(cpus=3, nodes=3).job_id, rota.submit(nodes=1, required_nodes="n3").job_id
        change(rota, small)
        assert [rota.reason(job) for job in (wide, named)] == [Reason.PARTITION_CONFIG, Reason.BAD_CONSTRAINTS]
        rota.end(1)
        assert len(rota.ctld.nodes) == 2
        assert [(line.job_id, line.num_nodes) for line in rota.engine.view.jobs()] == [(wide, 3), (named, 1)]
        change(rota, large)
        assert (_held(rota, wide), _held(rota, named)) == (["n0", "n1", "n2"], ["n3"])


@ways
def test_a_partition_that_is_no_more_stays_for_its_jobs(change: Change) -> None:
    both = [partition("batch", default=True), partition("old")]
    with Harness(cluster(nodes=2, partitions=both)) as rota:
        runs, waits = rota.submit(nodes=2, partition="old").job_id, rota.submit(nodes=1, partition="old").job_id
        change(rota, cluster(nodes=2, partitions=both[:1]))
        assert rota.ctld.partitions["old"].state is PartitionState.INACTIVE
        assert (rota.state(runs), rota.reason(waits)) == (JobState.RUNNING, Reason.PARTITION_INACTIVE)
        rota.end(runs)
        assert rota.state(waits) is JobState.PENDING
        rota.cancel(waits)
        assert list(rota.ctld.partitions) == ["batch"]


@ways
def test_a_partition_that_comes_back_is_as_slurm_conf_has_it(change: Change) -> None:
    both = [partition("batch", default=True), partition("old")]
    with Harness(cluster(nodes=2, partitions=both)) as rota:
        rota.submit(nodes=1, partition="old")
        change(rota, cluster(nodes=2, partitions=both[:1]))
        change(rota, cluster(nodes=2, partitions=both))
        assert rota.ctld.partitions["old"].state is PartitionState.UP


@ways
def test_reservations_keep_their_nodes(change: Change) -> None:
    with Harness(cluster(nodes=4)) as rota:
        for name, nodes in (("r", 0b1100), ("gone", 0b0001)):
            one = Reservation(name=name, start_time=100, end_time=200, nodes=nodes, users=("ann",))
            rota.send(ev.CreateReservation(reservation=one))
        rota.submit(nodes=1, user="ann", reservation="gone")
        config = cluster(nodes=4)
        change(rota, replace(config, nodes=config.nodes[1:], partitions=(replace(config.partitions[0], nodes=0b111),)))
        assert {one.name: one.nodes for one in rota.engine.cluster.reservations.all.values()} == {"r": 0b0110}
        assert rota.reason(1) is Reason.RESERVATION_DELETED


@ways
def test_plans_are_for_the_nodes_that_they_were_for(change: Change) -> None:
    with Harness(cluster(nodes=3), sched="sched/easy") as rota:
        rota.submit(nodes=3, limit=1000)
        first = rota.submit(nodes=2).job_id
        before = rota.job(first).planned_start
        assert before == 1000
        config = cluster(nodes=3)
        change(rota, replace(config, nodes=(config.nodes[0]._replace(name="new"), *config.nodes)))
        assert rota.job(first).planned_start in {before, None}


def test_what_could_not_be_held_is_refused_and_nothing_changes() -> None:
    shared: dict[str, Any] = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}
    with Harness(cluster(nodes=2, cpus_per_node=4, **shared)) as rota:
        rota.submit(cpus=2)
        effects = rota.send(
            ev.Reconfigure(config=cluster(nodes=2, cpus_per_node=4, SelectType="select/linear"), request_id=1)
        )
        assert [effect.message for effect in effects if isinstance(effect, Refused)] == [
            "jobs that run hold what they could not on such a machine (nodes are given out whole): let them end first"
        ]
        assert rota.state(1) is JobState.RUNNING
        rota.end(1)
        rota.reconfigure(cluster(nodes=2, cpus_per_node=4, SelectType="select/linear"))
        assert rota.submit(cpus=2).alloc == 1


@ways
def test_a_partition_that_leaves_is_not_opened_again(change: Change) -> None:
    both = [partition("new", range(2)), partition("old", range(2))]
    with Harness(cluster(nodes=2, partitions=both)) as rota:
        rota.submit(nodes=1, partition="old")
        change(rota, cluster(nodes=2, partitions=both[:1]))
        effects = rota.send(ev.UpdatePartition(name="old", state=PartitionState.UP))
        assert [one.errno for one in effects if isinstance(one, Refused)] == [Errno.INVALID_PARTITION_NAME]
        assert rota.ctld.partitions["old"].state is PartitionState.INACTIVE


@ways
@pytest.mark.parametrize("state", [NodeState.DOWN, NodeState.DRAIN, NodeState.UP])
def test_a_node_that_leaves_is_not_given_out_again(change: Change, state: NodeState) -> None:
    with Harness(cluster(nodes=2, cpus_per_node=2), performs=False) as rota:
        rota.submit(nodes=2, cpus=4)
        config = cluster(nodes=2, cpus_per_node=2)
        change(rota, replace(config, nodes=config.nodes[:1], partitions=(replace(config.partitions[0], nodes=1),)))
        rota.node("n1", state)
        rota.node("n1", NodeState.UP)
        assert (rota.ctld.nodes[1].state, rota.ctld.nodes[1].reason) == (NodeState.DRAIN, REMOVED_REASON)


def test_an_array_that_no_partition_serves_any_more_can_be_taken_apart() -> None:
    parts = [partition("a"), partition("b")]
    with Harness(cluster(nodes=2, cpus_per_node=4, partitions=parts), performs=False) as rota:
        array = rota.submit(nodes=2, cpus=8, array="0-2", partition="a,b", begin=1000)
        rota.reconfigure(cluster(nodes=2, cpus_per_node=1, partitions=[partition("a"), partition("b")]))
        rota.send(ev.Hold(job_id=array.job_id, task_id=1))
        assert rota.reason(array.job_id + 1) is Reason.JOB_HELD_ADMIN
        rota.restart()
        assert rota.reason(array.job_id) is Reason.BEGIN_TIME
        rota.until(1000)
        assert rota.reason(array.job_id) is Reason.PARTITION_CONFIG


def test_a_job_that_could_start_too_late_when_a_node_leaves_is_ended_in_the_next_pass() -> None:
    """What it has waited for in vain is forgotten by then, and that is noticed when the machine changes."""
    config = cluster(nodes=2, cpus_per_node=2, MinJobAge="10")
    with Harness(config) as rota:
        rota.submit(cpus=2, run=5)
        holder = rota.submit(cpus=2, limit=3000)
        late = rota.submit(cpus=1, limit=500, deadline=600, dependency="afternotok:1")
        rota.until(8)
        rota.reconfigure(replace(config, nodes=config.nodes[:1], partitions=(replace(config.partitions[0], nodes=1),)))
        assert rota.reason(late) is Reason.DEPENDENCY_NEVER_SATISFIED
        rota.until(700)
        rota.send(ev.JobEnded(job_id=holder.job_id))
        assert [(one.job_id, one.state) for one in rota.finished[-2:]] == [
            (holder.job_id, JobState.COMPLETED),
            (late.job_id, JobState.DEADLINE),
        ]


def test_another_time_to_remember_jobs_brings_none_back() -> None:
    with Harness(cluster(cpus=2, MinJobAge="10")) as rota:
        rota.submit(cpus=1, run=1, exit_code=1)
        rota.until(100)
        rota.reconfigure(cluster(cpus=2, MinJobAge="300"))
        assert rota.submit(cpus=1, dependency="afterok:1").state is JobState.RUNNING


def test_a_node_that_cannot_be_removed_yet_is_still_there_after_a_restart() -> None:
    shared: dict[str, Any] = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core_Memory"}
    one = cluster(nodes=1, cpus_per_node=4, SelectType="select/cons_tres", SelectTypeParameters="CR_Core")
    with Harness(cluster(nodes=2, cpus_per_node=4, **shared)) as rota:
        rota.submit(cpus=1, mem_per_node=1)
        rota.submit(cpus=4)
        rota.send(ev.Reconfigure(config=one))
        rota.end(2)  # what the other job holds, memory, cannot be held where processors of one node are allocated
        nodes = [line.name for line in rota.engine.view.nodes()]
        rota.restart()
        assert [line.name for line in rota.engine.view.nodes()] == nodes
        rota.end(1)
        assert [line.name for line in rota.engine.view.nodes()] == ["n0"]


def test_a_plan_names_the_nodes_that_there_are_now() -> None:
    with Harness(cluster(nodes=2), sched="sched/backfill") as rota:
        reader = PlanReader(rota.engine.view)
        assert reader.plan().closed == ()
        rota.send(ev.Reconfigure(config=cluster(nodes=3)))
        rota.node("n2", NodeState.DOWN)
        assert [(one.what, one.nodes) for one in reader.plan().closed] == [("DOWN", "n2")]
