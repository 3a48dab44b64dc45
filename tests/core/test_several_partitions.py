"""Jobs with several partitions: they have a queue record for each until they start."""

from __future__ import annotations

from typing import Any

import pytest

from rota.accounting import AssociationTree
from rota.core import events as ev
from rota.core.job_view import PluginQueueRecord
from rota.model import Errno, JobState, Node, NodeState, PartitionState, Qos, Reason, RequestError
from rota.testing import Harness, cluster, partition


def _machine(*, passes: bool = True) -> Harness:
    nodes = [Node(name=f"n{place}", cpus=4) for place in range(4)]
    parts = [
        partition("batch"),
        partition("short", (0, 1), max_time=600),
        partition("express", (3,), tier=2),
    ]
    return Harness(cluster(nodes=nodes, partitions=parts), sched="sched/builtin", passes=passes)


def test_a_job_runs_in_the_first_of_its_partitions_that_has_room() -> None:
    with _machine() as rota:
        rota.submit(partition="batch", cpus=8)
        rota.submit(partition="batch", cpus=16)  # blocks batch, and with it all nodes that batch has
        job = rota.submit(partition="short,express", cpus=4)
        assert (job.state, job.partition.name) == (JobState.RUNNING, "express")


def test_each_partition_has_its_own_record() -> None:
    with _machine() as rota:
        rota.submit(cpus=16, limit=60)
        job = rota.submit(partition="short,batch,express", cpus=4, limit=60)
        records = [one._record for one in rota.ctld.queue if one.job_id == job.job_id]
        assert [one.partition.name for one in records] == ["express", "short", "batch"]  # by tier, then as requested
        assert all(type(one.view) is PluginQueueRecord and one.view.whole is job.view for one in records)
        rota.until(60)
        assert (job.state, job.partition.name, len(rota.ctld.queue)) == (JobState.RUNNING, "express", 0)


def test_a_partition_that_is_too_small_or_closed_is_passed_over() -> None:
    with _machine() as rota:
        wide = rota.submit(partition="express,batch", cpus=8)
        assert (wide.state, wide.partition.name) == (JobState.RUNNING, "batch")
        rota.partition("batch", PartitionState.DOWN)
        long = rota.submit(partition="short,batch", cpus=4, limit=6000)
        # Slurm tests the partitions one after the other (build_job_queue): the last one's reason stays.
        assert (long.state, rota.reason(long)) == (JobState.PENDING, Reason.PARTITION_DOWN)
        rota.partition("batch", PartitionState.UP)
        assert (long.state, long.partition.name) == (JobState.RUNNING, "batch")


def test_a_job_that_none_can_serve_is_refused() -> None:
    with _machine() as rota:
        rota.engine.refuse_impossible()
        with pytest.raises(RequestError) as caught:
            rota.submit(partition="short,express", cpus=16)
        assert caught.value.errno is Errno.TOO_MANY_REQUESTED_CPUS
    with (
        _machine() as rota,
        pytest.raises(RequestError, match="Invalid partition name specified: there is no 'nowhere'"),
    ):
        rota.submit(partition="batch,nowhere")


def test_the_default_time_is_that_of_the_partition_where_it_runs() -> None:
    nodes = [Node(name=f"n{place}", cpus=4) for place in range(2)]
    parts = [partition("one", (0,), default_time=100), partition("two", (1,), default_time=200)]
    with Harness(cluster(nodes=nodes, partitions=parts), sched="sched/builtin") as rota:
        rota.submit(partition="one", cpus=4)
        job = rota.submit(partition="one,two", cpus=4, limit=None)
        assert (job.partition.name, job.time_limit) == ("two", 200)


def test_hold_release_and_cancel_are_the_whole_jobs() -> None:
    with _machine() as rota:
        rota.submit(cpus=16)
        job = rota.submit(partition="batch,short", cpus=4, limit=60)
        rota.hold(job)
        assert not [one for one in rota.ctld.queue if one.job_id == job.job_id]
        assert rota.reason(job) is Reason.JOB_HELD_ADMIN
        rota.release(job)
        assert len([one for one in rota.ctld.queue if one.job_id == job.job_id]) == 2
        rota.cancel(job)
        assert (job.state, len(rota.ctld.queue)) == (JobState.CANCELLED, 0)


