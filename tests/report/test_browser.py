"""The pages in a real browser: they draw, and say nothing on the console."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rota.replay.report import write_comparison, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from report.conftest import MakeHistory, MakeResult, RandomLog
    from rota.replay.result import ReplayResult, Schedule

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--window-size=1280,2400", "--virtual-time-budget=3000", "--dump-dom"),
)
#: Notes errors from the beginning, and once the page stands what can be seen of it.
PROBE_FIRST = """<script>window.problems = [];
addEventListener("error", (e) => problems.push(e.message));
console.error = console.warn = (...words) => problems.push(words.join(" "));</script>"""
PROBE_LAST = """<script>addEventListener("load", () => setTimeout(() => {
const drawn = [...document.querySelectorAll("canvas")].map((c) =>
  c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((byte) => byte));
const seen = { problems, drawn, ...(CHECK)() };
document.body.append(Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) }));
}, 500));</script>"""

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

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: pages are not looked at"),
]


def look(page: Path, check: str = "() => ({})") -> dict[str, Any]:
    """Load a page and tell what is to be seen: problems, which canvases are drawn, and what ``check`` gives."""
    text = page.read_text(encoding="utf-8")
    assert "script-src 'unsafe-inline'" in text
    text = text.replace("<head>", "<head>" + PROBE_FIRST, 1)
    page.write_text(text.replace("</body>", PROBE_LAST.replace("CHECK", check) + "</body>"), encoding="utf-8")
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, profile, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    seen = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert seen, f"the page did not get through: {done.stderr[-500:]}"
    shown: dict[str, Any] = json.loads(seen[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    title = re.search("<title>(.*?)</title>", done.stdout)
    assert title
    return shown | {"title": title[1]}


@pytest.mark.parametrize("jobs", [0, 1, 400])
def test_report_draws_without_complaints(
    jobs: int, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    write_report(make_result(random_log(jobs, 2)), tmp_path / "report.html")
    seen = look(tmp_path / "report.html", CONTROLS)
    assert seen["title"] == "log.swf – sched/easy"
    assert seen["problems"] == []
    assert seen["drawn"] == [True] * 6
    if jobs == 400:
        words, length, found, missing, back = seen["states"]
        assert words.endswith(" jobs")
        assert length == 21600
        assert re.match(r"Job \d+ · User \d+ · Processors \d+ · Submitted day \d", found)
        assert missing == "There is no job 123456."
        assert back is True
        assert seen["hit"] >= 0


@pytest.fixture(params=[True, False], ids=["fair-tree", "classic"])
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


def test_fair_share_chart_follows_its_controls(fair_result: ReplayResult, tmp_path: Path) -> None:
    write_report(fair_result, tmp_path / "report.html")
    page = look(tmp_path / "report.html", SHARES)
    assert page["problems"] == []
    assert page["drawn"] == [True] * 7
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


def test_compare_draws_without_complaints(random_log: RandomLog, make_result: MakeResult, tmp_path: Path) -> None:
    results = [make_result(random_log(200, 2)), make_result(random_log(200, 2), options="x=1")]
    write_comparison(results, tmp_path / "compare.html")
    seen = look(tmp_path / "compare.html")
    assert seen["problems"] == []
    assert seen["drawn"] == [True] * 5


def test_packing_never_overlaps(random_log: RandomLog, make_result: MakeResult, tmp_path: Path) -> None:
    schedule = random_log(1500, 11)
    write_report(make_result(schedule), tmp_path / "report.html")
    seen = look(tmp_path / "report.html", PACKING)
    assert (seen["overlaps"], seen["wrong"], seen["height"]) == (0, 0, 10)
    assert seen["packed"] == int((schedule.run > 0).sum())


def test_browser_and_numpy_agree(random_log: RandomLog, make_result: MakeResult, tmp_path: Path) -> None:
    schedule = random_log(300, 4)
    write_report(make_result(schedule), tmp_path / "report.html")
    seen = look(tmp_path / "report.html", STEPS)
    assert seen["problems"] == []
    assert (seen["ids"], seen["starts"]) == (schedule.job_id.tolist(), schedule.start.tolist())
    assert seen["ends"] == schedule.end.tolist()
    assert seen["peaks"][0] == seen["peaks"][1]
    assert seen["areas"][0] == pytest.approx(seen["areas"][1], rel=1e-6)
