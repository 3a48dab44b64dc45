"""How long jobs will run, from what past jobs took."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rota.cli.forecast import told_learned
from rota.forecast.run_times import Distribution, Draws, Learned, PastRun, RunTimes, Seen
from rota.model import YEAR
from rota.testing import Harness, cluster
from rota.workload import bundled, read_workload

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


def test_without_a_time_limit_the_order_of_magnitude_is_open() -> None:
    times = _times([], limit=YEAR)
    assert times[20] < 60
    assert 1800 < times[100] < 12 * 3600
    assert times[180] > 30 * 86_400


def test_a_run_counts_once() -> None:
    """It is one of its user, of its time limit and of all jobs too: ten runs leave half, and not a sixteenth."""
    times = _times([PastRun("ann", "", "a", 3600, 360)] * 10, user="ann", name="a")
    assert 80 <= times.count(360) <= 120


def test_few_runs_leave_it_wide() -> None:
    """Of runs that took all the same, as many as are needed until four draws of five are the same too."""
    widths = []
    for count in (1, 5, 20, 50, 200):
        others = [PastRun(f"u{number}", "", "b", 3600, 360) for number in range(count)]
        times = _times([*others, *[PastRun("ann", "", "a", 3600, 360)] * count], user="ann", name="a")
        widths.append(times[180] - times[20])
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1800
    assert widths[-1] == 0


def test_it_is_known_from_what_was_learned() -> None:
    past = [PastRun("ann", "", "a", 3600, 60, end=end) for end in (500, 300, None, 400)]
    assert RunTimes(past).learned == (3, 300, 500)
    assert RunTimes([]).learned == (0, None, None)


@pytest.mark.parametrize(
    ("learned", "told"),
    [
        (Learned(0, None, None), "No job has ended so far: run times are guesses up to the time limits."),
        (Learned(1, 7, 7), "Run times are learned from one job, which ended at 7: few, so they are mostly guesses."),
        (
            Learned(9, 7, 8),
            "Run times are learned from 9 jobs, which ended from 7 to 8: few, so they are mostly guesses.",
        ),
        (Learned(1234, 7, 8), "Run times are learned from 1,234 jobs, which ended from 7 to 8."),
    ],
)
def test_what_was_learned_is_told(learned: Learned, told: str) -> None:
    assert told_learned(learned, str) == told


def _alike(groups: int) -> float:
    """Give how often two users' jobs are both quick or both slow, after some groups of runs, in 400 futures."""
    past = [PastRun(f"u{number}", "", "x", 3600, 36 * (number % 99 + 1)) for number in range(groups)]
    run_times = RunTimes(past)
    with Harness(cluster(cpus=4)) as rota:
        jobs = [rota.submit(cpus=1, user=user) for user in ("ann", "bob")]
        drawn = [[Draws(run_times, seed).run_time(job) for job in jobs] for seed in range(400)]
    middles = [sorted(column)[200] for column in zip(*drawn, strict=True)]
    alike = sum((one < middles[0]) == (two < middles[1]) for one, two in drawn)
    return float(alike / len(drawn))


def test_as_long_as_little_is_known_all_jobs_share_their_luck() -> None:
    """With a correlation of r both are on one side with the chance 1/2 + arcsin(r)/pi: 1, 2/3 and about 1/2."""
    assert _alike(0) == 1
    assert _alike(1) == pytest.approx(2 / 3, abs=0.07)
    assert _alike(300) == pytest.approx(1 / 2, abs=0.07)


#: Lengths of history in seconds: an hour, a day, a week.
@pytest.mark.parametrize("history", [3_600, 86_400, 604_800])
def test_four_in_five_of_real_run_times_are_between_the_quantiles(history: int) -> None:
    """On KTH-SP2, as it was recorded: at 53 moments, what is known of ten jobs that began next.

    With an even rest alone, and with runs that counted in each of their groups, 62 % were inside after an hour, and
    72 % after a day.
    """
    path = bundled("KTH-SP2")
    assert path is not None
    log = read_workload(path).take(np.arange(8000))
    begun = log.submit_time + np.maximum(log.wait_time, 0)
    order = np.argsort(begun, kind="stable")
    rows = [
        (start, PastRun(f"u{user}", "", "", limit, run, end=start + run))
        for start, run, limit, user in zip(
            *(column[order].tolist() for column in (begun, log.run_time, log.requested_time, log.user_id)), strict=True
        )
        if run >= 0 and limit > 0
    ]
    inside = 0
    moments = range(1000, len(rows) - 10, len(rows) // 60)
    with Harness(cluster(cpus=4)) as rota:
        for place in moments:
            now = rows[place - 1][0]
            past = [
                run if start + run.took <= now else run._replace(took=now - start, end=None)
                for start, run in rows[max(place - 1000, 0) : place]
                if start >= now - history or start + run.took > now
            ]
            run_times = RunTimes(past)
            for _, run in rows[place : place + 10]:
                job = rota.submit(cpus=1, user=run.user, name="", limit=run.time_limit)
                low, high = (run_times.of(job)[1].at(chance) * run.time_limit for chance in (0.1, 0.9))
                inside += low - 1 <= min(run.took, run.time_limit) <= high + 1
    assert 0.75 <= inside / (10 * len(moments)) <= 0.9


def test_a_users_own_jobs_count_more_than_others() -> None:
    others = [PastRun("bob", "", "b", 7200, 7200)] * 200
    own = [PastRun("ann", "", "sim7", 3600, 360)] * 50
    times = _times([*own, *others], user="ann", name="sim12")
    assert times[100] == 360
    # With 50 runs the user's group counts 50 to 10; the same runs are those of the user and of the time limit.
    assert sum(time == 360 for time in times) > 150


def test_jobs_that_still_run_say_that_it_takes_longer() -> None:
    short = [PastRun("ann", "", "a", 3600, 60)] * 20
    running = [PastRun("ann", "", "a", 3600, 1800, end=None)] * 30
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
