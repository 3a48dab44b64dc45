"""What the virtual-time driver does for plugins: callbacks, and the promises that hold for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.core.effects import PluginFault
from rota.interfaces import SLURM_SUCCESS
from rota.testing import priority, scheduler

from .conftest import log_of

if TYPE_CHECKING:
    from rota.core.effects import Effect
    from rota.interfaces import Controller, Job
    from rota.workload import Workload


from .playing import Ran, greedy, play, starts, telling, with_init


@pytest.fixture
def told() -> list[str]:
    return []


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
