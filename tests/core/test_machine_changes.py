"""Nodes and partitions that change their states, partition limits, and the reasons of jobs that wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.core.events import UpdateNode
from rota.core.snapshot import save
from rota.model import Errno, JobState, NodeState, PartitionState, Reason, RequestError
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import ClusterConfig

PROCESSORS = cluster(cpus=4)
NODES = cluster(nodes=4)


@pytest.mark.parametrize("config", [PROCESSORS, NODES], ids=["processors", "nodes"])
def test_a_node_that_goes_down_takes_its_jobs_along(config: ClusterConfig) -> None:
    with Harness(config) as rota:
        job, other = rota.submit(cpus=1, requeue=False), rota.submit(cpus=1, requeue=False)
        rota.node("n0", NodeState.DOWN)
        assert (rota.state(job), job.reason) == (JobState.NODE_FAIL, Reason.NODE_DOWN)
        # On nodes the other one has a node of its own.
        assert rota.state(other) is (JobState.NODE_FAIL if config is PROCESSORS else JobState.RUNNING)


def test_a_job_that_may_be_requeued_survives_its_node_and_starts_elsewhere() -> None:
    with Harness(NODES) as rota:
        job = rota.submit(cpus=2, requeue=True)
        assert job.alloc == 0b0011
        rota.wait(10)
        rota.node("n1", NodeState.DOWN)
        assert (rota.state(job), job.alloc, job.start_time, job.restart_count) == (JobState.RUNNING, 0b1100, 10, 1)


def test_a_requeued_job_waits_until_enough_nodes_are_back() -> None:
    with Harness(NODES) as rota:
        job = rota.submit(cpus=4, requeue=True)
        rota.node("n2", NodeState.DOWN)
        assert rota.state(job) is JobState.PENDING
        rota.wait(100)
        rota.node("n2", NodeState.UP)
        assert (rota.state(job), job.start_time) == (JobState.RUNNING, 100)


@pytest.mark.parametrize("config", [PROCESSORS, NODES], ids=["processors", "nodes"])
def test_a_draining_node_lets_its_job_finish_and_takes_no_other(config: ClusterConfig) -> None:
    with Harness(config) as rota:
        job = rota.submit(cpus=4)
        later = rota.submit(cpus=4)
        rota.node("n0", NodeState.DRAIN)
        assert rota.state(job) is JobState.RUNNING
        rota.end(job)
        assert (rota.state(job), rota.state(later)) == (JobState.COMPLETED, JobState.PENDING)
        rota.node("n0", NodeState.UP)
        assert rota.state(later) is JobState.RUNNING


@pytest.mark.parametrize("config", [PROCESSORS, NODES], ids=["processors", "nodes"])
def test_a_node_that_comes_back_while_its_job_still_completes_is_not_given_twice(config: ClusterConfig) -> None:
    with Harness(config, performs=False) as rota:
        job = rota.submit(cpus=4, requeue=False)
        later = rota.submit(cpus=4)
        rota.node("n0", NodeState.DOWN)
        rota.node("n0", NodeState.UP)
        assert rota.state(later) is JobState.PENDING
        rota.end(job)
        assert rota.state(later) is JobState.RUNNING


def test_a_partition_that_is_down_accepts_jobs_and_starts_none() -> None:
    with Harness() as rota:
        running = rota.submit(cpus=1)
        rota.partition("batch", PartitionState.DOWN)
        job = rota.submit(cpus=1)
        assert (rota.state(job), rota.reason(job)) == (JobState.PENDING, Reason.PARTITION_DOWN)
        assert rota.state(running) is JobState.RUNNING
        rota.partition("batch", PartitionState.UP)
        assert rota.state(job) is JobState.RUNNING


def test_a_draining_partition_starts_the_jobs_that_it_has() -> None:
    with Harness() as rota:
        first, second = rota.submit(cpus=4), rota.submit(cpus=4)
        rota.partition("batch", PartitionState.DRAIN)
        rota.end(first)
        assert rota.state(second) is JobState.RUNNING


def test_an_inactive_partition_starts_none() -> None:
    with Harness() as rota:
        first, second = rota.submit(cpus=4), rota.submit(cpus=4)
        rota.partition("batch", PartitionState.INACTIVE)
        rota.end(first)
        assert rota.reason(second) is Reason.PARTITION_INACTIVE
        rota.partition("batch", PartitionState.UP)
        assert rota.state(second) is JobState.RUNNING


def _limited(*, max_time: int | None = None, max_nodes: int | None = None, tier: int = 1) -> ClusterConfig:
    return cluster(
        nodes=4, partitions=[partition("batch", range(4), max_time=max_time, max_nodes=max_nodes, tier=tier)]
    )


def test_a_job_over_the_partitions_time_limit_waits_until_that_is_raised() -> None:
    with Harness(_limited(max_time=600)) as rota:
        job, other = rota.submit(limit=601), rota.submit(limit=600)
        assert rota.reason(job) is Reason.PARTITION_TIME_LIMIT
        assert rota.state(other) is JobState.RUNNING
        rota.reconfigure(_limited(max_time=3600))
        assert rota.state(job) is JobState.RUNNING


def test_a_job_over_the_partitions_node_limit_waits_until_that_is_raised() -> None:
    with Harness(_limited(max_nodes=2)) as rota:
        job, other = rota.submit(cpus=3, min_nodes=3), rota.submit(cpus=2)
        assert rota.reason(job) is Reason.PARTITION_NODE_LIMIT
        assert rota.state(other) is JobState.RUNNING
        rota.end(other)
        rota.reconfigure(_limited(max_nodes=3))
        assert rota.state(job) is JobState.RUNNING


def test_a_job_that_would_have_more_nodes_than_the_limit_waits_until_it_is_raised() -> None:
    with Harness(_limited(max_nodes=2)) as rota:
        job = rota.submit(max_nodes=3)
        assert rota.reason(job) is Reason.PARTITION_NODE_LIMIT
        rota.reconfigure(_limited(max_nodes=3))
        assert rota.ctld.size(job.alloc) == 3


def test_processors_that_are_more_than_the_partitions_nodes_have_are_refused() -> None:
    with Harness(_limited(max_nodes=2)) as rota, pytest.raises(RequestError, match="configuration is not available"):
        rota.submit(cpus=3)


def test_reconfiguring_reorders_the_queue_by_the_new_tiers() -> None:
    def config(tier: int) -> ClusterConfig:
        return cluster(nodes=2, partitions=[partition("a"), partition("b", tier=tier)])

    with Harness(config(1)) as rota:
        rota.submit(cpus=2)
        first, second = rota.submit(cpus=2, partition="a"), rota.submit(cpus=2, partition="b")
        assert rota.queue == [first.job_id, second.job_id]
        rota.reconfigure(config(5))
        assert rota.queue == [second.job_id, first.job_id]


def test_two_harnesses_of_one_configuration_share_nothing() -> None:
    with Harness(NODES) as one, Harness(NODES) as other:
        one.node("n0", NodeState.DOWN)
        one.partition("batch", PartitionState.DOWN)
        assert other.submit(cpus=4).state is JobState.RUNNING
        assert NODES.nodes[0].state is NodeState.UP


def test_resources_is_why_the_first_waits_and_priority_why_the_others_do() -> None:
    with Harness() as rota:
        running = rota.submit(cpus=4)
        first, second = rota.submit(cpus=4), rota.submit(cpus=1)
        assert (rota.reason(first), rota.reason(second)) == (Reason.RESOURCES, Reason.PRIORITY)
        rota.cancel(first)  # take away what had priority ...
        assert rota.reason(second) is Reason.RESOURCES
        rota.end(running)  # ... and give it resources
        assert rota.state(second) is JobState.RUNNING


def test_each_of_several_causes_is_shown_in_turn_as_the_one_before_is_removed() -> None:
    with Harness(_limited(max_time=600)) as rota:
        rota.partition("batch", PartitionState.DOWN)
        job = rota.submit(cpus=4, limit=700, begin=1000, hold=True)
        seen = [rota.reason(job)]
        cures: tuple[Callable[[], None], ...] = (
            lambda: rota.release(job),
            lambda: rota.until(1000),
            lambda: rota.partition("batch", PartitionState.UP),
            lambda: rota.reconfigure(_limited(max_time=700)),
        )
        for cure in cures:
            cure()
            seen.append(rota.reason(job))
        assert seen == [
            Reason.JOB_HELD_USER,
            Reason.BEGIN_TIME,
            Reason.PARTITION_DOWN,
            Reason.PARTITION_TIME_LIMIT,
            Reason.NONE,
        ]
        assert job.start_time == 1000


def test_the_configuration_given_is_left_alone() -> None:
    config = cluster(nodes=2)
    before = repr(config)
    with Harness(config) as rota:
        rota.node("n0", NodeState.DRAIN)
        rota.partition("batch", PartitionState.DOWN)
    assert repr(config) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"state": NodeState.DOWN, "reason": "odd"},
        {"state": NodeState.DRAIN},
        {"state": NodeState.UP},
        {"reason": "odd", "comment": "text"},
        {"features": ("a", "b"), "weight": 3},
    ],
)
def test_several_nodes_change_as_one_after_the_other(changes: dict[str, Any]) -> None:
    saved = []
    for at_once in (True, False):
        with Harness(cluster(nodes=6), passes=False, performs=False) as rota:
            for cpus in (1, 2, 1):
                rota.submit(cpus=cpus)
            rota.run_pass()
            rota.node("n1", NodeState.DOWN)
            names = ("n5", "n1", "n0", "n3")
            if at_once:
                rota.send(UpdateNode(name=names[0], others=names[1:], **changes))
            else:
                for name in names:
                    rota.send(UpdateNode(name=name, **changes))
            assert not rota.refused
            saved.append(save(rota.engine))
            assert {rota.engine.state.nodes[index].features for index in (0, 1, 3, 5)} == {changes.get("features", ())}
    assert saved[0] == saved[1]


def test_of_several_nodes_one_that_is_unknown_changes_none() -> None:
    with Harness(NODES) as rota:
        before = save(rota.engine)
        rota.send(UpdateNode(name="n0", others=("n1", "n9"), state=NodeState.DOWN, features=("a",)))
        assert [one.errno for one in rota.refused] == [Errno.INVALID_NODE_NAME]
        assert save(rota.engine) == before
