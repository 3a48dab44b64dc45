"""The virtual-time driver on logs of a few jobs, with schedules worked out by hand."""

from __future__ import annotations

from dataclasses import replace as with_changes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from rota.core import Engine
from rota.core.effects import PluginFault
from rota.interfaces import SLURM_SUCCESS
from rota.model import YEAR
from rota.replay import driver as driver_module
from rota.replay.driver import ReplayDriver
from rota.replay.trace import make_trace
from rota.testing import cluster, partition, priority, scheduler

from .conftest import log_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from rota.core.effects import Effect
    from rota.interfaces import Controller, Job
    from rota.model import ClusterConfig, JobRecord
    from rota.workload import Workload


class Ran(NamedTuple):
    """What became of a job."""

    start: int | None
    end: int | None
    state: str


def play(
    log: Workload,
    config: ClusterConfig | int = 4,
    *,
    sched: SimpleNamespace | None = None,
    prio: SimpleNamespace | None = None,
    pass_per: str = "instant",
    effects: list[Effect] | None = None,
) -> dict[int, Ran]:
    """Replay a log on a machine, or on so many processors, under a FIFO or the plugins given."""
    sched = sched or scheduler()
    prio = prio or priority(priority_p_set=lambda last_prio, _job: last_prio - 1)
    trace = make_trace(log)
    machine = cluster(cpus=config) if isinstance(config, int) else config
    engine = Engine(machine, priority=prio, sched=sched, boot_time=trace.start)
    prio.init(engine.priority_controller)
    sched.init(engine.sched_controller)
    ran: dict[int, Ran] = {}

    def finished(row: int, job: JobRecord) -> None:
        assert trace.job_id[row] == job.job_id
        assert job.job_id not in ran
        ran[job.job_id] = Ran(job.start_time, job.end_time, str(job.state))

    ReplayDriver(
        engine,
        trace,
        pass_per_event=pass_per == "event",
        on_finished=finished,
        on_effect=([] if effects is None else effects).append,
    ).run()
    engine.check_invariants()
    left = {job.job_id: Ran(job.start_time, job.end_time, str(job.state)) for job in engine.jobs.values()}
    assert not left.keys() & ran.keys()
    return ran | left


def starts(ran: dict[int, Ran]) -> dict[int, int | None]:
    return {job_id: one.start for job_id, one in sorted(ran.items())}


def greedy(**functions: object) -> SimpleNamespace:
    """Start whatever fits, in queue order; nothing else starts anything."""
    plugin = scheduler()

    def init(ctld: Controller) -> int:
        plugin.ctld = ctld
        ctld.disable_main_pass()
        return SLURM_SUCCESS

    def schedule() -> int:
        for job in plugin.ctld.queue:
            plugin.ctld.start(job)
        return SLURM_SUCCESS

    vars(plugin).update({"init": init, "slurm_sched_p_schedule": schedule} | functions)
    return plugin


def with_init(plugin: SimpleNamespace, more: Callable[[Controller], object]) -> SimpleNamespace:
    """Have a plugin do more when it is started."""
    before = plugin.init

    def init(ctld: Controller) -> int:
        more(ctld)
        code: int = before(ctld)
        return code

    plugin.init = init
    return plugin


def shortest_first() -> SimpleNamespace:
    return priority(priority_p_set=lambda _last, job: 10_000 - job.time_limit)


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


def telling(told: list[str], **functions: object) -> SimpleNamespace:
    """A scheduler that writes down what it is told, with the time."""
    plugin = greedy()
    do_schedule = plugin.slurm_sched_p_schedule

    def note(what: str) -> int:
        told.append(f"{plugin.ctld.now} {what}")
        return SLURM_SUCCESS

    def initial_priority(last_prio: int, job: Job) -> int:
        note(f"submitted {job.job_id}")
        return last_prio - 1

    def schedule() -> int:
        note("pass")
        code: int = do_schedule()
        return code

    plugin.note = note
    plugin.slurm_sched_p_initial_priority = initial_priority
    plugin.slurm_sched_p_newalloc = lambda job: note(f"start {job.job_id}")
    plugin.slurm_sched_p_freealloc = lambda job: note(f"end {job.job_id}")
    plugin.slurm_sched_p_schedule = schedule
    vars(plugin).update(functions)
    return plugin


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


# ---- callbacks ----------------------------------------------------------------------------------------------------


def test_background_work_is_done_on_the_spot_and_a_pass_follows(told: list[str]) -> None:
    plugin = telling(told)

    def submitted(last_prio: int, job: Job) -> int:
        plugin.ctld.in_background(lambda: job.job_id * 10, lambda result: plugin.note(f"done {result}"))
        return last_prio - 1

    plugin.slurm_sched_p_initial_priority = submitted
    play(log_of((7, 5, 1, 5)), sched=plugin)
    assert told == ["7 done 10", "7 pass", "7 start 1", "12 end 1"]


def test_resources_freed_and_results_that_come_in_a_pass_lead_to_another(told: list[str]) -> None:
    plugin = telling(told)
    do_schedule = plugin.slurm_sched_p_schedule

    def schedule() -> int:
        if len(told) == 1:
            plugin.ctld.in_background(lambda: None, lambda _result: plugin.note("done"))
        code: int = do_schedule()
        return code

    plugin.slurm_sched_p_schedule = schedule
    play(log_of((7, 5, 1, 5)), sched=plugin)
    assert told[:5] == ["7 submitted 1", "7 pass", "7 start 1", "7 done", "7 pass"]


