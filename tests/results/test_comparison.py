"""Several results side by side, and ``rota compare``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from rota.cli.compare import compare
from rota.model import InputError
from rota.results.provenance import Provenance, SourceFile
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


def test_figures_with_ratios_and_differences(pair: Pair) -> None:
    rows = {row.metric.key: row for row in compare_results(pair).figures.rows()}
    mean = rows["mean_wait_s"]
    assert mean.values == pytest.approx(((90 + 130) / 3, (30 + 160) / 3))
    assert mean.ratios == pytest.approx((1.0, 190 / 220))
    none, difference = mean.differences
    assert none is None
    assert difference is not None
    assert difference.value == pytest.approx(-10.0)
    assert difference.interval is None
    assert not difference.is_marked, "three jobs of two users say nothing about other jobs"
    assert "us_per_job" not in rows, "how fast rota is, is no outcome"


def test_no_ratio_to_nothing(pair: Pair, make_schedule: MakeSchedule, make_result: MakeResult) -> None:
    idle = make_result(make_schedule([(1, 1, 0, 0, 5, 1, 5)]))
    row = compare_results([idle, idle]).figures.rows()[0]
    assert row.ratios == (None, None)


def test_a_ratio_that_cannot_be_read_is_left_to_the_difference(
    make_schedule: MakeSchedule, make_result: MakeResult, tmp_path: Path
) -> None:
    """×0.00 said nothing."""
    slow, fast = ([(1, 1, 0, wait, wait + 5, 1, 5)] for wait in (10_000, 9))
    row = compare_results([make_result(make_schedule(rows)) for rows in (slow, fast)]).figures.rows()[0]
    assert row.ratios == (1.0, None)
    assert row.differences[1] is not None
    assert row.differences[1].value == -9991
    write_comparison([make_result(make_schedule(rows)) for rows in (slow, fast)], tmp_path / "page.html")
    assert "×0.00" not in (tmp_path / "page.html").read_text()


def weeks_of_jobs(wait: Callable[[int], int], *, refused: int = 0) -> list[Row]:
    """Twelve weeks of ten jobs of three users; the first jobs are refused."""
    rows: list[Row] = []
    for job in range(120):
        submit = job * 60_480
        start = -1 if job < refused else submit + wait(job)
        rows.append((job + 1, job % 3, submit, start, -1 if start < 0 else start + 600, 1, 900))
    return rows


@pytest.fixture
def run_of(make_schedule: MakeSchedule, make_result: MakeResult) -> Callable[..., ReplayResult]:
    def run(wait: Callable[[int], int], refused: int = 0, **more: Any) -> ReplayResult:
        return make_result(make_schedule(weeks_of_jobs(wait, refused=refused)), refused=refused, **more)

    return run


def test_a_run_that_refused_most_of_the_jobs_is_not_better(run_of: Callable[..., ReplayResult]) -> None:
    """It was called best in 8 of 9 rows, with a mean wait of 0, over all jobs."""
    plain, closed = run_of(lambda job: 50 + job), run_of(lambda _: 0, refused=80, options="MaxTime=1-0")
    comparison = compare_results([plain, closed])
    assert [(run.ran, run.refused, run.unfinished) for run in comparison.runs()] == [(120, 0, 0), (40, 80, 0)]
    rows = comparison.figures.rows()
    assert rows[0].values == (50 + (80 + 119) / 2, 0.0), "both over the forty jobs that both have run"
    assert not any(one and one.is_marked for row in rows for one in row.differences)
    (doubt,) = comparison.doubts()
    assert doubt.startswith(
        "These runs have not run the same jobs. Of 120 ran – sched/easy: 120; sched/easy, MaxTime=1-0: 40. The figures "
        "are of the 40 that all have run, and nothing is marked."
    )


def test_a_run_that_starts_nothing_does_not_win(run_of: Callable[..., ReplayResult]) -> None:
    comparison = compare_results([run_of(lambda _: 60), run_of(lambda _: 0, refused=120)])
    assert len(comparison.common) == 0
    assert not any(one and one.is_marked for row in comparison.figures.rows() for one in row.differences)
    assert comparison.doubts()


def test_a_broken_plugin_does_not_win(run_of: Callable[..., ReplayResult]) -> None:
    broken = run_of(lambda _: 0, faults={"sched/mine: slurm_sched_p_schedule": 43_082})
    comparison = compare_results([run_of(lambda _: 60), broken])
    assert comparison.runs()[1].faults == 43_082
    assert not any(one and one.is_marked for row in comparison.figures.rows() for one in row.differences)
    assert "sched/mine: slurm_sched_p_schedule 43,082×" in comparison.doubts()[0]


def test_only_a_difference_beyond_chance_is_marked(run_of: Callable[..., ReplayResult]) -> None:
    plain = run_of(lambda job: 1000 + 7 * (job % 11))
    less, same = (
        run_of(lambda job: 700 + 7 * (job % 11)),
        run_of(lambda job: 1000 + 7 * (job % 11) + (-100, 100)[job // 10 % 2]),
    )
    comparison = compare_results([plain, less, same], ["plain", "less", "same"])
    assert comparison.figures.unit == "weeks"
    _, lower, chance = comparison.figures.rows()[0].differences
    assert lower is not None
    assert lower.interval is not None
    assert (lower.value, lower.interval.low, lower.interval.high) == pytest.approx((-300, -300, -300))
    assert lower.is_marked
    assert chance is not None
    assert chance.interval is not None
    assert chance.interval.low < 0 < chance.interval.high
    assert not chance.is_marked


def test_utilisation_ends_with_the_last_submission(run_of: Callable[..., ReplayResult]) -> None:
    """One run had nine days of drain in its utilisation."""
    late = run_of(lambda job: 9 * 86_400 if job == 119 else 0)
    comparison = compare_results([run_of(lambda _: 0), late])
    assert [run.drain for run in comparison.runs()] == [600, 9 * 86_400 + 600]
    row = next(row for row in comparison.figures.rows() if row.metric.key == "utilisation")
    assert row.values[0] == pytest.approx(119 * 600 / (10 * 119 * 60_480))
    assert row.values[1] == row.values[0]


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
    assert (short.label, short.jobs, short.wait.values) == ("≤ 5 min", 2, (45.0, 15.0))
    assert (long.label, long.wait.values) == ("1 – 4 h", (130.0, 160.0))


def test_the_order_of_jobs_does_not_matter(pair: Pair, make_schedule: MakeSchedule) -> None:
    first, second = pair
    turned = make_schedule([(3, 7, 20, 180, 190, 2, 4000), (1, 7, 0, 0, 100, 4, 100), (2, 8, 10, 40, 90, 8, 60)])
    assert (
        compare_results([first, replace(second, schedule=turned)]).user_changes()
        == compare_results(pair).user_changes()
    )


def test_names_say_which_settings_and_files_differ(pair: Pair) -> None:
    """Two runs were named alike, of which one had another partition limit."""

    def made(result: ReplayResult, *settings: str, config: str = "a" * 64) -> ReplayResult:
        files = (SourceFile(role="config", path="conf/slurm.conf", sha256=config),)
        return replace(result, options="", provenance=Provenance(files=files, settings=settings))

    first, second = pair
    both = ("filter=sc15", "bf_interval=60")
    assert compare_results([made(first, *both), made(second, *both, "PartitionName=all MaxTime=1-0")]).names == (
        "sched/easy", "sched/easy, PartitionName=all MaxTime=1-0",
    )  # fmt: skip
    assert compare_results([made(first, *both), made(second, *both, config="b" * 64)]).names == (
        "sched/easy, slurm.conf aaaaaaaa", "sched/easy, slurm.conf bbbbbbbb",
    )  # fmt: skip


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
    assert line.split() == ["Mean", "wait", "00:01:13", "00:01:03", "×0.86"]
    assert "−00:00:10" in printed
    assert "Jobs run" in printed


def test_with_many_runs_a_row_is_a_run(folders: list[str]) -> None:
    printed = CliRunner().invoke(compare, folders * 3, catch_exceptions=False).output
    assert sum("00:01:13" in line or "00:01:03" in line for line in printed.splitlines()) == 6


def test_the_command_prints_json(folders: list[str]) -> None:
    data = json.loads(CliRunner().invoke(compare, [*folders, "--json"], catch_exceptions=False).output)
    assert [run["name"] for run in data["runs"]] == ["sched/easy", "sched/easy, easy_order=sjf"]
    assert data["runs"][1]["jobs"] == {"ran": 3, "refused": 0, "unfinished": 0}
    assert (data["jobs_compared"], data["is_alike"], data["doubts"]) == (3, True, [])
    assert data["runs"][1]["metrics"]["max_wait_s"] == 160
    difference = data["runs"][1]["differences"]["mean_wait_s"]
    assert difference == {"value": pytest.approx(-10), "interval": None, "is_marked": False}
    assert data["runs"][1]["starts"] == {"earlier": 1, "later": 1, "same": 1, "mean_change": -10.0}
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
