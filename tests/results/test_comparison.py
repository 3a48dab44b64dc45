"""Several results side by side, and ``rota compare``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from rota.cli.compare import compare
from rota.model import InputError
from rota.results.report import compare_results, write_comparison
from rota.results.store import write_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from results.conftest import MakeHistory, MakeResult, MakeSchedule, Row
    from rota.results.schedule import ReplayResult, Schedule

    Pair = tuple[ReplayResult, ReplayResult]


@pytest.fixture
def pair(make_schedule: MakeSchedule, make_result: MakeResult) -> Pair:
    """The second run starts job 2 a minute earlier and job 3 half a minute later."""
    first = make_schedule([(1, 7, 0, 0, 100, 4, 100), (2, 8, 10, 100, 150, 8, 60), (3, 7, 20, 150, 160, 2, 4000)])
    second = make_schedule([(1, 7, 0, 0, 100, 4, 100), (2, 8, 10, 40, 90, 8, 60), (3, 7, 20, 180, 190, 2, 4000)])
    return make_result(first), make_result(second, options="easy_order=sjf")


@pytest.fixture
def folders(pair: Pair, tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("fcfs", "sjf")]
    for result, path in zip(pair, paths, strict=True):
        write_result(result, path)
    return [str(path) for path in paths]


def test_results_with_and_without_names_and_history_compare(
    pair: Pair, name_jobs: Callable[[Schedule], Schedule], make_history: MakeHistory, tmp_path: Path
) -> None:
    first, second = pair
    newer = replace(second, schedule=name_jobs(second.schedule), priorities=make_history(second.schedule))
    for result, name in ((first, "old"), (newer, "new")):
        write_result(result, tmp_path / name)
    page = tmp_path / "page.html"
    outcome = CliRunner().invoke(compare, [str(tmp_path / "old"), str(tmp_path / "new"), "--out", str(page)])
    assert outcome.exit_code == 0, outcome.output
    write_comparison([first, second], tmp_path / "plain.html")
    assert page.read_text().count("<td") == (tmp_path / "plain.html").read_text().count("<td")


def test_metrics_with_ratios_and_the_best(pair: Pair) -> None:
    rows = {row.metric.key: row for row in compare_results(pair).metrics()}
    mean = rows["mean_wait_s"]
    assert mean.values == pytest.approx(((90 + 130) / 3, (30 + 160) / 3))
    assert mean.ratios == pytest.approx((1.0, 190 / 220))
    assert mean.best == {1}
    assert rows["utilisation"].best == {0}, "the greater, where greater is better"
    assert rows["us_per_job"].best == frozenset(), "nobody is best where all are equal"


def test_no_ratio_to_nothing(pair: Pair, make_schedule: MakeSchedule, make_result: MakeResult) -> None:
    idle = make_result(make_schedule([(1, 1, 0, 0, 5, 1, 5)]))
    row = compare_results([idle, idle]).metrics()[0]
    assert row.ratios == (None, None)


def test_who_gained_and_what_moved(pair: Pair) -> None:
    comparison = compare_results(pair)
    assert [(user.user_id, user.change, user.mean_wait) for user in comparison.user_changes()] == [
        (8, -60, (90.0, 30.0)),
        (7, 30, (65.0, 80.0)),
    ]
    earlier, later = comparison.job_changes()
    assert [(job.job_id, job.change, job.start) for job in earlier] == [(2, -60, (100, 40))]
    assert [(job.job_id, job.change) for job in later] == [(3, 30)]
    own, other = comparison.start_changes()
    assert (own.same, other.earlier, other.later, other.same, other.mean_change) == (3, 1, 1, 1, -10.0)


def test_classes_by_size_and_requested_time(pair: Pair) -> None:
    comparison = compare_results(pair)
    assert sum(row.jobs for row in comparison.by_size()) == 3
    short, long = comparison.by_requested_time()
    assert (short.label, short.jobs, short.mean_wait) == ("≤ 5 min", 2, (45.0, 15.0))
    assert (long.label, long.mean_wait) == ("1 – 4 h", (130.0, 160.0))


def test_the_order_of_jobs_does_not_matter(pair: Pair, make_schedule: MakeSchedule) -> None:
    first, second = pair
    turned = make_schedule([(3, 7, 20, 180, 190, 2, 4000), (1, 7, 0, 0, 100, 4, 100), (2, 8, 10, 40, 90, 8, 60)])
    assert (
        compare_results([first, replace(second, schedule=turned)]).user_changes()
        == compare_results(pair).user_changes()
    )


def test_names_say_what_differs(pair: Pair) -> None:
    first, second = pair
    assert compare_results(pair).names == ("sched/easy", "sched/easy, easy_order=sjf")
    assert compare_results([first, first]).names == ("sched/easy", "sched/easy (2)")
    fcfs = replace(second, scheduler="sched/builtin", priority="priority/none")
    assert compare_results([first, fcfs]).names == (
        "sched/easy, priority/basic",
        "sched/builtin, priority/none, easy_order=sjf",
    )


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(1, 7, 0, 0, 100, 4, 100)], "1 jobs against 3"),
        ([(1, 7, 0, 0, 1, 4, 1), (2, 8, 10, 40, 90, 8, 60), (4, 7, 20, 180, 190, 2, 40)], "job 4 against job 3"),
        (
            [(1, 7, 0, 0, 1, 4, 1), (2, 8, 11, 40, 90, 8, 60), (3, 7, 20, 180, 190, 2, 40)],
            "job 2 submitted at 11 against 10",
        ),
    ],
)
def test_other_workloads_are_refused_by_name(
    rows: list[Row], why: str, pair: Pair, make_schedule: MakeSchedule, make_result: MakeResult
) -> None:
    stranger = make_result(make_schedule(rows))
    with pytest.raises(InputError, match=f"^C is of another workload than A: {why}$"):
        compare_results([*pair, stranger], ["A", "B", "C"])


def test_one_result_is_no_comparison(pair: Pair) -> None:
    with pytest.raises(InputError, match="at least two"):
        compare_results(pair[:1])


def test_the_command_prints_a_table(folders: list[str]) -> None:
    printed = CliRunner().invoke(compare, folders, catch_exceptions=False).output
    line = next(line for line in printed.splitlines() if "Mean wait" in line)
    assert line.split() == ["Mean", "wait", "00:01:13", "00:01:03", "×0.86", "*"]


def test_with_many_runs_a_row_is_a_run(folders: list[str]) -> None:
    printed = CliRunner().invoke(compare, folders * 3, catch_exceptions=False).output
    assert sum("00:01:13" in line or "00:01:03" in line for line in printed.splitlines()) == 6


def test_the_command_prints_json(folders: list[str]) -> None:
    data = json.loads(CliRunner().invoke(compare, [*folders, "--json"], catch_exceptions=False).output)
    assert [run["name"] for run in data["runs"]] == ["fcfs", "sjf"]
    assert data["runs"][1]["metrics"]["max_wait_s"] == 160
    assert data["runs"][1]["ratios"]["mean_wait_s"] == pytest.approx(190 / 220)
    assert data["runs"][1]["starts"] == {"earlier": 1, "later": 1, "same": 1, "mean_change": -10.0}
    assert data["best"]["mean_wait_s"] == ["sjf"]
    assert data["users"][0]["user_id"] == 8


def test_the_command_writes_a_page(folders: list[str], tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    CliRunner().invoke(compare, [*folders, "--out", str(page)], catch_exceptions=False)
    assert "<title>log.swf – 2 runs compared</title>" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "fcfs", "sjf"]


def test_a_page_that_cannot_be_written(folders: list[str], tmp_path: Path) -> None:
    for page in (tmp_path / "missing" / "x.html", tmp_path / "fcfs" / "summary.json" / "x.html", tmp_path / "sjf"):
        with pytest.raises(InputError, match="cannot be written"):
            CliRunner().invoke(compare, [*folders, "--out", str(page)], catch_exceptions=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fcfs", "sjf"]


def test_the_same_comparison_gives_the_same_bytes(pair: Pair, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_comparison(pair, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
