"""How long jobs will run, from what past jobs took."""

from __future__ import annotations

from typing import Any

import pytest

from rota.forecast.run_times import Distribution, Draws, PastRun, RunTimes, Seen
from rota.testing import Harness, cluster

#: The example of Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations" (1958): eight patients who
#: were seen for so many months until they died, or were lost (True).
_EXAMPLE = [
    (0.8, False),
    (1.0, True),
    (2.7, True),
    (3.1, False),
    (5.4, False),
    (7.0, True),
    (9.2, False),
    (12.1, True),
]
#: Their estimate of those who survive each death: 7/8, x 4/5, x 3/4, x 1/2.
_SURVIVING = {0.8: 0.875, 3.1: 0.7, 5.4: 0.525, 9.2: 0.2625}


def test_the_estimate_is_that_of_kaplan_and_meier() -> None:
    found = Distribution(Seen(months, lost, 1 / 8) for months, lost in _EXAMPLE)
    died, before = 1 - _SURVIVING[9.2], 0.0
    for months, surviving in _SURVIVING.items():
        middle = (before + 1 - surviving) / 2
        assert found.at(middle / died) == months
        before = 1 - surviving


def test_of_a_job_that_runs_only_longer_runs_count() -> None:
    found = Distribution(Seen(number / 10, False, 0.1) for number in range(1, 11))
    assert found.at(0.0, over=0.55) == 0.6
    assert found.at(0.99, over=0.55) == 1.0
    assert found.at(0.5, over=1.0) == 1.0


def _times(past: list[PastRun], *, limit: int = 3600, ran: int = 0, **fields: Any) -> list[int]:
    """Draw the run time of a job in 200 futures, ascending."""
    with Harness(cluster(cpus=4)) as rota:
        job = rota.submit(cpus=4, limit=limit, **fields)
        run_times = RunTimes(past)
        return sorted(Draws(run_times, seed).run_time(job, ran) for seed in range(200))


def test_runs_of_no_time_count() -> None:
    assert _times([PastRun("ann", "", "a", 3600, 0)] * 50, user="ann", name="a")[100] == 1


def test_without_a_past_anything_up_to_the_limit_may_come() -> None:
    times = _times([])
    assert 0 < times[0] < 600
    assert 3000 < times[-1] <= 3600


def test_a_users_own_jobs_count_more_than_others() -> None:
    others = [PastRun("bob", "", "b", 7200, 7200)] * 200
    own = [PastRun("ann", "", "sim7", 3600, 360)] * 50
    times = _times([*own, *others], user="ann", name="sim12")
    assert times[100] == 360
    # With 50 runs the user's group counts 50 to 10; the same runs are those of the user and of the time limit.
    assert sum(time == 360 for time in times) > 150


def test_jobs_that_still_run_say_that_it_takes_longer() -> None:
    short = [PastRun("ann", "", "a", 3600, 60)] * 5
    running = [PastRun("ann", "", "a", 3600, 1800, has_ended=False)] * 45
    assert _times(short, user="ann", name="a")[100] == 60
    assert _times([*short, *running], user="ann", name="a")[100] > 1800


def test_what_has_run_is_not_taken_back() -> None:
    past = [PastRun("ann", "", "a", 3600, 60)] * 50
    assert min(_times(past, ran=1800, user="ann", name="a")) > 1800
    assert set(_times(past, ran=4000, user="ann", name="a")) == {4001}  # beyond its limit: any moment


@pytest.mark.parametrize("seed", [0, 7])
def test_a_future_gives_the_same_run_times_in_any_order(seed: int) -> None:
    run_times = RunTimes([PastRun("ann", "", "a", 3600, 36 * number) for number in range(1, 51)])
    with Harness(cluster(cpus=4)) as rota:
        jobs = [rota.submit(cpus=1, user=f"u{number}") for number in range(20)]
        forth, back = Draws(run_times, seed), Draws(run_times, seed)
        times = [forth.run_time(job) for job in jobs]
        assert times == [back.run_time(job) for job in reversed(jobs)][::-1]
        assert len(set(times)) > 5
