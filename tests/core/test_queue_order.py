"""The order of the queue, priorities, and the main pass with Slurm's blocking rule (spec/slurm.md, C and D)."""

from __future__ import annotations

import pytest

from rota.model import JobState, Reason
from rota.testing import Harness, cluster, partition, priority, scheduler


def test_the_first_jobs_have_the_priorities_that_slurm_gives_them() -> None:
    with Harness() as rota:
        assert [rota.submit().priority for _ in range(3)] == [4294901759, 4294901758, 4294901757]


def test_a_nice_job_does_not_shift_later_ones() -> None:
    with Harness() as rota:
        assert [rota.submit(nice=nice).priority for nice in (0, 1000, 0, -50, 0)] == [
            4294901759,
            4294901758 - 1000,
            4294901757,
            4294901756 + 50,
            4294901755,
        ]


def test_a_priority_that_an_administrator_set_is_kept_and_does_not_shift_later_ones() -> None:
    with Harness() as rota:
        job = rota.submit(priority=77, cpus=4)
        assert (job.priority, job.admin_priority) == (77, True)
        assert rota.submit().priority == 4294901759


def test_a_priority_that_an_administrator_set_outlives_hold_and_release() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        job = rota.submit(priority=77)
        rota.hold(job)
        assert job.priority == 0
        rota.release(job)
        assert job.priority == 77


def test_a_job_submitted_with_priority_0_is_held_and_can_be_released() -> None:
    with Harness() as rota:
        job = rota.submit(priority=0)
        assert (rota.state(job), rota.reason(job)) == (JobState.PENDING, Reason.JOB_HELD_ADMIN)
        rota.release(job)
        assert (rota.state(job), job.priority) == (JobState.RUNNING, 4294901759)


def test_a_plugin_may_hold_a_job_by_giving_it_priority_0() -> None:
    with Harness(priority=priority(priority_p_set=lambda last, job: 0)) as rota:
        job = rota.submit()
        assert (rota.state(job), rota.reason(job)) == (JobState.PENDING, Reason.JOB_HELD_ADMIN)


def test_the_queue_is_in_order_of_tier_priority_submission_and_id() -> None:
    parts = [partition("low"), partition("high", tier=2)]
    with Harness(cluster(cpus=4, partitions=parts), priority="priority/none") as rota:
        rota.submit(job_id=1, cpus=4)
        rota.submit(job_id=9, cpus=4)
        rota.submit(job_id=5, cpus=4)
        rota.wait(1)
        rota.submit(job_id=2, cpus=4)
        rota.submit(job_id=7, cpus=4, partition="high")
        assert rota.queue == [7, 5, 9, 2]
        rota.propose(lambda ctld: ctld.set_priority(ctld.jobs[2], 50))
        assert rota.queue == [7, 2, 5, 9]


def test_ranking_orders_the_queue_and_leaves_administrators_priorities_alone() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        for cpus in (3, 1, 2, 1):
            rota.submit(cpus=cpus)
        rota.submit(job_id=99, priority=2**32 - 1)
        rota.propose(lambda ctld: ctld.rank_queue(lambda job: job.num_cpus))
        assert rota.queue == [99, 3, 5, 4, 2]
        assert rota.job(99).priority == 2**32 - 1


def test_a_walk_through_the_queue_does_not_see_it_change() -> None:
    seen: list[list[int]] = []
    plugin = scheduler()

    def schedule() -> int:
        queue = plugin.ctld.queue
        for job in queue:
            plugin.ctld.start(job)
        seen.append([job.job_id for job in queue])
        return 0

    plugin.slurm_sched_p_schedule = schedule
    with Harness(sched=plugin, passes=False) as rota:
        rota.submit(cpus=1)
        rota.submit(cpus=1)
        rota.run_pass()
        assert seen == [[1, 2]]
        assert rota.running == [1, 2]


# ---- the main pass ------------------------------------------------------------------------------------------------


def test_a_job_that_must_wait_blocks_its_partition() -> None:
    with Harness(cluster(nodes=4)) as rota:
        rota.submit(cpus=2)
        head, small = rota.submit(cpus=3), rota.submit(cpus=1)
        assert rota.running == [1]
        assert (rota.reason(head), rota.reason(small)) == (Reason.RESOURCES, Reason.PRIORITY)


def test_a_blocked_partition_takes_all_its_nodes_along_so_overlapping_ones_starve() -> None:
    parts = [partition("a", range(3)), partition("b", (2, 3))]
    with Harness(cluster(nodes=4, partitions=parts)) as rota:
        rota.submit(cpus=1, partition="a")
        rota.submit(cpus=3, partition="a")
        shared = rota.submit(cpus=2, partition="b")
        assert rota.state(shared) is JobState.PENDING  # though nodes 2 and 3 are free
        # A smaller one gets the node that only b has.
        rota.cancel(shared)
        assert rota.submit(cpus=1, partition="b").alloc == 0b1000


def test_a_blocked_partition_does_not_hinder_one_that_has_its_own_nodes() -> None:
    parts = [partition("a", range(2)), partition("b", (2, 3))]
    with Harness(cluster(nodes=4, partitions=parts)) as rota:
        rota.submit(cpus=1, partition="a")
        rota.submit(cpus=2, partition="a")
        assert rota.submit(cpus=2, partition="b").state is JobState.RUNNING


@pytest.mark.parametrize("size", [1, 4])
def test_partitions_of_one_node_share_all_of_it(size: int) -> None:
    parts = [partition("a"), partition("b")]
    with Harness(cluster(cpus=4, partitions=parts)) as rota:
        rota.submit(cpus=2, partition="a")
        rota.submit(cpus=3, partition="a")
        assert rota.submit(cpus=size, partition="b").state is JobState.PENDING


def test_a_higher_tier_is_served_first_and_blocks_the_lower() -> None:
    parts = [partition("low"), partition("high", tier=2)]
    with Harness(cluster(nodes=2, partitions=parts)) as rota:
        rota.submit(cpus=1, partition="low")
        low = rota.submit(cpus=2, partition="low")
        high = rota.submit(cpus=2, partition="high")
        rota.end(1)
        assert (rota.state(low), rota.state(high)) == (JobState.PENDING, JobState.RUNNING)


def test_a_held_job_blocks_nobody() -> None:
    with Harness() as rota:
        rota.submit(cpus=2)
        head, small = rota.submit(cpus=4), rota.submit(cpus=1)
        rota.hold(head)
        assert rota.state(small) is JobState.RUNNING
