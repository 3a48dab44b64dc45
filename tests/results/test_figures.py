"""Distributions, classes, tables and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.results.report import tables, wording
from rota.results.report.distribution import MAX_SIZE_CLASSES, ecdf, log_grid, size_classes, time_classes

if TYPE_CHECKING:
    from results.conftest import MakeResult, MakeSchedule


def test_ecdf_is_the_share_of_values_up_to_a_point() -> None:
    assert ecdf(np.array([5, 1, 1, 9]), np.array([0.0, 1.0, 4.9, 5.0, 9.0])).tolist() == [0.0, 0.5, 0.5, 0.75, 1.0]
    assert ecdf(np.array([], np.int64), np.array([1.0])).tolist() == [0.0]


def test_grid_begins_at_one_and_reaches_the_greatest_value() -> None:
    grid = log_grid(5000)
    assert (grid[0], grid[-1]) == (1.0, 5000.0)
    assert log_grid(0)[-1] == 10.0


def test_size_classes_are_powers_of_four_without_gaps() -> None:
    classes = size_classes(np.array([1, 2, 4, 5, 16, 17, 30]))
    assert classes.labels == ("1 proc", "2 – 4 procs", "5 – 16 procs", "17 – 30 procs")
    assert classes.place.tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_empty_and_rare_size_classes_join_a_neighbour() -> None:
    classes = size_classes(np.array([64, 64, 1000]))
    assert [int(members.sum()) for members in classes.members()] == [2, 1]
    many = size_classes(np.repeat(4 ** np.arange(8), np.arange(8) + 1))
    assert len(many.labels) == MAX_SIZE_CLASSES
    assert sum(int(members.sum()) for members in many.members()) == 36
    assert size_classes(np.array([], np.int64)).labels == ("1 proc",)


def test_time_classes_name_only_those_with_jobs() -> None:
    classes = time_classes(np.array([300, 301, 90_000]))
    assert classes.labels == ("≤ 5 min", "5 min – 1 h", "> 24 h")
    assert classes.place.tolist() == [0, 1, 2]


def test_users_are_summed_up_over_their_finished_jobs(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(
        [
            (1, 7, 0, 10, 110, 1, 100),  # waits 10, 100 processor seconds
            (2, 7, 0, 40, 140, 2, 100),  # waits 40, 200
            (3, 7, 0, -1, 50, 9, 100),  # cancelled: does not count
            (4, 8, 0, 0, 700, 1, 700),  # 700
        ]
    )
    first, second = tables.users(schedule)
    assert (first.user_id, first.jobs, first.share) == (8, 1, 0.7)
    assert (second.user_id, second.jobs, second.mean_wait, second.median_wait) == (7, 2, 25.0, 25.0)
    assert second.share == pytest.approx(0.3)
    assert second.mean_bounded_slowdown == pytest.approx((1.1 + 1.4) / 2)


def test_median_wait_of_an_odd_number_of_jobs_is_the_middle_one(make_schedule: MakeSchedule) -> None:
    rows = [(i, 1, 0, wait, wait + 5, 1, 5) for i, wait in enumerate((90, 1, 30))]
    assert tables.users(make_schedule(rows))[0].median_wait == 30.0


def test_worst_jobs_come_first_and_equal_ones_in_workload_order(make_schedule: MakeSchedule) -> None:
    rows = [(i, 1, 0, wait, wait + 5, 1, 5) for i, wait in enumerate((10, 90, 10, 90, 0))]
    assert [job.job_id for job in tables.longest_waits(make_schedule(rows))] == [1, 3, 0, 2, 4]
    short = [*rows, (5, 1, 0, 95, 1095, 1, 5)]
    worst = tables.greatest_slowdowns(make_schedule(short))[0]
    assert (worst.job_id, worst.bounded_slowdown) == (1, 9.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00:00"), (59.6, "00:01:00"), (93_784, "1-02:03:04"), (-90, "−00:01:30"), (-0.2, "00:00:00")],
)
def test_durations_read_as_slurm_writes_them(seconds: float, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.04, "0.0"),
        (-0.04, "0.0"),
        (12.34, "12.3"),
        (12.0, "12"),
        (-1234.5, "−1,234"),
        (99.96, "100.0"),
    ],
)
def test_points_have_tenths_only_where_they_are_few(number: float, text: str) -> None:
    assert wording.points(number) == text


def test_times_are_dates_unless_the_log_knows_none(make_schedule: MakeSchedule, make_result: MakeResult) -> None:
    early = make_schedule([(1, 1, 3 * 86400 + 3661, 5, 6, 1, 1)])
    assert wording.clock_of(make_result(early))(3 * 86400 + 3661) == "day 3 01:01:01"
    assert wording.clock_of(make_result(early, origin=1))(0) == "1970-01-01 00:00:00"
    late = make_schedule([(1, 1, 956_700_003, 5, 6, 1, 1)])
    assert wording.clock_of(make_result(late))(956_700_003) == "2000-04-25 22:00:03"