def test_what_is_to_be_done_before_a_pass_is_done_before_every_pass(told: list[str]) -> None:
    plugin = telling(told)
    with_init(plugin, lambda ctld: ctld.before_pass(lambda: plugin.note("before")))
    play(log_of((0, 10, 4, 10), (3, 10, 4, 10)), sched=plugin)
    assert told == [
        "0 submitted 1", "0 before", "0 pass", "0 start 1",
        "3 submitted 2", "3 before", "3 pass",
        "10 end 1", "10 before", "10 pass", "10 start 2",
        "20 end 2", "20 before", "20 pass",
    ]  # fmt: skip


def test_a_priority_that_changes_with_time_is_made_anew_before_a_pass() -> None:
    # Longest wait over time limit first: at 100 job 2 has waited 99 of its 1000 s, job 3 9 of its 10 s.
    prio = priority()

    def score(job: Job) -> float:
        now: int = prio.ctld.now
        return -(now - job.submit_time) / job.time_limit

    before = prio.init
    prio.init = lambda ctld: ctld.before_pass(lambda: ctld.rank_queue(score)) or before(ctld)
    log = log_of((0, 100, 4, 100), (1, 50, 4, 1000), (91, 10, 4, 10))
    assert starts(play(log, prio=prio)) == {1: 0, 2: 110, 3: 100}


@pytest.mark.parametrize("how", ["at", "every", "before_pass", "in_background", "done"])
def test_a_callback_that_raises_is_reported_and_the_replay_goes_on(how: str) -> None:
    def bad(*_arguments: object) -> None:
        raise ZeroDivisionError(how)

    def begin(ctld: Any) -> None:
        arguments = {"at": (5,), "every": (5,), "done": (int,), "in_background": ()}.get(how, ())
        after = (print,) if how == "in_background" else ()
        getattr(ctld, "in_background" if how == "done" else how)(*arguments, bad, *after)

    effects: list[Effect] = []
    ran = play(log_of((0, 10, 4, 10)), sched=with_init(scheduler(), begin), effects=effects)
    assert ran == {1: Ran(0, 10, "COMPLETED")}
    faults = [effect for effect in effects if isinstance(effect, PluginFault)]
    assert faults
    assert {fault.plugin for fault in faults} == {"sched/test"}
    assert f"raised ZeroDivisionError: {how} at {__file__}" in faults[0].message


@pytest.mark.parametrize("call", ["ctld.at(0.5, print)", "ctld.at(float('inf'), print)", "ctld.every(1.5, print)"])
def test_time_is_whole_seconds(call: str) -> None:
    def begin(ctld: Controller) -> None:
        with pytest.raises(TypeError):
            eval(call)  # noqa: S307 - it is above

    play(log_of((0, 10, 4, 10)), sched=with_init(scheduler(), begin))


# ---- the promises to plugins --------------------------------------------------------------------------------------


def test_nothing_is_oversubscribed_when_a_plugin_starts_jobs_while_it_is_told_of_a_start() -> None:
    plugin = scheduler()
    most = [0]

    def newalloc(_job: Job) -> int:
        for job in plugin.ctld.queue:
            plugin.ctld.start(job)
        most[0] = max(most[0], sum(job.units for job in plugin.ctld.running))
        return SLURM_SUCCESS

    plugin.slurm_sched_p_newalloc = newalloc
    log = log_of(*((0, 10, 1 + i % 3, 10) for i in range(12)))
    ran = play(log, 5, sched=plugin)
    assert {one.state for one in ran.values()} == {"COMPLETED"}
    assert most == [5]


@pytest.mark.parametrize("proposal", ["hold", "release", "requeue", "start", "set_priority"])
def test_a_proposal_about_a_job_that_has_no_place_yet_is_refused(proposal: str) -> None:
    plugin = scheduler()
    refused: list[object] = []

    def initial_priority(last_prio: int, job: Job) -> int:
        try:
            arguments = (5,) if proposal == "set_priority" else ()
            refused.append(getattr(plugin.ctld, proposal)(job, *arguments))
        except Exception as error:  # noqa: BLE001 - whichever it is
            refused.append(error)
        return last_prio - 1

    plugin.slurm_sched_p_initial_priority = initial_priority
    log = log_of((0, 10, 4, 10), (0, 10, 4, 10), (0, 10, 4, 10))
    assert starts(play(log, sched=plugin)) == {1: 0, 2: 10, 3: 20}
    assert len(refused) == 3
    assert None not in refused


def test_the_machine_is_never_oversubscribed_on_a_real_log(kth: Workload) -> None:
    log = kth.take(np.arange(2000))
    ran = play(log, 100, sched=greedy())
    procs = dict(zip(log.job_number.tolist(), log.requested_procs.tolist(), strict=True))
    changes = sorted(
        change
        for job_id, one in ran.items()
        for change in ((one.start or 0, procs[job_id]), (one.end or 0, -procs[job_id]))
    )
    assert np.cumsum([change for _, change in changes]).max() <= 100


def test_a_timer_for_after_the_end_of_time_never_comes() -> None:
    holding = priority(priority_p_set=lambda _last, _job: 0)
    sched = with_init(
        scheduler(), lambda ctld: ctld.at(2**80, lambda: [ctld.release(job) for job in ctld.jobs.values()])
    )
    assert starts(play(log_of((0, 10, 4, 10)), sched=sched, prio=holding)) == {1: None}
