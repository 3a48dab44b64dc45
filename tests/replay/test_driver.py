"""The virtual-time driver on logs of a few jobs, with schedules worked out by hand."""

from __future__ import annotations

from dataclasses import replace as with_changes
from typing import TYPE_CHECKING

import pytest

from rota.interfaces import SLURM_SUCCESS
from rota.model import YEAR, Node
from rota.model.node import NodeState
from rota.replays import driver as driver_module
from rota.testing import cluster, partition, priority, scheduler

from .conftest import log_of

if TYPE_CHECKING:
    from types import SimpleNamespace

    from rota.interfaces import Controller, Job


from .playing import Ran, greedy, play, shortest_first, starts, telling, with_init

# ---- one after the other ------------------------------------------------------------------------------------------


def test_first_come_first_served_on_a_machine_of_four() -> None:
    # Job 2 must wait for job 1, and job 3, which would fit beside it, for job 2.
    log = log_of((0, 100, 3, 100), (10, 50, 2, 60), (20, 5, 1, 5), (30, 7, 4, 7))
    assert play(log) == {
        1: Ran(0, 100, "COMPLETED"),
        2: Ran(100, 150, "COMPLETED"),
        3: Ran(100, 105, "COMPLETED"),
        4: Ran(150, 157, "COMPLETED"),
    }


def test_jobs_are_submitted_by_time_and_then_in_the_order_of_the_log() -> None:
    log = log_of((50, 10, 4, 10), (0, 10, 4, 10), (0, 10, 4, 10), job_number=[7, 9, 8])
    assert starts(play(log)) == {7: 50, 8: 10, 9: 0}


def test_a_job_needs_a_run_time_and_processors_to_be_replayed() -> None:
    log = log_of((0, -1, 1, 10), (0, 5, -1, 10), (0, 5, -1, 10), allocated_procs=[1, -1, 2])
    assert starts(play(log)) == {3: 0}


def test_time_counts_from_the_start_that_the_header_gives() -> None:
    log = with_changes(log_of((5, 10, 4, 10)), header=("; UnixStartTime: 1000000",))
    seen: list[int] = []
    sched = with_init(scheduler(), lambda ctld: seen.extend([ctld.now, ctld.boot_time]))
    assert play(log, sched=sched) == {1: Ran(1_000_005, 1_000_015, "COMPLETED")}
    assert seen == [1_000_000, 1_000_000]


def test_a_job_from_before_the_log_begins_runs_its_full_time() -> None:
    log = log_of((-5, 100, 4, 100), (0, 10, 4, 10))
    dated = with_changes(log, header=("; UnixStartTime: 1000",))
    assert play(dated) == {1: Ran(995, 1095, "COMPLETED"), 2: Ran(1095, 1105, "COMPLETED")}
    assert play(log) == {1: Ran(0, 100, "COMPLETED"), 2: Ran(100, 110, "COMPLETED")}


# ---- how jobs end -------------------------------------------------------------------------------------------------


def test_a_job_that_would_run_past_its_limit_is_stopped_at_it() -> None:
    assert play(log_of((0, 500, 4, 100), (1, 10, 4, 10))) == {
        1: Ran(0, 100, "TIMEOUT"),
        2: Ran(100, 110, "COMPLETED"),
    }


def test_a_job_that_runs_to_the_very_limit_completes() -> None:
    assert play(log_of((0, 100, 4, 100))) == {1: Ran(0, 100, "COMPLETED")}


@pytest.mark.parametrize(
    ("over_time_limit", "ends"),
    [
        (0, [(100, "TIMEOUT"), (100, "TIMEOUT"), (100, "TIMEOUT")]),
        (60, [(130, "COMPLETED"), (160, "COMPLETED"), (160, "TIMEOUT")]),
        (None, [(130, "COMPLETED"), (160, "COMPLETED"), (501, "COMPLETED")]),
    ],
)
def test_a_job_may_run_on_for_the_over_time_limit(over_time_limit: int | None, ends: list[tuple[int, str]]) -> None:
    log = log_of((0, 130, 1, 100), (0, 160, 1, 100), (0, 501, 1, 100), (0, 10, 4, 10))
    ran = play(log, cluster(cpus=4, partitions=[partition(over_time_limit=over_time_limit)]))
    assert [(ran[job_id].end, ran[job_id].state) for job_id in (1, 2, 3)] == ends
    assert ran[4].start == ends[-1][0]


