"""Jobs that exceed their time limits, as OverTimeLimit allows; more in data/real_slurm/limits.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.core import events as ev
from rota.model import JobState, Reason
from rota.model.reservation import Reservation
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from rota.core.job import Job
    from rota.model import JobRecord


def _rota(over_time_limit: int | None, sched: str = "sched/backfill", nodes: int = 2) -> Harness:
    parts = [partition(over_time_limit=over_time_limit)]
    return Harness(cluster(nodes=nodes, partitions=parts, SchedulerParameters="bf_interval=1"), sched=sched)


def _end(job: Job | JobRecord) -> tuple[JobState, Reason, int | None]:
    return job.state, job.reason, job.end_time


@pytest.mark.parametrize("sched", ["sched/builtin", "sched/backfill", "sched/easy", "sched/conservative"])
def test_whoever_waits_starts_when_the_job_before_it_ends_at_last(sched: str) -> None:
    with _rota(300, sched) as rota:
        first, second = rota.submit(nodes=2, limit=600), rota.submit(nodes=2, limit=600, run=700)
        third = rota.submit(nodes=1, limit=60, run=60)
        rota.run_to_end()
        assert _end(first) == (JobState.TIMEOUT, Reason.TIME_LIMIT, 900)
        assert (second.start_time, *_end(second)) == (900, JobState.COMPLETED, Reason.NONE, 1600)
        assert third.start_time == 1600


@pytest.mark.parametrize(
    ("over_time_limit", "planned"), [(300, 900), (None, 1200)], ids=["as long as it may", "for its time limit again"]
)
def test_backfill_plans_by_the_time_limit_and_then_guesses(over_time_limit: int | None, planned: int) -> None:
    with _rota(over_time_limit) as rota:
        rota.submit(nodes=2, limit=600)
        second = rota.submit(nodes=2, limit=600)
        rota.until(599)
        assert second.planned_start == 600
        rota.until(602)
        assert second.planned_start == planned


def test_a_job_in_a_reservation_ends_with_it() -> None:
    """The first has time beyond its limit until then, the second none."""
    with _rota(300) as rota:
        one = Reservation(name="r", start_time=0, end_time=700, nodes=3, users=("user0",))
        rota.send(ev.CreateReservation(reservation=one))
        first = rota.submit(nodes=1, limit=600, reservation="r")
        second = rota.submit(nodes=1, limit=800, reservation="r")
        rota.run_to_end()
        assert [_end(first), _end(second)] == [(JobState.TIMEOUT, Reason.TIME_LIMIT, 700)] * 2


def test_a_limit_that_is_raised_meanwhile_counts() -> None:
    with _rota(300) as rota:
        job = rota.submit(nodes=1, limit=600)
        rota.until(700)
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"time_limit": 1200}))
        rota.until(1000)
        assert job.end_time == 1200
        rota.run_to_end()
        assert _end(job) == (JobState.TIMEOUT, Reason.TIME_LIMIT, 1500)


def test_a_restart_forgets_nothing() -> None:
    with _rota(300) as rota:
        rota.submit(nodes=1, limit=600)
        rota.until(700)
        rota.restart()
        rota.run_to_end()
        assert _end(rota.finished[-1]) == (JobState.TIMEOUT, Reason.TIME_LIMIT, 900)
