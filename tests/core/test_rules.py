"""Regression tests of small rules."""

from __future__ import annotations

import pytest

from rota.core.events import Reconfigure, SchedulePass, Submit
from rota.core.jobs.admission import MAX_NICE
from rota.model import Errno, JobSpec, JobState, PartitionState, Reason, RequestError
from rota.testing import Harness, cluster, partition, scheduler, with_parameters


def test_a_user_may_not_release_what_an_administrator_holds() -> None:
    with Harness() as rota:
        job = rota.submit(begin=100)
        rota.hold(job)
        with pytest.raises(RequestError) as refused:
            rota.release(job, by_user=True)
        assert refused.value.errno is Errno.ACCESS_DENIED
        assert rota.reason(job) is Reason.JOB_HELD_ADMIN
        rota.release(job)
        assert rota.reason(job) is Reason.BEGIN_TIME


@pytest.mark.parametrize("plugin", ["priority/none", "priority/basic"])
def test_no_plugin_is_asked_for_a_priority_that_an_administrator_has_set(plugin: str) -> None:
    with Harness(priority=plugin) as rota:
        assert rota.submit(priority=77, cpus=4).priority == 77


@pytest.mark.parametrize("nice", [MAX_NICE + 1, -MAX_NICE - 1])
def test_nice_has_slurms_range(nice: int) -> None:
    with Harness() as rota:
        rota.submit(nice=MAX_NICE)
        with pytest.raises(RequestError) as refused:
            rota.submit(nice=nice)
        assert refused.value.errno is Errno.INVALID_NICE


def test_a_begin_time_needs_one_timer_however_often_partitions_change() -> None:
    with Harness() as rota:
        job = rota.submit(begin=100)
        for _ in range(5):
            for state in (PartitionState.DOWN, PartitionState.UP):
                rota.partition(job.partition.name, state)
        events = rota.engine.events
        rota.until(100)
        assert rota.state(job) is JobState.RUNNING
        assert rota.engine.events - events == 2  # one timer, one pass


def test_a_partition_raises_jobs_to_its_least_number_of_nodes() -> None:
    config = cluster(nodes=4, partitions=[partition("p", default=True, min_nodes=2)])
    with Harness(config) as rota:
        job = rota.submit(cpus=1)
        assert job.alloc.bit_count() == 2


@pytest.mark.parametrize("first", [3, 4], ids=["room is left", "the machine is full"])
def test_a_scheduler_is_told_of_the_job_that_waits(first: int) -> None:
    told: list[str] = []
    with Harness(sched=scheduler(slurm_sched_p_job_is_pending=lambda: told.append("busy"))) as rota:
        rota.submit(cpus=first)
        assert told == []
        rota.submit(cpus=4)
        rota.submit(cpus=4)
        assert told == ["busy", "busy"]  # once for each pass, for the first in line


def test_a_configuration_that_cannot_be_used_changes_nothing() -> None:
    with Harness() as rota:
        before = rota.ctld.config
        with pytest.raises(RequestError, match="PriorityDecayHalfLife"):
            rota.reconfigure(with_parameters(before, PriorityDecayHalfLife="soon"))
        assert rota.ctld.config is before
        effects = rota.send(Reconfigure(config=with_parameters(before, PriorityDecayHalfLife="14-0")))
        assert effects == []
        assert rota.ctld.config.half_life() == 14 * 86400


def test_a_refused_job_calls_for_no_pass() -> None:
    with Harness(passes=False) as rota:
        rota.engine.refuse_impossible()
        rota.send(SchedulePass())
        rota.engine.handle(Submit(job_id=9, spec=JobSpec(num_cpus=5)), rota.now)
        assert not rota.engine.pass_due


def test_a_held_job_is_not_planned() -> None:
    with Harness(sched="sched/easy") as rota:
        rota.submit(cpus=4, limit=50)
        job = rota.submit(cpus=4)
        assert job.planned_start == 50
        rota.hold(job)
        assert job.planned_start is None