@pytest.mark.parametrize("pass_per", ["event", "instant"])
def test_a_job_of_no_time_ends_as_it_starts_and_leaves_the_machine_to_the_next(pass_per: str) -> None:
    log = log_of((0, 0, 4, 10), (0, 0, 4, 10), (0, 30, 4, 60))
    assert play(log, pass_per=pass_per) == {
        1: Ran(0, 0, "COMPLETED"),
        2: Ran(0, 0, "COMPLETED"),
        3: Ran(0, 30, "COMPLETED"),
    }


@pytest.mark.parametrize(("max_time", "expected"), [(None, YEAR), (500, 500)])
def test_a_job_without_requested_time_takes_the_partitions_limit_or_a_year(max_time: int | None, expected: int) -> None:
    seen: list[int] = []

    def newalloc(job: Job) -> int:
        seen.append(job.time_limit)
        return SLURM_SUCCESS

    sched = scheduler(slurm_sched_p_newalloc=newalloc)
    config = cluster(cpus=4, partitions=[partition(max_time=max_time)])
    play(log_of((0, 10, 1, -1), (0, 10, 1, 0), (0, 10, 1, 20)), config, sched=sched)
    assert seen == [expected, expected, 20]


# ---- within one instant -------------------------------------------------------------------------------------------


@pytest.fixture
def told() -> list[str]:
    return []


#: At 100 job 1 reaches its limit, 2 is stopped at it, 3 ends early, and 4 and 5 are submitted.
ONE_INSTANT = log_of((0, 100, 1, 100), (0, 500, 1, 100), (0, 100, 1, 300), (100, 9, 4, 9), (100, 9, 4, 9))


def at_100(told: list[str], pass_per: str) -> list[str]:
    plugin = telling(told)
    with_init(plugin, lambda ctld: ctld.at(100, lambda: plugin.note("timer")))
    play(ONE_INSTANT, sched=plugin, pass_per=pass_per)
    return [line.removeprefix("100 ") for line in told if line.startswith("100 ")]


def test_an_instant_is_expected_ends_timers_submissions_other_ends_and_one_pass(told: list[str]) -> None:
    assert at_100(told, "instant") == [
        "end 1", "timer", "end 2", "submitted 4", "submitted 5", "end 3", "pass", "start 4",
    ]  # fmt: skip


def test_a_pass_per_event_follows_each_submission_and_each_early_end(told: list[str]) -> None:
    assert at_100(told, "event") == [
        "end 1", "timer", "end 2", "submitted 4", "pass", "submitted 5", "pass", "end 3", "pass", "start 4",
    ]  # fmt: skip


def test_ends_of_one_instant_come_in_the_order_in_which_the_jobs_were_launched(told: list[str]) -> None:
    log = log_of((0, 50, 1, 90), (0, 50, 1, 90), (10, 40, 1, 90), job_number=[3, 2, 1])
    play(log, sched=telling(told))
    assert [line for line in told if "end" in line] == ["50 end 3", "50 end 2", "50 end 1"]


def test_with_a_pass_per_event_the_first_of_two_starts_though_the_second_would_go_first() -> None:
    log = log_of((0, 100, 4, 100), (0, 10, 4, 10))
    assert starts(play(log, prio=shortest_first(), pass_per="event")) == {1: 0, 2: 100}
    assert starts(play(log, prio=shortest_first(), pass_per="instant")) == {1: 10, 2: 0}


def test_with_a_pass_per_event_a_job_starts_between_two_ends() -> None:
    # Both ends at 50 are needed for job 3 (2 processors), one for job 4 (1): one pass after both takes 3 first.
    log = log_of((0, 50, 2, 90), (0, 50, 2, 90), (10, 5, 4, 5), (10, 7, 2, 7))
    assert starts(play(log, sched=greedy(), pass_per="event")) == {1: 0, 2: 0, 3: 57, 4: 50}
    assert starts(play(log, sched=greedy(), pass_per="instant")) == {1: 0, 2: 0, 3: 50, 4: 55}


