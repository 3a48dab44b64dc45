"""The rules of each built-in scheduler, one scenario each."""

from __future__ import annotations

import pytest

from rota.model import JobState, Node
from rota.testing import Harness, cluster

BACKFILLING = pytest.mark.parametrize("sched", ["sched/easy", "sched/conservative"])


def _with_a_head(sched: str, parameters: str = "") -> Harness:
    """Make a cluster of 4 where job 1 holds 3 for 100 s and job 2, which wants 3, waits: 1 is free, and then extra."""
    rota = Harness(cluster(cpus=4, SchedulerParameters=parameters), sched=sched)
    rota.submit(cpus=3, limit=100, run=100)
    rota.submit(cpus=3, limit=100, run=100)
    return rota


def test_builtin_lets_nobody_overtake() -> None:
    with _with_a_head("sched/builtin") as rota:
        assert rota.submit(cpus=1, limit=1).state is JobState.PENDING


@BACKFILLING
def test_the_head_is_promised_the_time_at_which_enough_will_be_free(sched: str) -> None:
    with _with_a_head(sched) as rota:
        assert rota.job(2).planned_start == 100


@BACKFILLING
@pytest.mark.parametrize(("limit", "started"), [(100, True), (101, False)])
def test_a_job_may_overtake_if_it_ends_by_the_shadow_time(sched: str, limit: int, started: bool) -> None:
    with Harness(cluster(cpus=4), sched=sched) as rota:
        rota.submit(cpus=3, limit=100, run=100)
        rota.submit(cpus=4, limit=100)
        assert (rota.submit(cpus=1, limit=limit).start_time == 0) is started


@BACKFILLING
@pytest.mark.parametrize(("limit", "started"), [(100, True), (101, False)])
def test_on_nodes_a_job_may_overtake_if_it_ends_by_the_shadow_time(sched: str, limit: int, started: bool) -> None:
    with Harness(cluster(nodes=4), sched=sched) as rota:
        rota.submit(cpus=3, limit=100, run=100)
        rota.submit(cpus=4, limit=100)
        assert (rota.submit(cpus=1, limit=limit).start_time == 0) is started


@BACKFILLING
def test_a_long_job_may_overtake_on_what_the_head_does_not_need(sched: str) -> None:
    with _with_a_head(sched) as rota:
        assert rota.submit(cpus=1, limit=10_000).start_time == 0
        assert rota.job(2).planned_start == 100


@pytest.mark.parametrize(("limit", "given"), [(100, 0b0001), (101, 0b0010)])
def test_easy_keeps_the_very_nodes_that_the_head_will_need(limit: int, given: int) -> None:
    sizes = (4, 1, 1, 1)
    with Harness(cluster(nodes=[Node(name=f"n{i}", cpus=n) for i, n in enumerate(sizes)]), sched="sched/easy") as rota:
        large = rota.submit(cpus=4, limit=100)
        rota.submit(cpus=2, limit=100, required_nodes="n2,n3")
        rota.end(large)  # free: the large node and the next one
        head = rota.submit(cpus=6, limit=100)
        assert head.planned_start == 100
        # Whoever ends in time may have the large node; others get the one that the head can do without.
        assert rota.submit(cpus=1, limit=limit).alloc == given


def test_easy_gives_what_is_extra_once() -> None:
    with Harness(cluster(cpus=6), sched="sched/easy") as rota:
        rota.submit(cpus=4, limit=100)
        rota.submit(cpus=5, limit=100)
        assert rota.submit(cpus=1, limit=1000).start_time == 0
        assert rota.submit(cpus=1, limit=1000).start_time is None


def test_easy_promises_only_the_head_so_later_jobs_may_be_delayed() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        rota.submit(cpus=2, limit=100, run=100)
        rota.submit(cpus=3, limit=100, run=100)
        rota.submit(cpus=2, limit=50, run=50, hold=True)
        assert rota.submit(cpus=1, limit=500, run=500).start_time == 0


def test_conservative_delays_nobody() -> None:
    with Harness(cluster(cpus=4), sched="sched/conservative") as rota:
        rota.submit(cpus=3, limit=100, run=100)  # 0 to 100
        rota.submit(cpus=3, limit=100, run=100)  # 100 to 200
        waiting = rota.submit(cpus=4, limit=100, run=100)  # 200 to 300
        long = rota.submit(cpus=1, limit=250, run=250)  # would run into it
        assert (waiting.planned_start, long.planned_start) == (200, 300)


def test_easy_tries_the_shortest_candidates_first_if_told_so() -> None:
    for order, first in (("fcfs", 4), ("sjf", 5)):
        with Harness(cluster(cpus=4, SchedulerParameters=f"easy_order={order}"), sched="sched/easy") as rota:
            rota.submit(cpus=3, limit=100)
            last = rota.submit(cpus=1, limit=100)
            rota.submit(cpus=4, limit=100)
            rota.submit(cpus=1, limit=90)
            rota.submit(cpus=1, limit=80)
            rota.end(last)
            assert rota.running == [1, first]


