"""The data of the fair-share section: curves by level, bars of factors, and who was served how."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.model import InputError
from rota.results.priority_history import JobFactors, PriorityHistory, read_history
from rota.results.report.account_figures import NAMELESS, account_figures
from rota.results.report.factors import factor_bars
from rota.results.report.shares import MAX_LINES, MAX_SAMPLES, log_limits, share_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from results.conftest import MakeHistory, MakeSchedule
    from rota.results.schedule import Schedule

WHERE = Path("priorities.json")


def flat_history(usage: Sequence[float], samples: int) -> PriorityHistory:
    """Accounts a0, a1, … side by side, each with the same usage all the time and equal shares."""
    count = len(usage)
    return PriorityHistory(
        times=np.arange(samples, dtype=np.int64) * 60,
        accounts=tuple(f"a{i}" for i in range(count)),
        depth=(1,) * count,
        usage_share=np.tile(np.array(usage, np.float64), (samples, 1)),
        target_share=np.full(count, 1 / max(count, 1)),
        fairshare=np.ones((samples, count)),
        fair_tree=True,
        waits=(),
    )


def names(data: dict[str, Any], level: int) -> list[str]:
    return [data["accounts"][place]["name"] for place in data["levels"][level]["accounts"]]


def test_a_level_is_the_accounts_at_a_depth_and_those_above_without_any_below(
    three_jobs: Schedule, make_history: MakeHistory
) -> None:
    data = share_data(make_history(three_jobs))
    assert names(data, 0) == ["physics", "chemistry", "biology"]  # most used first: 1.8, 1.2, 0
    assert names(data, 1) == ["chemistry", "optics", "plasma", "biology"]
    assert len(data["accounts"]) == 5, "an account on two levels is in the page once"
    assert data["level"] == 0


def test_usage_directly_in_an_account_further_up_is_among_the_others(
    three_jobs: Schedule, make_history: MakeHistory
) -> None:
    data = share_data(make_history(three_jobs))
    assert data["levels"][0]["others"] is None
    # Half of physics: 0, 0.8, 0.6, 0.4.
    assert data["levels"][1]["others"] == {"count": 0, "target": 0, "used": [0, 0.4, 0.3, 0.2]}


def test_only_the_accounts_that_used_most_have_a_line() -> None:
    usage = [0.01, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.09, 0.1]
    data = share_data(flat_history(usage, 5))
    assert names(data, 0) == ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a9"]
    assert len(data["accounts"]) == MAX_LINES
    assert data["levels"][0]["others"] == {"count": 2, "target": 0.2, "used": [0.1] * 5}


def test_the_first_level_with_a_choice_is_shown_first() -> None:
    history = replace(flat_history([1.0, 0.5, 0.5], 2), depth=(1, 2, 2))
    assert share_data(history)["level"] == 1
    assert share_data(flat_history([1.0], 2))["level"] == 0


def test_samples_are_thinned_evenly_and_keep_both_ends() -> None:
    data = share_data(flat_history([1.0], 1000))
    assert len(data["t"]) == MAX_SAMPLES
    assert (data["t"][0], data["t"][-1]) == (0, 999 * 60)
    assert set(np.diff(data["t"])) <= {180, 240}
    assert len(data["accounts"][0]["used"]) == MAX_SAMPLES
    assert share_data(flat_history([1.0], 7))["t"] == [60 * i for i in range(7)]


def test_infinite_fair_share_is_none_and_stays_out_of_the_limits(
    three_jobs: Schedule, make_history: MakeHistory
) -> None:
    data = share_data(make_history(three_jobs))
    physics, biology = data["accounts"][0], data["accounts"][2]
    assert (physics["fairshare"], biology["fairshare"]) == ([None, 0.625, 0.833, 1.25], [None] * 4)
    assert data["limits"] == [0.1, 10]
    assert share_data(make_history(three_jobs, fair_tree=False))["limits"] == [0, 1]


@pytest.mark.parametrize(
    ("values", "limits"),
    [([], [0.1, 10]), ([0.0, np.inf], [0.1, 10]), ([0.03, 70.0], [0.01, 100]), ([1e-9, 1e9], [0.001, 1000])],
)
def test_limits_are_powers_of_ten_about_what_is_drawn(values: list[float], limits: list[float]) -> None:
    assert log_limits(np.array(values)) == limits


def job(job_id: int = 1, **points: float) -> JobFactors:
    return JobFactors(job_id=job_id, user="ann", account="optics", wait=9, priority=1, **points)


def test_bars_stack_on_one_scale() -> None:
    bars = factor_bars([job(age=30, qos=10), job(age=10, nice=10)])
    # 40 points to the right and 10 to the left: two per cent a point.
    assert bars.zero == 20
    parts = [[(part.factor.name, part.left, part.width) for part in bar.segments] for bar in bars.bars]
    assert parts == [[("age", 20, 60), ("qos", 80, 20)], [("age", 20, 20), ("nice", 0, 20)]]


def test_what_a_negative_nice_gives_adds_and_a_negative_site_factor_takes_away() -> None:
    (bar,) = factor_bars([job(nice=-30, site=-10)]).bars
    assert [(part.factor.name, part.points, part.left) for part in bar.segments] == [("site", -10, 0), ("nice", 30, 25)]


def test_factors_that_never_count_have_no_column() -> None:
    bars = factor_bars([job(age=3), job(fairshare=2)])
    assert [factor.label for factor in bars.factors] == ["Age", "Fair-share"]
    assert bars.idle == ("Job size", "Partition", "QOS", "Association", "TRES", "Site", "Nice")
    assert [bar.points for bar in bars.bars] == [(3, 0), (0, 2)]


@pytest.mark.parametrize("waits", [[], [job()]])
def test_bars_without_points_are_empty(waits: list[JobFactors]) -> None:
    bars = factor_bars(waits)
    assert (bars.zero, bars.factors) == (0, ())
    assert all(bar.segments == () for bar in bars.bars)


@pytest.fixture
def five_jobs(make_schedule: MakeSchedule) -> Schedule:
    return make_schedule(
        [
            (1, 1, 0, 10, 3610, 1, 1),  # u1 of optics: waits 10, 1 CPU hour
            (2, 1, 0, 40, 3640, 2, 1),  # u1 of optics: waits 40, 2
            (3, 3, 0, 100, 3700, 3, 1),  # u3 of optics: waits 100, 3
            (4, 2, 0, 0, 7200, 2, 1),  # u2 of chemistry: 4
            (5, 2, 0, -1, 50, 9, 1),  # cancelled: does not count
        ]
    )


def test_accounts_and_their_users_are_summed_up(five_jobs: Schedule, name_jobs: Callable[[Schedule], Schedule]) -> None:
    optics, chemistry = account_figures(name_jobs(five_jobs), {"optics": 0.25})
    assert (optics.total.name, optics.total.jobs, optics.total.cpu_hours) == ("optics", 3, 6)
    assert (optics.total.share, optics.total.target) == (0.6, 0.25)
    assert (optics.total.mean_wait, optics.total.median_wait) == (50, 40)
    assert optics.total.mean_bounded_slowdown == pytest.approx(1 + (10 + 40 + 100) / 3 / 3600)
    assert [(user.name, user.jobs, user.share) for user in optics.users] == [("u1", 2, 0.3), ("u3", 1, 0.3)]
    assert (chemistry.total.jobs, chemistry.total.share, chemistry.total.target) == (1, 0.4, None)


def test_names_that_are_missing(five_jobs: Schedule) -> None:
    assert account_figures(five_jobs, {}) == []
    (only,) = account_figures(replace(five_jobs, account=("",) * 5), {})
    assert only.total.name == NAMELESS
    assert [user.name for user in only.users] == ["2", "1", "3"]
    assert account_figures(replace(five_jobs.take(np.array([4])), account=("a",)), {}) == []


@pytest.mark.parametrize("fair_tree", [True, False])
def test_a_history_goes_through_json_unchanged(
    fair_tree: bool, three_jobs: Schedule, make_history: MakeHistory
) -> None:
    history = make_history(three_jobs, fair_tree=fair_tree)
    again = read_history(json.loads(json.dumps(history.as_dict(), allow_nan=False)), WHERE)
    for name in ("times", "usage_share", "target_share", "fairshare"):
        ours, theirs = getattr(history, name), getattr(again, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), name
    for name in ("accounts", "depth", "fair_tree", "waits"):
        assert getattr(again, name) == getattr(history, name)


@pytest.mark.parametrize(("accounts", "samples"), [(0, 3), (2, 0), (0, 0)])
def test_a_history_of_nothing_goes_through_json(accounts: int, samples: int) -> None:
    again = read_history(flat_history([0.0] * accounts, samples).as_dict(), WHERE)
    assert again.usage_share.shape == (samples, accounts)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "rota-priorities-9"}, "format is not rota-priorities-1"),
        ({"waits": [{"job_id": 1}]}, "'user' is missing"),
        ({"times": [1, 2]}, "not the history of priorities"),
        ({"times": [1, 2, 4, 3]}, "times do not rise"),
        ({"accounts": 3}, "not the history of priorities"),
        ({"accounts": [{"name": "a"}]}, "'depth' is missing"),
    ],
)
def test_what_is_no_history_is_refused_in_one_line(
    change: dict[str, Any], problem: str, three_jobs: Schedule, make_history: MakeHistory
) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read_history(make_history(three_jobs).as_dict() | change, WHERE)
    assert caught.value.path == WHERE
    assert "\n" not in str(caught.value)
    assert "replay again" in str(caught.value)


def test_columns_of_another_length_are_refused(three_jobs: Schedule, make_history: MakeHistory) -> None:
    history = make_history(three_jobs)
    with pytest.raises(ValueError, match="differ in length"):
        replace(history, depth=(1,))
    with pytest.raises(ValueError, match="usage_share does not have"):
        replace(history, usage_share=history.usage_share[1:])
