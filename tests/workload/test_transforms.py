"""Transforms of a workload: what they keep and change, worked out by hand, and that they draw the same each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.model import InputError
from rota.workload import Transform, Workload, bundled, read_events, read_swf, transform

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = 86400
WEEK = 7 * DAY


@pytest.fixture(scope="module")
def kth() -> Workload:
    path = bundled("KTH-SP2")
    assert path is not None
    return read_swf(path)


def made(**columns: list[int]) -> Workload:
    count = len(next(iter(columns.values())))
    return Workload.build("made", {"run_time": [60] * count, "requested_procs": [1] * count, **columns})


def test_the_defaults_leave_a_workload_as_it_is(kth: Workload) -> None:
    assert transform(kth, Transform()) is kth


def test_load_divides_the_times_between_submissions() -> None:
    log = transform(made(submit_time=[100, 160, 400]), Transform(load=1.5))
    assert log.submit_time.tolist() == [100, 140, 300]


def test_a_part_is_the_first_share_of_the_time() -> None:
    log = transform(made(submit_time=[100, 150, 199, 201, 300]), Transform(part=0.5))
    assert log.job_number.tolist() == [1, 2, 3]


def test_of_two_shares_the_smaller_one_draws_some_jobs_of_the_larger_one(kth: Workload) -> None:
    half, most = (transform(kth, Transform(thin=share, seed=3)) for share in (0.5, 0.8))
    assert len(half) == round(len(kth) * 0.5)
    assert set(half.job_number.tolist()) < set(most.job_number.tolist())
    assert set(half.job_number.tolist()) != set(transform(kth, Transform(thin=0.5, seed=4)).job_number.tolist())


def test_those_who_ask_for_less_ask_for_a_fifth_more_than_they_need_in_whole_minutes() -> None:
    log = made(submit_time=[0] * 5, run_time=[600, 601, 0, -1, 900], requested_time=[3600, 3600, 3600, 3600, 900])
    assert transform(log, Transform(shorter=1)).requested_time.tolist() == [720, 780, 60, 3600, 900]


def test_just_a_share_asks_for_less(kth: Workload) -> None:
    changed = (transform(kth, Transform(shorter=0.3)).requested_time < kth.requested_time).mean()
    # Of all that could ask for less.
    able = (transform(kth, Transform(shorter=1)).requested_time < kth.requested_time).mean()
    assert changed == pytest.approx(0.3 * able, abs=0.01)


def test_each_drawn_week_is_one_of_the_log_with_its_days_and_times(kth: Workload) -> None:
    drawn = transform(kth, Transform(resample="weeks", seed=1))
    first = int(kth.submit_time[0])
    ours, theirs = (weeks(log, first) for log in (drawn, kth))
    assert len(ours) == len(theirs) - 1  # the last one of the log is far from whole
    assert all(week in theirs[:-1] for week in ours)
    assert len({tuple(week) for week in ours}) < len(ours)  # with replacement
    assert drawn.job_number.tolist() == [*range(1, len(drawn) + 1)]


def weeks(log: Workload, first: int) -> list[list[tuple[int, int, int]]]:
    """The jobs of each week: when they come in it, how long they run, and who submits them."""
    since = log.submit_time - first
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(int(since[-1]) // WEEK + 1)]
    for when, run, user in zip(since.tolist(), log.run_time.tolist(), log.user_id.tolist(), strict=True):
        found[when // WEEK].append((when % WEEK, run, user))
    return found


def test_the_same_seed_draws_the_same_weeks_and_another_one_others(kth: Workload) -> None:
    one, again, other = (transform(kth, Transform(resample="weeks", seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.run_time, again.run_time)
    assert not np.array_equal(one.run_time, other.run_time)


def test_who_follows_whom_is_kept_within_a_week() -> None:
    log = made(submit_time=[0, 5, WEEK, WEEK + 5, 2 * WEEK - 5], preceding_job=[-1, 1, 2, 3, -1])
    drawn = transform(log, Transform(resample="weeks", seed=0))
    for row, preceding in enumerate(drawn.preceding_job.tolist()):
        # The second of each week follows the first, and nobody follows a job of another week.
        assert preceding == (row if drawn.submit_time[row] % WEEK == 5 else -1)


ARRAY = "-dt {} -e submit_batch_job | -sim-walltime 60 --uid=ann -n 1 -t 5 {}\n"


def test_tasks_of_an_array_stay_together(log_file: Callable[..., Path]) -> None:
    text = "".join(ARRAY.format(hour * 3600, f"-a 0-{hour % 5}") for hour in range(24 * 21))
    log = read_events(log_file(text, "arrays.events"))
    for how in (Transform(thin=0.5), Transform(resample="weeks"), Transform(load=2)):
        changed = transform(log, how)
        assert changed.requests is not None
        tasks = {line: len(rows) for line, rows in by_line(changed).items()}
        assert all(count % ((line - 1) % 5 + 1) == 0 for line, count in tasks.items())


def by_line(log: Workload) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row, line in enumerate(log.line.tolist()):
        found.setdefault(line, []).append(row)
    return found


def test_what_a_job_asks_for_at_a_time_moves_with_it(log_file: Callable[..., Path]) -> None:
    text = ARRAY.format(0, "") + ARRAY.format(1000, "--begin=now+60 --deadline=now+9000")
    log = transform(read_events(log_file(text, "begin.events")), Transform(load=2))
    assert log.requests is not None
    assert (log.requests[1].begin_time, log.requests[1].deadline) == (560, 9500)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"load": 0}, "--load: 0 is not above 0"),
        ({"load": float("inf")}, "--load: inf is not above 0"),
        ({"thin": 1.5}, "--thin: 1.5 is not above 0 and at most 1"),
        ({"part": -1}, "--part: -1 is not above 0 and at most 1"),
        ({"shorter": 2}, "--shorter: 2 is no share from 0 to 1"),
        ({"resample": "days"}, "--resample: 'days' is none of weeks"),
        ({"seed": -1}, "--seed: -1 is below 0"),
        ({"seed": 1}, "--seed: draws nothing: give --resample, --thin or --shorter too"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_told(how: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Transform(**how)
    assert str(caught.value) == problem


def test_a_log_of_a_week_has_no_weeks_to_draw() -> None:
    with pytest.raises(InputError, match="fewer than two whole weeks"):
        transform(made(submit_time=[0, 8 * DAY]), Transform(resample="weeks"))


def test_weeks_of_jobs_that_depend_on_others_are_not_drawn(log_file: Callable[..., Path]) -> None:
    text = ARRAY.format(0, "") + ARRAY.format(20 * DAY, "-d afterok:1")
    with pytest.raises(InputError, match="depend on others"):
        transform(read_events(log_file(text, "depends.events")), Transform(resample="weeks"))
