"""Utilisation and queue as step functions, against cases worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.results.report import steps

if TYPE_CHECKING:
    from results.conftest import MakeSchedule
    from rota.results.schedule import Schedule


def test_busy_processors_step_at_every_start_and_end(three_jobs: Schedule) -> None:
    busy = steps.busy_processors(three_jobs)
    assert busy.times.tolist() == [100, 200, 205]
    assert busy.values.tolist() == [6, 8, 0]


def test_queue_counts_jobs_from_submission_to_start_or_cancellation(three_jobs: Schedule) -> None:
    queue = steps.waiting_jobs(three_jobs)
    assert queue.at(np.array([0, 100, 149, 150, 160, 189, 190, 199, 200, 999])).tolist() == [
        0,
        0,
        0,
        1,
        2,
        2,
        1,
        1,
        0,
        0,
    ]
    asked = steps.waiting_processors(three_jobs)
    assert asked.at(np.array([150, 160, 190, 200])).tolist() == [8, 10, 8, 0]


def test_a_job_still_running_or_waiting_counts_until_the_horizon(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([(1, 1, 0, 0, -1, 4, 9), (2, 1, 10, -1, -1, 2, 9), (3, 1, 20, 20, 50, 1, 9)])
    assert steps.horizon(schedule) == (0, 50)
    assert steps.busy_processors(schedule).at(np.array([0, 30, 49])).tolist() == [4, 5, 5]
    assert steps.waiting_jobs(schedule).at(np.array([9, 10, 49, 50])).tolist() == [0, 1, 1, 0]


def test_a_job_that_takes_no_time_leaves_no_trace(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([(1, 1, 5, 5, 5, 3, 9)])
    assert steps.busy_processors(schedule).values.tolist() == [0]


def test_bins_hold_the_time_weighted_mean_and_the_peak() -> None:
    function = steps.step_function(np.array([2, 4]), np.array([6, 5]), np.array([10, 1]))
    bins = steps.binned(function, np.array([0, 4, 8, 12]))
    assert bins.mean.tolist() == [5.0, (11 + 10) / 4, 0.0]
    assert bins.peak.tolist() == [10, 11, 0]


def test_bins_of_a_random_function_agree_with_counting_every_second() -> None:
    random = np.random.default_rng(1)
    begin = random.integers(0, 500, 300)
    end = begin + random.integers(0, 60, 300)
    weight = random.integers(1, 9, 300)
    every_second = np.zeros(600, np.int64)
    for first, last, amount in zip(begin, end, weight, strict=True):
        every_second[first:last] += amount
    bins = steps.binned(steps.step_function(begin, end, weight), np.arange(0, 601, 25))
    chunks = every_second.reshape(-1, 25)
    assert np.allclose(bins.mean, chunks.mean(axis=1), rtol=0, atol=1e-12)
    assert bins.peak.tolist() == chunks.max(axis=1).tolist()


@pytest.mark.parametrize("span", [0, 1, 59, 1998, 10**5, 31_536_000, 84_720_170, 10**10])
def test_bins_cover_the_span_and_are_few(span: int) -> None:
    edges = steps.bin_edges(1_000_003, 1_000_003 + span)
    assert edges[0] <= 1_000_003
    assert edges[-1] >= 1_000_003 + span
    assert 1 <= len(edges) - 1 <= steps.MAX_BINS
    assert len(set(np.diff(edges).tolist())) == 1


def test_busiest_week_is_the_one_with_the_longest_mean_queue() -> None:
    day = 86400
    queue = steps.step_function(np.array([3 * day, 30 * day]), np.array([4 * day, 33 * day]), np.array([5, 4]))
    start = steps.busiest_week(queue, 0, 60 * day)
    assert start <= 30 * day
    assert start + 7 * day >= 33 * day


def test_no_jobs_have_no_steps(make_schedule: MakeSchedule) -> None:
    nobody = make_schedule([])
    assert steps.horizon(nobody) == (0, 0)
    assert len(steps.busy_processors(nobody).times) == 0
    assert steps.binned(steps.waiting_jobs(nobody), steps.bin_edges(0, 0)).peak.tolist() == [0]
    assert steps.busiest_week(steps.waiting_jobs(nobody), 0, 0) == 0
