"""What is kept of a replay."""

from __future__ import annotations

import numpy as np
import pytest

from rota.config import interchangeable
from rota.replays import Scenario, replay
from rota.sweep.figures import figures_of
from rota.workload import Workload

WEEK = 7 * 86400


def log(weeks: int) -> Workload:
    """Each week two jobs of user 1 that wait for each other, and one of user 2 that does not wait."""
    return Workload.build(
        "made",
        {
            "submit_time": [week * WEEK + when for week in range(weeks) for when in (0, 0, 5000)],
            "run_time": [100, 100, 100] * weeks,
            "requested_procs": [4] * 3 * weeks,
            "requested_time": [100] * 3 * weeks,
            "user_id": [1, 1, 2] * weeks,
        },
    )


def test_fairness_is_jains_index_of_the_users_slowdowns() -> None:
    figures, _ = figures_of(replay(Scenario(log(1), interchangeable(4))))
    # User 1 is slowed down by 1 and by 2, 1.5 in the mean, and user 2 by 1.
    assert figures["fairness"] == pytest.approx((1.5 + 1) ** 2 / (2 * (1.5**2 + 1)))
    assert figures["mean_wait_s"] == pytest.approx(100 / 3)


def test_weeks_that_are_all_alike_leave_nothing_to_chance() -> None:
    figures, drawn = figures_of(replay(Scenario(log(9), interchangeable(4))))
    assert figures["drawn_from"] == "9 weeks"
    assert set(drawn) == {"mean_wait_s", "mean_bounded_slowdown", "utilisation", "fairness"}
    for key in ("mean_wait_s", "mean_bounded_slowdown", "fairness"):
        assert np.allclose(drawn[key], figures[key])
    # 3 jobs of 100 s in each whole week, on the whole machine.
    assert np.allclose(drawn["utilisation"], 300 / WEEK)


def test_a_log_of_few_weeks_and_users_has_no_drawn_figures() -> None:
    figures, drawn = figures_of(replay(Scenario(log(3), interchangeable(4))))
    assert (figures["drawn_from"], drawn) == ("", {})
