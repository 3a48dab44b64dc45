"""Cycles of ``sched/backfill`` that take time: they let others have their turn, and may end before the queue does.

What Slurm does is in the manual page of slurm.conf, under ``bf_continue``, ``bf_max_time``, ``bf_yield_interval`` and
``bf_yield_sleep``; the words for the ends of cycles are those of ``sdiag``. Times are worked out by hand.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.model import NodeState
from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core.job import Job

#: A test takes a second; after two of them there is a rest of two.
SLOW = "bf_interval=10,bf_resolution=1,bf_test_time=1000000,bf_yield_sleep=2000000,bf_max_time=60"


@contextmanager
def _waiting(more: str = "", options: str = SLOW, third: int = 100) -> Iterator[tuple[Harness, list[Job], Any]]:
    """Give a machine of one node that a job has for 1,000 s, seven that wait for it, and the statistics of cycles."""
    with Harness(cluster(nodes=1, SchedulerParameters=options + more), sched="sched/backfill") as rota:
        rota.submit(limit=1000)
        jobs = [rota.submit(limit=third if place == 2 else 100) for place in range(7)]
        plugin: Any = rota.engine.sched_guard._container
        yield rota, jobs, plugin.statistics
        assert not rota.faults


def _planned(jobs: list[Job]) -> list[int | None]:
    return [job.planned_start for job in jobs if job.planned_start is not None]


def test_a_cycle_rests_after_so_much_work_and_goes_on_where_it_was() -> None:
    with _waiting() as (rota, jobs, statistics):
        for time, planned in ((10, 2), (13, 2), (14, 4), (18, 6), (21, 6), (22, 7)):
            rota.until(time)
            assert _planned(jobs) == [1000 + 100 * place for place in range(planned)], time
        assert statistics.exits == {"End of job queue": 1}
        assert statistics.last_depth == statistics.last_queue_length == 7


def test_without_a_cost_of_tests_there_is_no_rest() -> None:
    with _waiting(",bf_test_time=0") as (rota, jobs, _):
        rota.until(10)
        assert len(_planned(jobs)) == 7


def test_rests_of_less_than_a_second_add_up() -> None:
    with _waiting(",bf_test_time=500000,bf_yield_interval=500000,bf_yield_sleep=100000") as (rota, jobs, _):
        for time, planned in ((10, 2), (11, 4), (12, 5), (13, 7)):  # after 1.2, 2.4 and 3.0 s
            rota.until(time)
            assert len(_planned(jobs)) == planned, time


@pytest.mark.parametrize(("more", "planned", "ends"), [("", 2, {"System state changed": 1}), (",bf_continue", 4, {})])
def test_a_change_while_it_rests_ends_the_cycle_unless_it_is_to_go_on(
    more: str, planned: int, ends: dict[str, int]
) -> None:
    with _waiting(more) as (rota, jobs, statistics):
        rota.until(13)
        late = rota.submit(limit=100)
        rota.until(14)
        assert len(_planned(jobs)) == planned
        assert statistics.exits == ends
        rota.until(22)
        assert late.planned_start is None  # the cycle has not begun with it
        assert statistics.exits == (ends or {"End of job queue": 1})


@pytest.mark.parametrize("change", ["a job ends", "a node is lost", "a job that waits is cancelled"])
def test_what_counts_as_a_change(change: str) -> None:
    with _waiting() as (rota, jobs, statistics):
        rota.until(13)
        if change == "a job ends":
            rota.end(1)
        elif change == "a node is lost":
            rota.node("n0", NodeState.DOWN)
        else:
            rota.cancel(jobs[-1])
        rota.until(14)
        assert statistics.exits == {"System state changed": 1}


def test_what_has_changed_meanwhile_is_looked_at_after_the_interval_from_the_end() -> None:
    with _waiting(",bf_continue") as (rota, jobs, statistics):
        rota.until(13)
        late = rota.submit(limit=100)
        rota.until(31)
        assert (statistics.cycles, late.planned_start) == (1, None)
        rota.until(32)
        assert (len(_planned(jobs)), late.planned_start) == (2, None)
        rota.until(44)
        assert (statistics.cycles, late.planned_start) == (2, 1700)
        rota.until(90)
        assert statistics.cycles == 2  # nothing has changed


def test_a_cycle_that_takes_too_long_ends() -> None:
    with _waiting(",bf_max_time=5") as (rota, jobs, statistics):
        rota.until(14)
        assert len(_planned(jobs)) == 3
        assert statistics.exits == {"Timeout (bf_max_time)": 1}


def test_by_default_a_cycle_takes_no_longer_than_the_interval() -> None:
    options = SLOW.replace("bf_max_time=60", "bf_yield_sleep=4000000")  # rests until 16, and until 22
    with _waiting(options=options) as (rota, jobs, statistics):
        rota.until(22)
        assert len(_planned(jobs)) == 4
        assert statistics.exits == {"Timeout (bf_max_time)": 1}


def test_a_cycle_that_goes_on_sees_who_has_started_and_keeps_the_other_plans() -> None:
    with _waiting(",bf_continue", third=950) as (rota, jobs, _):
        rota.until(13)
        rota.end(1)  # the first one starts
        rota.until(14)
        assert jobs[0].start_time == 13
        assert _planned(jobs) == [1100, 113, 1200]  # the second was planned before, at 1,000 there is nobody any more


def test_who_is_held_while_it_rests_is_not_tested() -> None:
    with _waiting(",bf_continue") as (rota, jobs, _):
        rota.until(13)
        rota.hold(jobs[2])
        rota.until(14)
        assert [job.planned_start for job in jobs[:5]] == [1000, 1100, None, 1200, 1300]


def test_a_new_configuration_ends_a_cycle_that_rests() -> None:
    with _waiting() as (rota, jobs, statistics):
        rota.until(13)
        rota.reconfigure(cluster(nodes=1, SchedulerParameters=f"{SLOW},bf_interval=20"))
        rota.until(32)
        assert len(_planned(jobs)) == 2
        assert statistics.cycles == 0
        rota.until(33)
        assert len(_planned(jobs)) == 2
        rota.until(45)
        assert len(_planned(jobs)) == 7


@pytest.mark.parametrize(
    "more", ["", ",bf_continue", ",bf_max_job_user=5", ",bf_max_job_assoc=3,bf_max_job_user_part=3"]
)
@pytest.mark.parametrize("change", [True, False])
def test_a_cycle_goes_on_after_a_restart(more: str, change: bool) -> None:
    """As it does without one: played through, and once more with a restart in each second."""
    seen = []
    for restarts in (False, True):
        with _waiting(more) as (rota, jobs, _):
            for _ in range(40):
                if change and rota.now == 13:
                    rota.submit(limit=100)
                    rota.send(ev.UpdateJob(job_id=jobs[4].job_id, changes={"time_limit": 200}))
                rota.wait(1)
                if restarts:
                    rota.restart()
                seen.append((restarts, rota.now, [rota.job(job.job_id).planned_start for job in jobs]))
    assert [one[1:] for one in seen if one[0]] == [one[1:] for one in seen if not one[0]]
    assert max(sum(start is not None for start in starts) for _, _, starts in seen) > 2  # more than before the rest


@pytest.mark.parametrize("options", [SLOW, f"{SLOW},bf_continue"])
def test_after_a_restart_with_other_options_the_next_cycle_comes_in_its_time(options: str) -> None:
    with _waiting() as (rota, jobs, _):
        rota.until(13)
        rota.restart(cluster(nodes=1, SchedulerParameters=options))
        rota.until(19)
        assert len(_planned([rota.job(job.job_id) for job in jobs])) == (6 if options == SLOW else 2)


def test_a_cycle_that_somebody_asks_for_takes_no_rest() -> None:
    with _waiting() as (rota, jobs, _):
        plugin: Any = rota.engine.sched_guard._container
        rota.propose(lambda _: plugin.cycle())
        assert len(_planned(jobs)) == 7