def test_nothing_is_passed_over_when_nothing_has_happened(told: list[str]) -> None:
    play(log_of((0, 10, 1, 20), (1000, 10, 1, 20)), sched=telling(told))
    # Nor is a pass made when the job has ended, for nobody waits then.
    assert [line for line in told if "pass" in line] == ["0 pass", "1000 pass"]


# ---- what never ends must not keep the replay from ending ---------------------------------------------------------


def test_held_jobs_are_left_and_the_others_run() -> None:
    holding = priority(priority_p_set=lambda _last, job: job.job_id % 2)
    log = log_of((0, 10, 4, 10), (0, 10, 4, 10), (0, 10, 4, 10))
    assert play(log, prio=holding) == {
        1: Ran(0, 10, "COMPLETED"),
        2: Ran(None, None, "PENDING"),
        3: Ran(10, 20, "COMPLETED"),
    }


def test_jobs_that_may_not_start_are_left() -> None:
    config = cluster(cpus=4, partitions=[partition(max_time=60)])
    assert starts(play(log_of((0, 10, 1, 90), (0, 10, 1, 30)), config)) == {1: None, 2: 0}


def test_a_scheduler_that_starts_nothing_ends_the_replay() -> None:
    idle = greedy(slurm_sched_p_schedule=lambda: SLURM_SUCCESS)
    assert starts(play(log_of((0, 10, 1, 10), (500, 10, 1, 10)), sched=idle)) == {1: None, 2: None}


def test_a_periodic_timer_ends_with_the_last_job() -> None:
    ticks: list[int] = []
    sched = with_init(scheduler(), lambda ctld: ctld.every(60, lambda: ticks.append(ctld.now)))
    assert starts(play(log_of((0, 100, 4, 100), (10, 100, 4, 100)), sched=sched)) == {1: 0, 2: 100}
    assert ticks == [60, 120, 180]


def test_a_timer_may_start_what_the_passes_left() -> None:
    plugin = greedy(slurm_sched_p_schedule=lambda: SLURM_SUCCESS)

    def cycle() -> None:
        for job in plugin.ctld.queue:
            plugin.ctld.start(job)

    with_init(plugin, lambda ctld: ctld.every(30, cycle, only_after_change=True))
    assert starts(play(log_of((0, 10, 4, 10), (40, 10, 4, 10)), sched=plugin)) == {1: 30, 2: 60}


def test_a_timer_that_changes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_IDLE_TICKS", 50)
    ticks: list[int] = []
    sched = greedy(slurm_sched_p_schedule=lambda: SLURM_SUCCESS)
    with_init(sched, lambda ctld: ctld.every(60, lambda: ticks.append(ctld.now)))
    assert starts(play(log_of((0, 10, 1, 10)), sched=sched)) == {1: None}
    assert len(ticks) == 50


def test_jobs_that_can_never_start_are_not_waited_for() -> None:
    """Else each period of multifactor is played 100,000 times, with thousands of jobs."""
    ticks: list[int] = []
    machine = cluster(cpus=4, partitions=[partition("batch", max_time=600)])
    sched = with_init(greedy(), lambda ctld: ctld.every(60, lambda: ticks.append(ctld.now)))
    assert starts(play(log_of((0, 100, 1, 100), (0, 100, 1, 6000)), machine, sched=sched)) == {1: 0, 2: None}
    assert ticks == [60]


def test_jobs_for_nodes_that_stay_down_are_not_waited_for() -> None:
    """As slurm.conf of a real cluster often has some, and a partition may have no others."""
    ticks: list[int] = []
    states = (NodeState.UP, NodeState.DOWN, NodeState.DRAIN)
    nodes = [Node(name=f"n{number}", cpus=4, cores_per_socket=4, state=state) for number, state in enumerate(states)]
    sched = with_init(greedy(), lambda ctld: ctld.every(60, lambda: ticks.append(ctld.now)))
    assert starts(play(log_of((0, 100, 4, 100), (0, 100, 8, 100)), cluster(nodes=nodes), sched=sched)) == {
        1: 0,
        2: None,
    }
    assert ticks == [60]


def test_jobs_that_are_stopped_for_ever_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_FUTILE_LAUNCHES", 50)
    plugin = scheduler()
    with_init(plugin, lambda ctld: ctld.every(60, lambda: [ctld.requeue(job) for job in ctld.running]))
    ran = play(log_of((0, 100, 1, 100), (0, 30, 1, 100)), sched=plugin)
    assert ran[2] == Ran(0, 30, "COMPLETED")
    assert ran[1].state in {"PENDING", "RUNNING"}


