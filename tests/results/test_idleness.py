"""Why a part of the machine is idle while jobs wait, who is served how in which group, and which promises are kept.

What is expected is worked out at `results.conftest.TWO_TYPES`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from rota.cli.compare import compare
from rota.model import InputError
from rota.results.plan_history import NodeKind, Plan, PlanHistory, PlannedJob
from rota.results.report import wording
from rota.results.report.comparison import compare_results
from rota.results.report.groups import MAX_GROUPS, Grouping, groupings
from rota.results.report.idleness import idle_rows, parts, reason_data, verdict, waiting_time
from rota.results.report.page import report_data
from rota.results.report.promises import promises
from rota.results.store import read_result, write_result

if TYPE_CHECKING:
    from pathlib import Path

    from results.conftest import MakeResult, MakeSchedule
    from rota.results.schedule import ReplayResult


def test_nodes_are_divided_by_what_they_are(two_types: ReplayResult) -> None:
    assert two_types.plans is not None
    old, new = two_types.plans.kinds
    assert (old.nodes, old.count, old.cpus, old.features, old.gres) == ("n[1-2]", 2, 4, ("old",), ())
    assert (new.nodes, new.count, new.cpus, new.features, new.gres) == ("m1", 1, 8, ("new",), ("gpu:2",))
    assert two_types.schedule.node_type == ("n[1-2]", "n[1-2]", "m1")
    assert two_types.schedule.gres == ("", "", "gres/gpu=1")
    assert two_types.schedule.partition == ("batch",) * 3


def test_a_plan_tells_who_waits_why_and_for_what(two_types: ReplayResult) -> None:
    assert two_types.plans is not None
    plan = next(plan for plan in two_types.plans.plans if plan.time > 0)
    assert [(one.reason, one.jobs, one.cpus) for one in plan.reasons] == [("Resources", 1, 8)]
    assert [(one.jobs, one.cpus) for one in plan.usable] == [(1, 8), (0, 0)], "job 2 could use the old nodes only"
    reasons = reason_data(two_types.plans)
    assert reasons is not None
    place = reasons["t"].index(plan.time)
    told = [(line["name"], line["jobs"][place], line["procs"][place]) for line in reasons["lines"]]
    assert told == [("Resources", 1, 8), ("Priority", 0, 0)]  # until the first backfill cycle job 3 waits, too


def test_idleness_is_that_of_the_time_in_which_jobs_waited(two_types: ReplayResult) -> None:
    end = int(two_types.schedule.start[1])
    assert waiting_time(two_types.schedule).tolist() == [[0, end]]
    rows = idle_rows(two_types, parts(two_types))
    old, new, gpus = rows
    assert (old.label, old.size, new.label, new.size) == ("n[1-2]", 8, "m1", 8)
    assert old.used == pytest.approx(8 * 3000 / end)
    # Job 2 could use the old nodes all the time; job 3 the new one until the first backfill cycle.
    assert old.wanted is not None
    assert new.wanted is not None
    assert old.wanted >= 1 > new.wanted > 0
    third = int(two_types.schedule.end[2] - two_types.schedule.start[2])
    assert new.used == pytest.approx(4 * third / end)
    assert (gpus.label, gpus.size) == ("gres/gpu", 2)
    assert gpus.used == pytest.approx(third / end)
    told = verdict(two_types, rows)
    assert "The largest part of these was on m1: 7 of its 8, which 0 of the waiting jobs could have used." in told
    assert "Their reasons were Resources (" in told


def test_a_page_has_a_curve_for_each_part_and_arrivals(two_types: ReplayResult) -> None:
    data = report_data(two_types, parts(two_types))
    assert [part["name"] for part in data["parts"]] == ["n[1-2]", "m1", "gres/gpu"]
    assert max(data["parts"][2]["mean"]) == 0.5
    edges = np.array(data["series"]["t"])
    assert (np.array(data["arrivals"])[:-1] * np.diff(edges) / 3600).sum() == pytest.approx(3, rel=1e-3)


def test_what_is_recorded_is_read_back(two_types: ReplayResult, tmp_path: Path) -> None:
    write_result(two_types, tmp_path / "out")
    again = read_result(tmp_path / "out")
    assert again.plans == two_types.plans
    for name in ("partition", "qos", "gres", "node_type"):
        assert getattr(again.schedule, name) == getattr(two_types.schedule, name)


def test_groups_are_those_that_tell_jobs_apart(two_types: ReplayResult) -> None:
    (found,) = groupings(two_types)  # all jobs are of one partition, and have no account or QOS
    assert (found.key, found.label) == ("node_type", "Node type")
    old, new = found.figures(two_types)
    assert (old.name, old.jobs) == ("n[1-2]", 2)
    assert old.cpu_hours == pytest.approx(8 * (3000 + 600) / 3600)
    assert (new.name, new.jobs, new.mean_wait) == ("m1", 1, two_types.schedule.wait[2])


def test_small_groups_share_a_class(make_schedule: MakeSchedule, make_result: MakeResult) -> None:
    # Group g0 has most processor seconds, g29 the fewest.
    schedule = make_schedule([(i, 1, 0, 0, 1000 - i, 1, 1000) for i in range(30)])
    names = tuple(f"g{i}" for i in range(30))
    found = Grouping(key="account", label="Account", names=names).classes(make_result(schedule))
    assert (found.labels[0], found.labels[-1], len(found.labels)) == ("g0", "11 others", MAX_GROUPS)
    assert [int(one.sum()) for one in found.members()] == [1] * 19 + [11]


def test_runs_are_compared_by_group_and_by_promises(two_types: ReplayResult) -> None:
    found = compare_results([two_types, two_types])
    ((group, rows),) = found.groups()
    assert group.key == "node_type"
    assert [(row.label, row.jobs) for row in rows] == [("n[1-2]", 2), ("m1", 1)]
    kept = found.promises()[0]
    # Job 2 was planned for 3600 and started in the cycle after 3000.
    assert kept is not None
    assert (kept.jobs, kept.earlier, kept.kept, kept.later) == (1, 1.0, 0.0, 0.0)
    assert kept.median == two_types.schedule.start[1] - 3600


def test_promises_are_sorted_by_how_far_ahead_they_were(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([(1, 1, 0, 1000, 2000, 1, 1000), (2, 1, 0, 5000, 6000, 1, 1000), (3, 1, 0, -1, -1, 1, 9)])

    def planned(job: int, start: int) -> PlannedJob:
        return PlannedJob(job_id=job, place=1, start=start, cpus=1, nodes="", reason="Priority")

    # Job 1 as planned 400 s ahead, 20 s later than planned 980 s ahead; job 2 500 s earlier; job 3 never started.
    moments = [
        (0, (planned(1, 980), planned(2, 5500), planned(3, 100))),
        (600, (planned(1, 1000), planned(2, 600))),  # what is to start at once is no promise
    ]
    plans = tuple(Plan(time=time, waiting=3, planned=some, closed=()) for time, some in moments)
    rows = promises(schedule, PlanHistory(nodes=(), plans=plans))
    assert [(row.label, row.planned, row.kept, row.earlier, row.later) for row in rows] == [
        ("≤ 10 min", 1, 1, 0, 0),
        ("10 min – 1 h", 1, 1, 0, 0),
        ("1 – 6 h", 1, 0, 1, 0),
        ("all", 3, 2 / 3, 1 / 3, 0),
    ]
    assert promises(schedule, None) == promises(schedule, PlanHistory(nodes=(), plans=())) == []


def test_who_never_waited_has_no_verdict(make_schedule: MakeSchedule, make_result: MakeResult) -> None:
    result = make_result(make_schedule([(1, 1, 0, 0, 1000, 1, 1000)]))
    kind = NodeKind(nodes="n1", count=1, cpus=1, memory=1, gres=(), features=())
    for plans in (None, PlanHistory(nodes=(("n1", 1),), plans=(), kinds=(kind,))):
        assert idle_rows(replace(result, plans=plans), ()) == []
        assert verdict(replace(result, plans=plans), ()) == ""


def test_the_command_prints_waits_by_group_on_demand(two_types: ReplayResult, tmp_path: Path) -> None:
    write_result(two_types, tmp_path / "run")
    folders = [str(tmp_path / "run")] * 2
    printed = (
        CliRunner().invoke(compare, [*folders, "--by", "node-type", "--by", "size"], catch_exceptions=False).output
    )
    assert "Mean wait by size" in printed
    lines = printed[printed.index("Mean wait by node-type") :].splitlines()
    # Of the two jobs on the old nodes one waited.
    mean = two_types.schedule.wait[:2].mean()
    assert lines[2].split()[:3] == ["n[1-2]", "2", wording.duration(mean)]
    with pytest.raises(InputError, match="take one of size, time, node-type"):
        CliRunner().invoke(compare, [*folders, "--by", "qos"], catch_exceptions=False)
    data = json.loads(CliRunner().invoke(compare, [*folders, "--json"], catch_exceptions=False).output)
    assert [row["label"] for row in data["by_node_type"]] == ["n[1-2]", "m1"]
    assert data["runs"][0]["promises"]["earlier"] == 1