def test_a_job_that_is_queued_again_may_run_in_another_partition() -> None:
    with _machine() as rota:
        first = rota.submit(partition="batch", cpus=12, limit=100)
        job = rota.submit(partition="express,short", cpus=4, limit=300)
        assert job.partition.name == "express"
        rota.until(100)
        assert first.state.finished
        rota.partition("express", PartitionState.DOWN)
        rota.requeue(job)
        rota.tick()
        assert (job.state, job.partition.name, job.restart_count) == (JobState.RUNNING, "short", 1)


def test_a_job_that_is_queued_again_has_its_highest_priority_again() -> None:
    with _machine(passes=False) as rota:
        job = rota.submit(partition="batch,short", cpus=4, limit=60)
        high, low = (one for one in rota.ctld.queue)
        rota.ctld.set_priority(high, 900)
        rota.ctld.set_priority(low, 300)
        assert rota.ctld.start(low) is None
        assert job.priority == 300
        rota.partition("batch", PartitionState.DOWN)
        rota.partition("short", PartitionState.DOWN)
        rota.requeue(job)
        assert (job.state, job.priority) == (JobState.PENDING, 900)


def test_what_is_saved_has_the_records() -> None:
    with _machine() as rota:
        rota.submit(cpus=16)
        job = rota.submit(partition="short,batch", cpus=4, limit=60)
        before = [(one.job_id, one.partition.name, one.priority) for one in rota.ctld.queue]
        rota.restart()
        assert [(one.job_id, one.partition.name, one.priority) for one in rota.ctld.queue] == before
        assert rota.job(job.job_id).records[0].whole is rota.job(job.job_id)


def test_limits_of_one_partition_are_counted_no_more_when_the_job_ran_in_another() -> None:
    tree = AssociationTree("cluster")
    tree.qos["short"] = Qos(name="short", limits={"GrpJobs": "1", "GrpSubmitJobs": "1"})
    tree.add("user0", "default")
    parts = [partition("a", range(1), qos="short"), partition("b", range(1, 2))]
    with Harness(cluster(nodes=2, partitions=parts, AccountingStorageEnforce="limits"), associations=tree) as rota:
        rota.node("n0", NodeState.DOWN)
        rota.submit(partition="a,b", run=10)
        rota.until(10)
        assert rota.finished[0].partition == "b"
        assert rota.submit(partition="a,b").state is JobState.RUNNING


@pytest.mark.parametrize("enforced", ["", "associations,limits,qos"])
@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ({"allow_accounts": ("chem",)}, Reason.ACCOUNT_NOT_ALLOWED),
        ({"deny_accounts": ("phys",)}, Reason.ACCOUNT_NOT_ALLOWED),
        ({"deny_accounts": ("chem",)}, None),
        ({"allow_qos": ("urgent",)}, Reason.QOS_NOT_ALLOWED),
        ({"deny_qos": ("normal",)}, Reason.QOS_NOT_ALLOWED),
        ({"deny_qos": ("urgent",)}, None),
    ],
)
def test_lists_of_a_partition_count_whatever_is_enforced(
    enforced: str, lists: dict[str, Any], reason: Reason | None
) -> None:
    """What a Slurm 22.05.8 did whose AccountingStorageEnforce was none, with bob of phys and the QOS normal."""
    tree = AssociationTree("cluster")
    tree.add("bob", "phys")
    config = cluster(nodes=1, partitions=[partition("a", **lists)], AccountingStorageEnforce=enforced)
    with Harness(config, associations=tree) as rota:
        job = rota.submit(user="bob", account="phys")
        assert (job.state, job.reason) == (JobState.PENDING if reason else JobState.RUNNING, reason or Reason.NONE)


def test_records_that_a_job_had_before_have_no_say_in_its_priority() -> None:
    config = cluster(
        nodes=1, partitions=[partition("a"), partition("b")], PriorityCalcPeriod="1", PriorityWeightAge="1000"
    )
    with Harness(config, priority="priority/multifactor") as rota:
        rota.submit(limit=4000)
        job = rota.submit(partition="a,b")
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"partition": "b"}))
        rota.until(300)
        rota.run_pass()
        assert (rota.queue, rota.faults, job.priority > 0) == ([job.job_id], [], True)
