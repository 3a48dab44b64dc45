"""Who ran where, and what was planned when: recorded in a replay of a few jobs, kept in files, packed for the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from results.conftest import EVENTS
from results.test_columns import unpack_numbers
from rota.config.hostlist import NodeNames, expand, fold_counts, read_counts
from rota.config.lines import Line
from rota.model import InputError
from rota.replays.failures import read_failures
from rota.results.plan_history import Plan, PlanHistory, PlannedJob
from rota.results.report import planning
from rota.results.report.planning import plan_data, runs_of
from rota.results.store import read_result, write_result
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from results.conftest import MakeResult, MakeSchedule
    from rota.results.schedule import ReplayResult


def plan_at(result: ReplayResult, time: int) -> Plan:
    """Give the last plan at or before a second of the log."""
    assert result.plans is not None
    return max((plan for plan in result.plans.plans if plan.time <= time), key=lambda plan: plan.time)


# ---- hostlists ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "nodes", "text"),
    [
        (["n1", "n2", "n3", "n4"], 0b1111, "n[1-4]"),
        (["n1", "n2", "n3", "n4"], 0b1011, "n[1-2,4]"),
        (["n1", "n2"], 0b10, "n2"),
        (["n1", "n2"], 0, ""),
        (["n8", "n9", "n10", "n11"], 0b1111, "n[8-11]"),
        (["n08", "n09", "n10"], 0b111, "n[08-10]"),
        (["n9", "n010"], 0b11, "n[9,010]"),
        (["b1", "b2", "n1", "n2"], 0b1111, "b[1-2],n[1-2]"),
        (["n1", "login", "n2"], 0b111, "n1,login,n2"),
        (["n2", "n1"], 0b11, "n[2,1]"),
        (["r1-n1", "r1-n2", "r2-n1"], 0b111, "r1-n[1-2],r2-n1"),
    ],
)
def test_nodes_are_written_as_hostlists_and_read_back(names: list[str], nodes: int, text: str) -> None:
    folder = NodeNames(names)
    assert folder.fold(nodes) == text
    assert folder.places(text) == [place for place in range(len(names)) if nodes >> place & 1]
    if text:  # what ClusterShell makes of it
        chosen = {name for place, name in enumerate(names) if nodes >> place & 1}
        assert set(expand(text, Line(Path("slurm.conf"), 1, ()), "nodes")) == chosen


@pytest.mark.parametrize("text", ["m1", "n[1-9]", "n[1", "n1;n2"])
def test_other_hostlists_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="nodes"):
        NodeNames(["n1", "n2"]).places(text)


@pytest.mark.parametrize(
    ("counts", "text"), [([], ""), ([8], "8"), ([32, 32, 32, 8], "32(x3),8"), ([1, 2, 1], "1,2,1")]
)
def test_processors_are_written_as_slurm_does(counts: list[int], text: str) -> None:
    assert fold_counts(counts) == text
    assert read_counts(text) == counts


# ---- recording ----------------------------------------------------------------------------------------------------


def test_nodes_of_each_job_are_recorded(small_replay: Callable[..., ReplayResult]) -> None:
    schedule = small_replay().schedule
    # conftest.EVENTS tells who gets what.
    assert schedule.nodes == ("n[1-2]", "n[1-3]", "n1", "n3")
    assert schedule.node_cpus == ("4(x2)", "4(x3)", "4", "2")


def test_whole_nodes_count_with_all_of_their_processors(small_replay: Callable[..., ReplayResult]) -> None:
    schedule = small_replay(SelectType="select/linear").schedule
    assert schedule.nodes == ("n[1-2]", "n[1-3]", "n1", "n3")
    assert schedule.node_cpus == ("4(x2)", "4(x3)", "4", "4")


def test_interchangeable_processors_have_no_nodes(small_replay: Callable[..., ReplayResult]) -> None:
    result = small_replay(config=cluster(cpus=12), text=re.sub(r"-N \d", "", EVENTS))
    assert (result.schedule.nodes, result.schedule.node_cpus) == (None, None)
    assert result.plans is not None
    assert result.plans.nodes == ()
    # Twelve processors are what the nodes had: the plan is the same, on no nodes.
    assert [(job.job_id, job.start, job.nodes) for job in plan_at(result, 1000).planned] == [
        (2, 3600, ""),
        (3, 5400, ""),
    ]


def test_nobody_watching_nothing_is_recorded(small_replay: Callable[..., ReplayResult]) -> None:
    alone, watched = small_replay(history=False), small_replay()
    assert alone.plans is None
    assert alone.schedule.nodes is None
    for name in ("start", "end", "state"):
        assert getattr(alone.schedule, name).tolist() == getattr(watched.schedule, name).tolist()


def test_the_plan_of_a_moment(small_replay: Callable[..., ReplayResult]) -> None:
    result = small_replay()
    plan = plan_at(result, 1000)
    assert plan.waiting == 2
    # Job 1 may hold two of the three nodes that job 2 needs for an hour; job 3 would be in its way for two.
    assert [(job.job_id, job.place, job.start, job.cpus, job.nodes, job.reason) for job in plan.planned] == [
        (2, 1, 3600, 12, "n[1-3]", "Resources"),
        (3, 2, 5400, 4, "n1", "Priority"),
    ]
    # What came of it: job 1 ended at 3000.
    assert result.schedule.start.tolist() == [0, 3000, 4800, 60]
    assert result.plans is not None
    assert result.plans.nodes == (("n1", 4), ("n2", 4), ("n3", 4))
    assert len(result.plans.plans) <= 300
    assert (np.diff([one.time for one in result.plans.plans]) > 0).all()


def test_a_job_that_gets_whole_nodes_is_planned_with_all_of_their_processors(
    small_replay: Callable[..., ReplayResult],
) -> None:
    plan = plan_at(small_replay(SelectType="select/linear"), 1000)
    assert [(job.job_id, job.cpus, job.nodes) for job in plan.planned] == [(2, 12, "n[1-3]"), (3, 4, "n1")]


def test_easy_leaves_the_nodes_open(small_replay: Callable[..., ReplayResult]) -> None:
    plan = plan_at(small_replay(scheduler="sched/easy"), 1000)
    assert [(job.job_id, job.start, job.nodes) for job in plan.planned] == [(2, 3600, "")]
    assert plan.waiting == 2


def test_nodes_that_are_down_are_closed(small_replay: Callable[..., ReplayResult], tmp_path: Path) -> None:
    (tmp_path / "failures").write_text("600 n3 1200\n900 n2 600 drain\n")
    failures = read_failures(tmp_path / "failures", ["n1", "n2", "n3"])
    result = small_replay(failures=failures)
    before, during, after = (plan_at(result, time).closed for time in (590, 1200, 2500))
    assert [(one.what, one.end, one.nodes) for one in during] == [("DOWN", None, "n3"), ("DRAIN", None, "n2")]
    assert before == after == ()
    # Job 4 was lost with its node at 600. In the first cycle after that is back, at 1830, its 30 minutes would reach
    # beyond 3600, when job 2 may need the node at the latest. It starts when job 2 has ended, beside job 3 on n1.
    assert result.schedule.start.tolist() == [0, 3000, 4800, 4800]
    assert result.schedule.nodes == ("n[1-2]", "n[1-3]", "n1", "n2")


# ---- files --------------------------------------------------------------------------------------------------------


def test_plans_and_nodes_are_read_back_and_give_the_same_page(
    small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    result = small_replay()
    write_result(result, tmp_path / "out")
    again = read_result(tmp_path / "out")
    assert again.plans == result.plans
    assert (again.schedule.nodes, again.schedule.node_cpus) == (result.schedule.nodes, result.schedule.node_cpus)
    write_result(again, tmp_path / "again")
    for name in ("jobs.parquet", "plans.json", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "rota-plans-0"}, "format is not rota-plans-2"),
        ({"plans": [{"time": 1}]}, "'waiting' is missing"),
        ({"hostlists": []}, "list index out of range"),
        ({"plans": 3}, "not iterable"),
    ],
)
def test_damaged_plans_are_refused(
    change: dict[str, Any], problem: str, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    write_result(small_replay(), tmp_path)
    path = tmp_path / "plans.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=problem) as caught:
        read_result(tmp_path)
    assert caught.value.path == path


# ---- the page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        ((), []),
        (((0, 4), (1, 4), (2, 4)), [(0, 3, 4)]),
        (((2, 4), (3, 4), (7, 4)), [(2, 2, 4), (3, 1, 4)]),
        (((2, 4), (3, 1)), [(2, 1, 4), (0, 1, 1)]),
    ],
)
def test_sets_are_told_as_runs(given: tuple[tuple[int, int], ...], runs: list[tuple[int, int, int]]) -> None:
    assert list(runs_of(given)) == runs


def unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def test_what_the_page_gets(small_replay: Callable[..., ReplayResult]) -> None:
    result = small_replay()
    assert result.plans is not None
    history = replace(result.plans, plans=(plan_at(result, 1000),))
    data = plan_data(result.schedule, history, 0)
    assert data["nodes"] == [["n1", 4], ["n2", 4], ["n3", 4]]
    assert data["span"] is None
    sets = data["placed"]["sets"]
    numbers = [unzigzag(n) for n in unpack_numbers(sets["data"])]
    # n[1-2] and n[1-3] whole, n1 whole, two processors of n3: one run each, as passed over, nodes, processors.
    assert (sets["count"], numbers) == (4, [1, 1, 1, 1, *(0, 2, 4), *(0, 3, 4), *(0, 1, 4), *(2, 1, 2)])
    assert [unzigzag(n) for n in unpack_numbers(data["placed"]["data"])] == [1, 2, 3, 4]
    moments = [unzigzag(n) for n in unpack_numbers(data["moments"]["data"])]
    time = history.plans[0].time
    # Time, jobs waiting, and planned; rows 1 and 2 as differences, places, starts from then on, processors, sets,
    # reasons.
    assert moments == [time, 2, 2, 1, 1, 1, 2, 3600 - time, 5400 - time, 12, 4, 2, 3, 0, 1]
    assert data["moments"]["reasons"] == ["Resources", "Priority"]
    assert data["moments"]["closed"] == [[]]


def long_plans(schedule_ids: list[int], count: int) -> PlanHistory:
    """So many plans, 100 s apart, each with one job on nodes 1 and 3 of four."""
    planned = PlannedJob(job_id=schedule_ids[0], place=1, start=10**6, cpus=2, nodes="n[1,3]", reason="Priority")
    plans = tuple(Plan(time=100 * i, waiting=1, planned=(planned,), closed=()) for i in range(count))
    return PlanHistory(nodes=tuple((f"n{i}", 1) for i in range(1, 5)), plans=plans)


def test_a_page_of_a_long_log_has_the_jobs_around_the_longest_queue(
    make_schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Job i runs from 100 i on for 100 s, on two nodes: 2 pieces each, so that 7 pieces are three jobs.
    schedule = make_schedule([(i, 1, 100 * i, 100 * i, 100 * i + 100, 2, 100) for i in range(10)])
    schedule = replace(schedule, nodes=("n[1-2]",) * 10, node_cpus=("1(x2)",) * 10)
    monkeypatch.setattr(planning, "MAX_PIECES", 7)
    data = plan_data(schedule, long_plans([0], 10), 500)
    shown = [row for row, number in enumerate(unpack_numbers(data["placed"]["data"])) if number]
    assert shown == [4, 5, 6]
    assert data["span"] == [400, 600]
    assert data["moments"]["count"] == 3, "those of 400, 500 and 600"
    for busy, rows in ((0, [0, 1, 2]), (10**6, [7, 8, 9])):
        data = plan_data(schedule, long_plans([0], 10), busy)
        assert [row for row, number in enumerate(unpack_numbers(data["placed"]["data"])) if number] == rows


def test_plans_are_thinned_until_the_page_is_small(
    make_schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = make_schedule([(1, 1, 0, 0, 100, 2, 100)])
    monkeypatch.setattr(planning, "MAX_PLANNED_RUNS", 10)
    # Two runs a plan: 16 plans have 32, 8 have 16, 4 have 8.
    data = plan_data(schedule, long_plans([1], 16), 0)
    assert data["moments"]["count"] == 4


def test_a_page_without_plans_has_no_section(
    make_result: MakeResult, make_schedule: MakeSchedule, tmp_path: Path
) -> None:
    result = make_result(make_schedule([(1, 1, 0, 0, 100, 2, 100)]))
    for plans in (None, PlanHistory(nodes=(), plans=())):
        write_result(replace(result, plans=plans), tmp_path)
        assert 'id="h-plan"' not in (tmp_path / "report.html").read_text()
