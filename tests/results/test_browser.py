"""The pages in a real browser: they draw, and say nothing on the console.

Over 400 lines: the JavaScript that a page runs stands beside the test that reads its answer.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from web.browser import DRAWN

from results.conftest import EVENTS
from rota.replays.failures import read_failures
from rota.results.report import write_comparison, write_report
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from web.browser import Browser

    from results.conftest import MakeHistory, MakeResult, RandomLog
    from rota.results.schedule import ReplayResult, Schedule

#: Places every job's pieces on its processors in order of start, and counts what does not fit.
PACKING = """() => {
  const { gantt, jobs } = window.rota;
  const until = new Array(gantt.height).fill(0);
  const order = Array.from({ length: jobs.count }, (_, i) => i).filter((i) => gantt.pieces[i]);
  let overlaps = 0, wrong = 0;
  for (const i of order.sort((a, b) => jobs.start[a] - jobs.start[b] || a - b)) {
    let size = 0;
    for (let k = 0; k < gantt.pieces[i].length; k += 2) {
      for (let p = gantt.pieces[i][k]; p < gantt.pieces[i][k + 1]; p++, size++) {
        if (until[p] > jobs.start[i]) overlaps++;
        until[p] = jobs.end[i];
      }
    }
    if (size !== jobs.procs[i]) wrong++;
  }
  return { overlaps, wrong, height: gantt.height, packed: order.length, shown: gantt.shown.length };
}"""
#: Computes the queue again in the browser, over the bins that NumPy prepared.
STEPS = """() => {
  const { data, jobs, charts } = window.rota;
  const [first, last] = [data.series.t[0], data.series.t.at(-1)];
  const fine = charts.detail(first, last)["chart-jobs"];
  const area = (edges, curve) => edges.slice(1).reduce((sum, t, i) => sum + curve[i] * (t - edges[i]), 0);
  charts.zoom(first + (last - first) / 3, last);
  return {
    ids: [...jobs.id], starts: [...jobs.start], ends: [...jobs.end],
    peaks: [Math.max(...fine[1]), Math.max(...data.series.jobs.peak)],
    areas: [area(fine[0], fine[2]), area(data.series.t, data.series.jobs.mean)],
  };
}"""
#: Uses the controls of the schedule as a reader does.
CONTROLS = """() => {
  const { gantt, controls, data } = window.rota;
  const say = () => document.getElementById("gantt-status").textContent;
  const change = (id, value) => {
    const input = document.getElementById(id);
    input.value = value;
    input.dispatchEvent(new Event("change"));
  };
  const states = [say()];
  change("gantt-length", "21600");
  states.push(gantt.window[1] - gantt.window[0]);
  document.querySelector("button[data-job]")?.click();
  states.push(say());
  change("gantt-job", "123456");
  states.push(say());
  change("gantt-colour", "user");
  document.getElementById("gantt-busiest").click();
  states.push(gantt.window[0] === data.window[0]);
  const box = gantt.canvas.getBoundingClientRect();
  let hit = -1;
  for (let x = 70; x < box.width - 30 && hit < 0; x += 3) hit = gantt.jobAt(x, box.height - 50);
  return { states, hit };
}"""

#: Looks at the fair-share chart in each way that a reader can, then zooms it, and opens an account.
SHARES = """() => {
  const { shares, charts } = window.rota;
  const change = (id, value) => {
    const input = document.getElementById(id);
    if (!input) return;
    input.value = value;
    input.dispatchEvent(new Event("change"));
  };
  const plot = () => shares.charts.plots.get("chart-shares").plot;
  const look = () => ({
    labels: plot().series.slice(1).map((s) => s.label),
    last: plot().data.slice(1).map((column) => column.at(-1)),
    first: plot().data.slice(1).map((column) => column[0]),
    range: plot().scales.y.range(plot(), 0, 1, "y"), // minimum and maximum are set only later
    said: plot().series.slice(1).map((s, i) => s.value(plot(), plot().data[i + 1][0], i + 1, 0)),
  });
  const seen = { used: look() };
  change("shares-level", "1");
  seen.lower = look();
  change("shares-measure", "fairshare");
  change("shares-level", "0");
  seen.fairshare = look();
  const [from, to] = charts.full;
  shares.charts.zoom(from, (from + to) / 2);
  seen.linked = charts.range[1] === shares.charts.range[1] && charts.range[1] < to;
  charts.zoom(from, to);
  seen.back = shares.charts.range[1] === to;
  const open = () => [...document.querySelectorAll("table.served tr.under")].filter((row) => !row.hidden).length;
  const button = document.querySelector("table.served button");
  seen.open = [open()];
  for (let i = 0; i < 2; i++) { button.click(); seen.open.push(open()); }
  seen.canvases = document.querySelectorAll("#chart-shares canvas").length;
  return { seen };
}"""
#: Points at jobs of the plan as a reader does: at places computed from times and nodes, by pointer and by keyboard.
PLAN = """() => {
  const { planControls, charts } = window.rota;
  const { picture } = planControls;
  charts.onPick(1000);
  const { canvas } = picture;
  const change = (id, value) => {
    const input = document.getElementById(id);
    input.value = value;
    input.dispatchEvent(new Event("change"));
  };
  change("plan-length", "21600");
  const told = () => {
    const tip = document.getElementById("plan-tip");
    if (tip.hidden) return null;
    return [...tip.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
  };
  const send = (kind, time, row, part) => {
    const at = picture.layout(), box = canvas.getBoundingClientRect();
    const clientX = box.x + at.x(time), clientY = box.y + at.y(row) + at.rowHeight * part;
    canvas.dispatchEvent(new PointerEvent(kind, { clientX, clientY, bubbles: true, pointerId: 1 }));
  };
  const point = (...where) => { send("pointermove", ...where); return told(); };
  const status = () => document.getElementById("plan-status").textContent;
  const press = (key) => { canvas.dispatchEvent(new KeyboardEvent("keydown", { key })); return status(); };
  const byJob = (items) => Object.fromEntries(items.map(({ job, pieces }) => [picture.jobs.id[job], pieces]));
  const painted = (time, row) => {
    const at = picture.layout();
    const place = [at.x(time), at.y(row) + at.rowHeight / 2].map((pixels) => Math.round(pixels * devicePixelRatio));
    return canvas.getContext("2d").getImageData(...place, 1, 1).data[3] > 0;
  };
  const seen = {
    time: planControls.time, overview: status(), running: byJob(picture.running), planned: byJob(picture.planned),
    rows: picture.rows.map(([name]) => name), rowsChoice: !document.getElementById("plan-rows").closest("label").hidden,
    pointed: POINTS.map((where) => point(...where)), waitsFor: [], keys: [],
  };
  send("pointermove", ...POINTS[0]);
  seen.waitsFor = picture.waitsFor.map((job) => picture.jobs.id[job]);
  send("pointerleave", 0, 0, 0);
  seen.gone = [told(), picture.marked];
  const keys = ["ArrowDown", "ArrowDown", "ArrowDown", "Escape", "ArrowUp", "ArrowRight"];
  for (const key of keys) seen.keys.push(press(key));
  planControls.pick(1000);
  seen.painted = [painted(3600 + 900, 0), painted(2 * 3600 + 1800, 2)];
  change("plan-right", "real");
  seen.kinds = picture.shown.map(({ kind, job }) => `${picture.jobs.id[job]} ${kind}`).sort();
  change("plan-right", "plan");
  change("plan-job", "4");
  seen.found = status();
  change("plan-job", "77");
  seen.missing = status();
  return { seen };
}"""

pytestmark = pytest.mark.browser


def look(browser: Browser, page: Path, check: str = "() => ({})") -> dict[str, Any]:
    """Load a page and tell what is to be seen: problems, which canvases are drawn, and what ``check`` gives."""
    assert "script-src 'unsafe-inline'" in page.read_text(encoding="utf-8")
    opened = browser.open(page.as_uri(), width=1280, height=2400)
    opened.wait("document.readyState === 'complete'")
    opened.drawn()
    drawn = opened.run(DRAWN)
    found: dict[str, Any] = opened.run(f"({check})()")
    return {**found, "drawn": drawn, "title": opened.run("document.title"), "problems": opened.problems}


@pytest.mark.parametrize("jobs", [*(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1)), 400])
def test_report_draws_without_complaints(
    jobs: int, browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    write_report(make_result(random_log(jobs, 2)), tmp_path / "report.html")
    seen = look(browser, tmp_path / "report.html", CONTROLS)
    assert seen["title"] == "log.swf – sched/easy"
    assert seen["problems"] == []
    assert seen["drawn"] == [True] * 7
    if jobs == 400:
        words, length, found, missing, back = seen["states"]
        assert words.endswith(" jobs")
        assert length == 21600
        assert re.match(r"Job \d+ · User user\d+ · Processors \d+ · Submitted day \d", found)
        assert missing == "There is no job 123456."
        assert back is True
        assert seen["hit"] >= 0


@pytest.fixture(params=[pytest.param(True, id="fair-tree"), pytest.param(False, id="classic", marks=pytest.mark.slow)])
def fair_result(
    request: pytest.FixtureRequest,
    random_log: RandomLog,
    name_jobs: Callable[[Schedule], Schedule],
    make_history: MakeHistory,
    make_result: MakeResult,
) -> ReplayResult:
    schedule = random_log(200, 2)
    history = make_history(schedule, fair_tree=request.param)
    return replace(make_result(name_jobs(schedule)), priorities=history)


def test_fair_share_chart_follows_its_controls(browser: Browser, fair_result: ReplayResult, tmp_path: Path) -> None:
    write_report(fair_result, tmp_path / "report.html")
    page = look(browser, tmp_path / "report.html", SHARES)
    assert page["problems"] == []
    assert page["drawn"] == [True] * 8
    seen = page["seen"]
    # What is expected here is written down in conftest.fair_history.
    assert seen["used"]["labels"] == [
        "physics, target 50.0 %",
        "chemistry, target 40.0 %",
        "biology, target 10.0 %",
    ]
    assert seen["used"]["last"] == [0.4, 0.6, 0]
    assert seen["lower"]["labels"][-1] == "others, target 0.0 %"
    assert seen["lower"]["last"] == [0.6, 0.1, 0.1, 0, 0.2]
    assert seen["fairshare"]["labels"] == ["physics", "chemistry", "biology"]
    if fair_result.priorities is not None and fair_result.priorities.fair_tree:
        assert seen["fairshare"]["range"] == [0.1, 10]
        assert seen["fairshare"]["said"] == ["∞"] * 3
        assert seen["fairshare"]["first"] == [10] * 3
        assert seen["fairshare"]["last"] == [1.25, 0.667, 10]
    else:
        assert seen["fairshare"]["range"] == [0, 1]
        assert seen["fairshare"]["last"] == [0.574, 0.354, 1]  # 2^-0.8, 2^-1.5, 2^0
    assert seen["linked"] is True
    assert seen["back"] is True
    assert seen["open"] == [0, 3, 0]  # the users of one account: of six, those with odd or even numbers
    assert seen["canvases"] == 1


def test_compare_draws_without_complaints(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    results = [make_result(random_log(200, 2)), make_result(random_log(200, 2), options="x=1")]
    write_comparison(results, tmp_path / "compare.html")
    seen = look(browser, tmp_path / "compare.html")
    assert seen["problems"] == []
    assert seen["drawn"] == [True] * 8  # two distributions, and three curves of each run


#: Chooses the runs in turn, and says which of the tables are seen, and whether it is told that they are the same.
PAIRS = """() => {
const choose = (which, run) => {
  const select = document.getElementById(`pair-${which}`);
  select.value = run;
  select.dispatchEvent(new Event("change"));
};
const shown = () => [...document.querySelectorAll("[data-pair]")].filter((part) => !part.hidden)
  .map((part) => part.dataset.pair);
const seen = [shown()];
choose("other", 2);
seen.push(shown());
choose("one", 1);
seen.push(shown());
choose("other", 1);
seen.push(shown(), [document.getElementById("pair-same").hidden]);
return { pairs: seen };
}"""


def test_any_two_runs_can_be_put_side_by_side(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    results = [make_result(random_log(50, 2), options=f"x={n}") for n in range(3)]
    write_comparison(results, tmp_path / "compare.html")
    seen = look(browser, tmp_path / "compare.html", PAIRS)
    assert seen["problems"] == []
    assert seen["pairs"] == [["0-1"], ["0-2"], ["1-2"], [], [False]]


def test_packing_never_overlaps(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    schedule = random_log(1500, 11)
    write_report(make_result(schedule), tmp_path / "report.html")
    seen = look(browser, tmp_path / "report.html", PACKING)
    assert (seen["overlaps"], seen["wrong"], seen["height"]) == (0, 0, 10)
    assert seen["packed"] == int((schedule.run > 0).sum())


def test_browser_and_numpy_agree(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    schedule = random_log(300, 4)
    write_report(make_result(schedule), tmp_path / "report.html")
    seen = look(browser, tmp_path / "report.html", STEPS)
    assert seen["problems"] == []
    assert (seen["ids"], seen["starts"]) == (schedule.job_id.tolist(), schedule.start.tolist())
    assert seen["ends"] == schedule.end.tolist()
    assert seen["peaks"][0] == seen["peaks"][1]
    assert seen["areas"][0] == pytest.approx(seen["areas"][1], rel=1e-6)


def facts(told: list[list[str]]) -> dict[str, list[str]]:
    """Join the lines that go on with what the one before is about."""
    found: dict[str, list[str]] = {}
    for name, text in told:
        key = name or list(found)[-1]
        found.setdefault(key, []).append(text)
    return found


def plan_of(browser: Browser, result: ReplayResult, folder: Path, points: str) -> dict[str, Any]:
    write_report(result, folder / "report.html")
    page = look(browser, folder / "report.html", PLAN.replace("POINTS", points))
    assert page["problems"] == []
    assert len(page["drawn"]) >= 9
    assert all(page["drawn"])
    seen: dict[str, Any] = page["seen"]
    return seen


def test_a_planned_job_explains_itself(
    browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    # What is expected is worked out at conftest.EVENTS: job 2 on all three nodes from 3600 to 5400, then job 3 on n1.
    points = "[[4500, 2, 0.5], [9000, 0, 0.5], [500, 0, 0.5], [2000, 1, 0.5], [300, 2, 0.9], [300, 2, 0.2]]"
    seen = plan_of(browser, small_replay(), tmp_path, points)
    assert seen["time"] <= 1000
    assert seen["overview"].endswith("2 jobs running, 2 waiting, 2 of them with a planned start")
    assert (seen["rows"], seen["rowsChoice"]) == (["n1", "n2", "n3"], False)
    # Node, and processors from and to.
    assert seen["running"] == {"1": [0, 0, 4, 1, 0, 4], "4": [2, 0, 2]}
    assert seen["planned"] == {"2": [0, 0, 4, 1, 0, 4, 2, 0, 4], "3": [0, 0, 4]}
    second, third, first, held, fourth, nobody = seen["pointed"]
    told = facts(second)
    assert told["Job"] == ["2, waits"]
    assert (told["Nodes"], told["Processors"]) == (["n1–n3 (3)"], ["12"])
    assert (told["Place"], told["Reason"]) == (["1 of 2 in the queue"], ["Resources"])
    assert told["Submitted"] == ["day 0 00:00:10"]
    assert told["Planned start"][0].startswith("day 0 01:00:00 (in 00:")
    assert told["Time limit"] == ["00:30:00 (to day 0 01:30:00)"]
    # Job 4 began at 60 and has a limit of 30 minutes.
    assert told["Waits for"] == ["job 1 (ann), runs to day 0 01:00:00", "job 4 (joe), runs to day 0 00:31:00"]
    assert told["In the end"] == ["started day 0 00:50:00 (00:10:00 earlier)"]
    assert seen["waitsFor"] == [1, 4]
    told = facts(third)
    assert (told["Job"], told["Nodes"], told["Reason"]) == (["3, waits"], ["n1"], ["Priority"])
    assert told["Waits for"][0] == "job 2 (bob), planned to day 0 01:30:00"
    assert first == held, "what it holds up to its limit is the job's own"
    told = facts(first)
    assert (told["Job"], told["Nodes"]) == (["1, runs"], ["n1, n2 (2)"])
    assert told["Holds up"] == ["2 planned jobs"]
    assert told["In the end"] == ["COMPLETED day 0 00:50:00"]
    assert facts(fourth)["Job"] == ["4, runs"]
    assert nobody is None, "the upper half of n3 is free"
    assert seen["gone"] == [None, None]


def test_the_plan_follows_keyboard_and_controls(
    browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    seen = plan_of(browser, small_replay(), tmp_path, "[[4500, 2, 0.5]]")
    down, down_again, on, escape, up, moment = seen["keys"]
    assert down.startswith("Job 2, waits · User bob · ")
    assert "Waits for job 1 (ann), runs to day 0 01:00:00 · job 4" in down
    assert down_again.startswith("Job 3, waits")
    assert on.startswith("Job 1, runs")
    assert escape == seen["overview"]
    assert up.startswith("Job 4, runs")
    # Job 4 began at 60 and runs for 1200 s: its end is the next that happens.
    assert moment.startswith("day 0 00:21:00 · 1 job running, 2 waiting")
    assert seen["painted"] == [True, False], "job 2 is painted on n1, nobody on n3 after it"
    assert seen["kinds"] == ["1 runs", "2 later", "3 later", "4 runs"]
    assert seen["found"].startswith("Job 4, ")
    assert seen["missing"] == "There is no job 77."


def test_interchangeable_processors_are_stacked(
    browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    result = small_replay(config=cluster(cpus=12), text=re.sub(r"-N \d", "", EVENTS))
    seen = plan_of(browser, result, tmp_path, "[[4500, 0, 0.5]]")
    # On twelve processors as on the nodes, each job on the lowest that are free.
    assert seen["running"] == {"1": [0, 0, 8], "4": [0, 8, 10]}
    assert seen["planned"] == {"2": [0, 0, 12], "3": [0, 0, 4]}
    told = facts(seen["pointed"][0])
    assert told["Job"] == ["2, waits"]
    assert "Nodes" not in told
    assert told["Waits for"][0] == "job 1 (ann), runs to day 0 01:00:00"


def test_of_many_that_a_job_waits_for_few_are_told(
    browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    # All need the whole machine: the first for an hour, four more for ten minutes each, one after the other.
    line = "-dt {} -e submit_batch_job | -sim-walltime -1 --uid=ann -n 4 -t {} job.sh\n"
    text = "".join(line.format(float(job), 60 if job == 1 else 10) for job in range(1, 6))
    seen = plan_of(browser, small_replay(config=cluster(cpus=4), text=text), tmp_path, "[[5700, 0, 0.5]]")
    told = facts(seen["pointed"][0])
    # Who it is matters here: to which second they run depends on when the backfill cycles were.
    assert told["Job"] == ["5, waits"]
    assert [line[:19] for line in told["Waits for"]] == [
        "job 4 (ann), planne",
        "job 3 (ann), planne",
        "job 1 (ann), runs t",
        "and 1 other",
    ]


def test_jobs_whose_nodes_are_open_stand_below(
    browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path
) -> None:
    # Half of the strip's first row, of nine pixels, is two fifths of a node's 22 below the last node.
    seen = plan_of(browser, small_replay(scheduler="sched/easy"), tmp_path, "[[4500, 3, 0.45]]")
    assert seen["planned"] == {"2": []}
    told = facts(seen["pointed"][0])
    assert (told["Job"], told["Nodes"]) == (["2, waits"], ["left open"])
    assert told["Waits for"][0] == "job 1 (ann), runs to day 0 01:00:00"


def test_closed_nodes_say_so(browser: Browser, small_replay: Callable[..., ReplayResult], tmp_path: Path) -> None:
    (tmp_path / "failures").write_text("600 n3 1200\n")
    failures = read_failures(tmp_path / "failures", ["n1", "n2", "n3"])
    seen = plan_of(browser, small_replay(failures=failures), tmp_path, "[[4000, 2, 0.5]]")
    assert facts(seen["pointed"][0]) == {"Nodes": ["n3"], "State": ["DOWN"], "Until": ["not known"]}