# ---- jobs that are put back ---------------------------------------------------------------------------------------


def requeue_when(told_about: int, victim: int, plugin: SimpleNamespace) -> SimpleNamespace:
    """Have a pass put ``victim`` back, once, as soon as the other job waits."""
    before = plugin.slurm_sched_p_schedule

    def schedule() -> int:
        jobs = plugin.ctld.jobs
        if told_about in jobs and victim in jobs and not jobs[victim].restart_count:
            plugin.ctld.requeue(jobs[victim])
        code: int = before()
        return code

    plugin.slurm_sched_p_schedule = schedule
    return plugin


@pytest.mark.parametrize("pass_per", ["event", "instant"])
@pytest.mark.parametrize("requested", [100, 300], ids=["ends at the limit", "ends early"])
def test_a_job_that_is_put_back_runs_from_the_beginning_and_its_old_end_is_forgotten(
    pass_per: str, requested: int
) -> None:
    log = log_of((0, 100, 4, requested), (40, 20, 4, 20))
    plugin = requeue_when(2, 1, greedy())
    assert play(log, sched=plugin, prio=shortest_first(), pass_per=pass_per) == {
        1: Ran(60, 160, "COMPLETED"),
        2: Ran(40, 60, "COMPLETED"),
    }


def test_a_job_put_back_in_its_last_second_does_not_end_in_it() -> None:
    log = log_of((0, 100, 4, 300), (100, 20, 4, 20))
    plugin = requeue_when(2, 1, greedy())
    assert starts(play(log, sched=plugin, prio=shortest_first(), pass_per="event")) == {1: 120, 2: 100}


def test_putting_every_job_back_in_every_pass_ends() -> None:
    plugin = greedy()
    start_all = plugin.slurm_sched_p_schedule

    def schedule() -> int:
        start_all()
        for job in plugin.ctld.running:
            plugin.ctld.requeue(job)
        return SLURM_SUCCESS

    plugin.slurm_sched_p_schedule = schedule
    assert starts(play(log_of((0, 10, 1, 10), (5, 10, 1, 10)), sched=plugin, pass_per="event")) == {1: None, 2: None}


# ---- long times without jobs --------------------------------------------------------------------------------------


def test_of_thirty_years_without_jobs_only_the_end_is_played() -> None:
    """A log may have an odd submit time, and timers of five minutes would be called three million times."""
    called: list[int] = []
    sched = with_init(scheduler(), lambda ctld: ctld.every(300, lambda: called.append(ctld.now)))
    late = 30 * YEAR
    log = log_of((0, 100, 3, 100), (late, 50, 2, 60))
    assert starts(play(log, sched=sched)) == {1: 0, 2: late}
    assert len(called) < 200
    assert [time for time in called if time < late][-50:] == [*range(late - 50 * 300, late, 300)]


def test_a_job_that_runs_for_years_ends_at_its_limit_however_often_timers_are_called() -> None:
    sched = with_init(scheduler(), lambda ctld: ctld.every(60, lambda: None, quiet=True))
    assert play(log_of((0, 2 * YEAR, 3, YEAR // 2)), sched=sched) == {1: Ran(0, YEAR // 2, "TIMEOUT")}


def test_less_than_a_month_without_jobs_is_played_in_full() -> None:
    called: list[int] = []
    sched = with_init(scheduler(), lambda ctld: ctld.every(300, lambda: called.append(ctld.now)))
    play(log_of((0, 100, 3, 100), (29 * 86400, 50, 2, 60)), sched=sched)
    assert called == [*range(300, 29 * 86400 + 1, 300)]


def test_what_else_is_due_in_a_long_time_without_jobs_happens_in_its_time() -> None:
    called: list[int] = []

    def init(ctld: Controller) -> None:
        ctld.every(300, lambda: None)
        ctld.at(10 * YEAR, lambda: called.append(ctld.now))

    play(log_of((0, 100, 3, 100), (30 * YEAR, 50, 2, 60)), sched=with_init(scheduler(), init))
    assert called == [10 * YEAR]
