"""What comes of rows: settings, intervals, differences, the front. Values are worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rota.sweep.axes import Axis
from rota.sweep.effects import alike, front, lines_along, ranked, settings_in
from rota.sweep.figures import METRICS
from rota.sweep.play import Sweep
from rota.sweep.runs import Row
from rota.sweep.summary import summarise

DRAWS = np.arange(400.0)


def row(point: dict[str, str], wait: float = 1.0, **figures: Any) -> Row:
    known = {"jobs": 10, "refused": 0, "unfinished": 0, "mean_wait_s": wait, "mean_bounded_slowdown": 2.0}
    return Row(
        point=point,
        part=1.0,
        figures={**known, "utilisation": 0.5, "fairness": 0.9, "drawn_from": "9 weeks", **figures},
        drawn={"mean_wait_s": (wait + DRAWS).tolist()},
    )


def test_a_setting_that_was_run_once_has_the_interval_of_its_drawn_weeks() -> None:
    (setting,) = settings_in([row({"a": "1"}, 100.0)])
    cell = setting.cell("mean_wait_s")
    assert cell.value == 100
    assert cell.interval is not None
    # The 2.5th and the 97.5th percentile of 100, 101, …, 499.
    assert (cell.interval.low, cell.interval.high) == pytest.approx((109.975, 489.025))
    assert setting.cell("fairness").interval is None


def test_a_difference_is_of_the_same_drawn_weeks_and_so_more_certain_than_either() -> None:
    one, other = settings_in([row({"a": "1"}, 100.0), row({"a": "2"}, 90.0)])
    difference = other.cell("mean_wait_s").minus(one.cell("mean_wait_s"))
    assert difference.value == -10
    assert difference.interval is not None
    assert (difference.interval.low, difference.interval.high) == (-10, -10)


def test_logs_of_other_weeks_give_no_interval() -> None:
    one, other = settings_in([row({"a": "1"}), row({"a": "2"}, drawn_from="8 weeks")])
    assert other.cell("mean_wait_s").minus(one.cell("mean_wait_s")).interval is None


@pytest.mark.parametrize(("seeds", "has_interval"), [(7, False), (8, True)])
def test_a_setting_of_several_seeds_has_an_interval_over_them_if_they_suffice(seeds: int, has_interval: bool) -> None:
    rows = [row({"a": a, "seed": str(s)}, s + 5 * (a == "2")) for a in "12" for s in range(seeds)]
    one, other = settings_in(rows)
    assert one.point == {"a": "1"}
    assert one.cell("mean_wait_s").value == (seeds - 1) / 2
    difference = other.cell("mean_wait_s").minus(one.cell("mean_wait_s"))
    assert difference.value == 5
    assert (one.cell("mean_wait_s").interval is not None) is has_interval
    assert (difference.interval is not None) is has_interval


def test_a_setting_that_refuses_jobs_is_ranked_below_those_that_do_not() -> None:
    settings = settings_in([row({"a": "1"}, 9), row({"a": "2"}, 1, refused=3, jobs=7), row({"a": "3"}, 5)])
    assert [one.name for one in ranked(settings, "mean_wait_s")] == ["a=3", "a=1", "a=2"]
    assert [one.name for one in alike(settings)] == ["a=1", "a=3"]


def test_more_fairness_is_better_and_a_failed_setting_comes_last() -> None:
    rows = [Row({"a": "0"}, 1.0, error="no"), row({"a": "1"}, fairness=0.5), row({"a": "2"}, fairness=0.8)]
    assert [one.name for one in ranked(settings_in(rows), "fairness")] == ["a=2", "a=1", "a=0"]


def test_the_front_has_what_nothing_beats() -> None:
    rows = [
        row({"a": "quick"}, 1, fairness=0.5),
        row({"a": "fair"}, 5, fairness=0.9),
        row({"a": "neither"}, 6, fairness=0.8),
        row({"a": "quick too"}, 1, fairness=0.5),
    ]
    assert [one.point["a"] for one in front(settings_in(rows))] == ["quick", "fair", "quick too"]
    assert front([]) == []


def test_a_curve_is_the_mean_over_the_other_axes_and_a_line_for_each_of_their_few_values() -> None:
    rows = [row({"a": a, "b": b}, 10 * int(a) + int(b)) for a in "12" for b in "13"]
    mean, first, second = lines_along(Axis("a", ("1", "2")), settings_in(rows))
    assert (mean.name, first.name, second.name) == ("mean of the 2 combinations of the others", "b=1", "b=3")
    assert [cell and cell.value for cell in mean.cells["mean_wait_s"]] == [12, 22]
    assert [cell and cell.value for cell in second.cells["mean_wait_s"]] == [13, 23]
    assert mean.cells["fairness"][0] is not None
    assert mean.cells["fairness"][0].interval is None


def test_a_curve_has_a_gap_where_all_runs_have_failed() -> None:
    (line,) = lines_along(Axis("a", ("1", "2")), settings_in([row({"a": "2"}, 3)]))
    assert [cell and cell.value for cell in line.cells["mean_wait_s"]] == [None, 3]


def test_a_summary_says_what_cannot_be_compared() -> None:
    rows = [row({"a": "1"}), row({"a": "2"}, refused=1), Row({"a": "3"}, 1.0, error="broken")]
    summary = summarise(Sweep(axes=(Axis("a", ("1", "2", "3")),)), rows)
    failed, unlike = summary.doubts()
    assert failed == "1 of 3 runs has failed: see below."
    assert unlike.startswith("1 of 3 settings has left more jobs")
    told = {one["point"]["a"]: one for one in summary.as_dict()["settings"]}
    assert [told[a].get("is_alike") for a in "123"] == [True, False, None]
    assert told["2"]["figures"]["mean_wait_s"]["difference"] is None


def test_nothing_is_marked_of_settings_that_change_more_than_the_policy_or_less_than_the_model_errs() -> None:
    """Drawn differences are all the same, so that chance explains none of them."""

    def marked(first: dict[str, Any], second: dict[str, Any]) -> bool:
        rows = [row({"a": "1"}, 100.0, **first), row({"a": "2"}, 90.0, **second)]
        summary = summarise(Sweep(axes=(Axis("a", ("1", "2")),)), rows)
        return summary.is_marked(summary.settings[1], METRICS[0])

    assert marked({"inputs": "x"}, {"inputs": "x"})
    assert not marked({"inputs": "x"}, {"inputs": "y"})
    assert marked({"mean_wait_s_error": 9.0}, {})
    assert not marked({"mean_wait_s_error": 11.0}, {})
    rows = [row({"a": "1"}, inputs="x"), row({"a": "2"}, inputs="y")]
    other = summarise(Sweep(axes=(Axis("a", ("1", "2")),)), rows)
    assert other.note(other.settings[1]) == "best in some way, other jobs or machine"
    assert other.doubts()[0].startswith("1 of 2 settings changes the jobs or the machine")