def test_a_job_that_arrives_ahead_of_the_head_becomes_the_head() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        rota.submit(cpus=3, limit=100, run=100)
        rota.submit(cpus=4, limit=100, run=100)
        first = rota.submit(cpus=3, limit=100, run=100, priority=2**32 - 1)
        assert (rota.queue, first.planned_start) == ([3, 2], 100)
        # The new head leaves one to spare, which the old one would have needed.
        assert rota.submit(cpus=1, limit=150).start_time == 0
        rota.wait(100)
        assert first.start_time == 100


@BACKFILLING
def test_an_early_end_brings_everybody_forward(sched: str) -> None:
    with Harness(cluster(cpus=4), sched=sched) as rota:
        rota.submit(cpus=4, limit=1000, run=30)
        second = rota.submit(cpus=3, limit=1000, run=30)
        third = rota.submit(cpus=4, limit=1000, run=30)
        rota.wait(30)
        assert (second.start_time, third.planned_start) == (30, 1030)
        rota.wait(30)
        assert third.start_time == 60


def test_conservative_reserves_anew_when_a_job_before_it_is_cancelled() -> None:
    with Harness(cluster(cpus=4), sched="sched/conservative") as rota:
        rota.submit(cpus=4, limit=100)
        second = rota.submit(cpus=4, limit=100)
        third = rota.submit(cpus=4, limit=100)
        assert third.planned_start == 200
        rota.cancel(second)
        assert third.planned_start == 100


def test_conservative_starts_a_job_at_its_time_although_nothing_else_happens_then() -> None:
    with Harness(cluster(cpus=4), sched="sched/conservative") as rota:
        rota.submit(cpus=4, limit=100, run=100)
        rota.submit(cpus=4, limit=100, run=100)
        rota.run_to_end()
        assert rota.starts == {1: 0, 2: 100}


def test_backfill_starts_overtaking_jobs_in_its_cycle_and_others_at_once() -> None:
    with _with_a_head("sched/backfill", "bf_interval=30,bf_resolution=1") as rota:
        short, long = rota.submit(cpus=1, limit=50), rota.submit(cpus=2, limit=500)
        assert rota.state(short) is JobState.PENDING
        rota.wait(30)
        assert short.start_time == 30
        assert (rota.job(2).planned_start, long.planned_start) == (100, 200)


def test_backfill_sleeps_while_nothing_changes() -> None:
    with _with_a_head("sched/backfill", "bf_interval=1") as rota:
        rota.wait(90)
        assert rota.engine.events < 20


@pytest.mark.parametrize(
    ("sched", "conf"),
    [
        ("sched/easy", "easy_order=fcfs"),
        (
            "sched/backfill",
            (
                "bf_interval=30,bf_job_part_count_reserve=0,bf_max_job_array_resv=20,bf_max_job_assoc=0,bf_max_job_part=0,bf_max_job_start=0,"
                "bf_max_job_test=500,bf_max_job_user=0,bf_max_job_user_part=0,bf_max_time=30,bf_min_age_reserve=0,bf_min_prio_reserve=0,"
                "bf_node_space_size=500,bf_resolution=60,bf_test_time=0,bf_window=1440,bf_window_linear=0,"
                "bf_yield_interval=2000000,bf_yield_rpc_cnt=20,bf_yield_sleep=500000"
            ),
        ),
        ("sched/builtin", "(null)"),
    ],
)
def test_the_options_in_force_are_shown(sched: str, conf: str) -> None:
    with Harness(sched=sched) as rota:
        assert rota.engine.view.scheduler_parameters() == conf


@pytest.mark.parametrize(
    ("sched", "parameters"),
    [
        ("sched/easy", "easy_order=random"),
        ("sched/backfill", "bf_interval=0"),
        ("sched/backfill", "bf_window_linear=-1"),
        ("sched/backfill", "bf_max_time=3601"),
        ("sched/backfill", "bf_yield_interval=often"),
        ("sched/backfill", "bf_yield_sleep=0"),
        ("sched/backfill", "bf_yield_rpc_cnt=-2"),
    ],
)
def test_a_bad_option_read_while_running_is_a_fault_and_the_old_ones_stay(sched: str, parameters: str) -> None:
    with Harness(sched=sched) as rota:
        before = rota.engine.view.scheduler_parameters()
        rota.reconfigure(cluster(cpus=4, SchedulerParameters=parameters))
        assert [fault.symbol for fault in rota.faults] == ["slurm_sched_p_reconfig"]
        assert "SchedulerParameters" in rota.faults[0].message
        rota.reconfigure(cluster(cpus=4))
        assert rota.engine.view.scheduler_parameters() == before
