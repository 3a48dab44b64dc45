"""Preemption; more in data/real_slurm/preemption.txt."""

from __future__ import annotations

import pytest

from rota.accounting import AssociationTree
from rota.model import Association, InputError, JobState, Qos, Reason
from rota.testing import Harness, cluster, partition, with_parameters

#: All schedulers preempt in the same way; sched/builtin leaves it to the main pass.
SCHEDULERS = ("sched/builtin", "sched/backfill", "sched/easy", "sched/conservative")


@pytest.fixture(params=SCHEDULERS)
def sched(request: pytest.FixtureRequest) -> str:
    scheduler: str = request.param
    return scheduler


def tiers(sched: str, *, grace_time: int = 0, **parameters: str) -> Harness:
    """Make four nodes, and two partitions of which one can preempt jobs of the other."""
    parts = [partition("low", grace_time=grace_time), partition("high", tier=2)]
    words = {"PreemptType": "preempt/partition_prio", "PreemptMode": "CANCEL"} | parameters
    return Harness(with_parameters(cluster(nodes=4, partitions=parts), **words), sched=sched)


def test_no_more_jobs_go_than_are_needed_and_of_equal_ones_the_first(sched: str) -> None:
    with tiers(sched) as rota:
        low = [rota.submit(nodes=1) for _ in range(4)]
        job = rota.submit(partition="high", nodes=2, cpus=2)
        assert [one.state for one in low] == [JobState.PREEMPTED] * 2 + [JobState.RUNNING] * 2
        assert (job.state, job.start_time) == (JobState.RUNNING, 0)
        assert (low[0].state.compact, low[0].reason) == ("PR", Reason.NONE)


def test_free_nodes_are_taken_first(sched: str) -> None:
    with tiers(sched) as rota:
        low = [rota.submit(nodes=1) for _ in range(3)]
        rota.submit(partition="high", nodes=1)
        assert [one.state for one in low] == [JobState.RUNNING] * 3


def test_one_large_job_goes_rather_than_it_and_a_small_one(sched: str) -> None:
    """The small one comes first; tried again with the large one in front, that alone will do."""
    with tiers(sched) as rota:
        small, large = rota.submit(nodes=1), rota.submit(nodes=3, cpus=3)
        rota.submit(partition="high", nodes=3, cpus=3)
        assert (small.state, large.state) == (JobState.RUNNING, JobState.PREEMPTED)


def test_nobody_goes_if_that_would_not_be_enough(sched: str) -> None:
    with tiers(sched) as rota:
        high, low = rota.submit(partition="high", nodes=2, cpus=2), rota.submit(nodes=2, cpus=2)
        job = rota.submit(partition="high", nodes=3, cpus=3)
        assert (high.state, low.state, job.state) == (JobState.RUNNING, JobState.RUNNING, JobState.PENDING)


@pytest.mark.parametrize(("requeue", "state"), [(True, JobState.PENDING), (False, JobState.PREEMPTED)])
def test_jobs_are_queued_again_if_they_may_be(requeue: bool, state: JobState, sched: str) -> None:
    with tiers(sched, PreemptMode="REQUEUE", SchedulerParameters="requeue_delay=120") as rota:
        low = rota.submit(nodes=4, cpus=4, requeue=requeue)
        rota.submit(partition="high", nodes=4, cpus=4, limit=60, run=60)
        assert low.state is state
        if requeue:
            assert rota.reason(low) is Reason.BEGIN_TIME
            rota.until(120)
            assert (low.state, low.start_time, low.restart_count) == (JobState.RUNNING, 120, 1)


def test_a_job_has_its_grace_time(sched: str) -> None:
    with tiers(sched, grace_time=60) as rota:
        low = [rota.submit(nodes=2, cpus=2) for _ in range(2)]
        job = rota.submit(partition="high", nodes=1)
        rota.until(59)
        assert [one.state for one in low] == [JobState.RUNNING] * 2
        assert rota.reason(job) is Reason.RESOURCES
        rota.until(60)
        assert [one.state for one in low] == [JobState.PREEMPTED, JobState.RUNNING]
        assert (job.state, job.start_time) == (JobState.RUNNING, 60)


def test_a_job_runs_for_a_while_before_it_can_be_preempted(sched: str) -> None:
    with tiers(sched, PreemptExemptTime="00:02:00") as rota:
        low = rota.submit(nodes=4, cpus=4)
        job = rota.submit(partition="high", nodes=1)
        rota.until(119)
        assert low.state is JobState.RUNNING
        rota.until(120)
        assert (low.state, job.start_time) == (JobState.PREEMPTED, 120)


def test_nobody_takes_the_nodes_of_a_job_that_waits_for_preempted_ones(sched: str) -> None:
    with tiers(sched, grace_time=60) as rota:
        rota.submit(partition="high", nodes=1, limit=1000)
        low = rota.submit(nodes=2, cpus=2)
        job = rota.submit(partition="high", nodes=3, cpus=3)
        small = [rota.submit(nodes=1, limit=10) for _ in range(3)]
        rota.until(60)
        assert (low.state, job.state, job.start_time) == (JobState.PREEMPTED, JobState.RUNNING, 60)
        assert [one.state for one in small] == [JobState.PENDING] * 3


def test_a_qos_names_those_that_it_preempts(sched: str) -> None:
    tree = AssociationTree(
        "cluster",
        [
            Association(id=1, account="root"),
            Association(id=2, account="a", parent_id=1),
            Association(id=3, account="a", user="ann", parent_id=2),
        ],
        qos=[Qos(name="normal"), Qos(name="kept"), Qos(name="urgent", preempt=("normal",))],
    )
    config = cluster(nodes=2, PreemptType="preempt/qos", PreemptMode="REQUEUE")
    with Harness(config, sched=sched, associations=tree) as rota:
        normal, kept = (rota.submit(user="ann", qos=qos, nodes=1) for qos in ("normal", "kept"))
        urgent = rota.submit(user="ann", qos="urgent", nodes=1)
        assert (normal.state, kept.state, urgent.state) == (JobState.PENDING, JobState.RUNNING, JobState.RUNNING)
        assert rota.submit(user="ann", qos="normal", nodes=1).state is JobState.PENDING


@pytest.mark.parametrize(("key", "value"), [("PreemptType", "preempt/age"), ("PreemptMode", "SUSPEND,GANG")])
def test_what_there_is_not_is_refused(key: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        Harness(with_parameters(cluster(nodes=4), **{key: value}))
    assert caught.value.field == key
