"""How the pages look in a real browser: nothing is cut off, and lines, names and colours mean one thing each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.results.report import write_comparison, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from web.browser import Browser, Page

    from results.conftest import MakeHistory, MakeResult, MakeSchedule, RandomLog
    from rota.results.schedule import ReplayResult, Schedule

#: What is wider than the room that it has, by its label or identifier.
CUT_OFF = """[...document.querySelectorAll("body, .scroll, .chart, .uplot, .key")]
  .filter((one) => !one.closest("[hidden]") && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.ariaLabel || one.id || one.tagName)"""


@pytest.fixture
def fair_result(
    random_log: RandomLog,
    name_jobs: Callable[[Schedule], Schedule],
    make_history: MakeHistory,
    make_result: MakeResult,
) -> ReplayResult:
    schedule = random_log(200, 2)
    return replace(make_result(name_jobs(schedule)), priorities=make_history(schedule))


def opened(browser: Browser, path: Path, width: int = 1400) -> Page:
    page = browser.open(path.as_uri(), width=width)
    page.wait("window.rota")
    return page


def compared(random_log: RandomLog, make_result: MakeResult, runs: int, folder: Path) -> Path:
    """Write a comparison of runs with long names, whose jobs start at other times."""
    first = random_log(300, 2)
    results = []
    for run in range(runs):
        later = replace(first, start=first.start + run * 86399 * 11, end=first.end + run * 86399 * 11)
        results.append(make_result(later, options=f"bf_max_job_test={50 + run}"))
    write_comparison(results, folder / "compare.html")
    return folder / "compare.html"


@pytest.mark.parametrize("runs", [*(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3)), 5])
def test_nothing_of_a_comparison_is_cut_off(
    runs: int, browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    page = opened(browser, compared(random_log, make_result, runs, tmp_path))
    assert page.run(CUT_OFF) == []
    # Beyond three runs there is a row for each in place of a column.
    rows = page.run(
        '[...document.querySelectorAll("[aria-label=Figures] tbody th")].map((one) => one.innerText.trim())'
    )
    assert ("Mean wait" in rows) == (runs <= 3)
    assert len(rows) == (runs if runs > 3 else 14)
    assert page.problems == []


@pytest.mark.parametrize("width", [1400, pytest.param(700, marks=pytest.mark.slow)])
def test_nothing_of_a_report_is_cut_off(
    width: int, browser: Browser, fair_result: ReplayResult, tmp_path: Path
) -> None:
    made = replace(fair_result.provenance, command="rota replay " + "a-long-path/" * 30)
    write_report(replace(fair_result, provenance=made), tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html", width)
    assert page.run(CUT_OFF) == []
    assert page.problems == []


#: Texts that stand out too little from what is behind them, with the ratio: at least 4.5, or 3 if they are large.
#: Source: W3C, Web Content Accessibility Guidelines 2.1, success criterion 1.4.3 (AA).
FAINT = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if ((colour[3] ?? 1) === 1) return colour;
    }
    return [255, 255, 255];
  };
  const ratio = (one) => {
    const [dark, bright] = [parts(getComputedStyle(one).color), behind(one)].map(light).sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.checkVisibility() && [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .filter((one) => ratio(one) < (parseFloat(getComputedStyle(one).fontSize) >= 24 ? 3 : 4.5))
    .map((one) => `${one.tagName} ${one.innerText.slice(0, 30)} ${ratio(one).toFixed(2)}`);
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["report", pytest.param("comparison", marks=pytest.mark.slow)])
def test_texts_can_be_read_in_light_and_dark(
    scheme: str, kind: str, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    if kind == "report":
        write_report(request.getfixturevalue("fair_result"), path)
    else:
        path = compared(request.getfixturevalue("random_log"), request.getfixturevalue("make_result"), 2, tmp_path)
    page = opened(browser, path)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    assert (page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.run(FAINT) == []


def test_legends_show_lines_as_they_are_drawn(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    page = opened(browser, compared(random_log, make_result, 3, tmp_path))
    marks = page.run(
        '[...document.querySelectorAll("#chart-wait .u-marker")].slice(1).map((one) => one.style.background)'
    )
    assert "gradient" not in marks[0], "the first line is solid"
    # Dashes of charts.js: seven pixels of seven and three, two of two and two.
    assert "0px, rgb(213, 94, 0) 7px" in marks[1]
    assert "0px, rgb(0, 158, 115) 2px" in marks[2]
    # The tables have the same marks, and no value stands there before one points at the chart.
    assert page.run('getComputedStyle(document.querySelectorAll(".run-mark")[1]).backgroundImage').count("7px") == 2
    assert page.text("#chart-wait .u-legend").split() == [
        word for n in (50, 51, 52) for word in ("sched/easy,", f"bf_max_job_test={n}")
    ]


def test_who_did_not_wait_stands_at_zero(
    browser: Browser, make_schedule: MakeSchedule, make_result: MakeResult, tmp_path: Path
) -> None:
    # Two of three jobs did not wait, and the third waited for 100 s.
    rows = [(1, 7, 0, 0, 100, 10, 100), (2, 7, 0, 100, 200, 10, 100), (3, 7, 300, 300, 400, 1, 100)]
    write_report(make_result(make_schedule(rows)), tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html")
    wait = page.run("rota.data.ecdf.wait")
    assert (wait["x"][0], wait["lines"][0]["y"][0]) == (0, 0.6667)
    # The axis: a mark for 0, left of that for 1 s.
    marks = page.run("rota.distributions.wait.axes[0]._splits")
    assert marks[0] < marks[1] == 0
    assert page.run("rota.distributions.wait.axes[0]._values")[:2] == ["0 s", "1 s"]


def test_one_colour_and_one_name_for_everyone(browser: Browser, fair_result: ReplayResult, tmp_path: Path) -> None:
    write_report(fair_result, tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html")
    page.run("""(() => { for (const [id, value] of [["gantt-colour", "account"], ["shares-level", "1"]]) {
      const input = document.getElementById(id);
      input.value = value;
      input.dispatchEvent(new Event("change"));
    } })()""")
    key = page.run("Object.fromEntries(rota.gantt.paint.key.map(([colour, name]) => [name, colour]))")
    assert set(key) == {"optics", "chemistry"}
    lines = page.run("""(() => { const { plot } = rota.shares.charts.plots.get("chart-shares");
      return Object.fromEntries(plot.series.slice(1).map((s, i) => [s.label.split(",")[0], s.stroke(plot, i + 1)]));
    })()""")
    assert {name: lines[name] for name in key} == key
    users = {
        row.strip()
        for row in page.run(
            '[...document.querySelectorAll("#h-users ~ .scroll td.text")].map((cell) => cell.innerText)'
        )
    }
    assert users == {f"u{number}" for number in range(1, 7)}
    assert set(page.run("[...new Set(Array.from(rota.jobs.id, (_, i) => rota.owners.user.name(i)))]")) == users


def test_refused_jobs_do_not_wait(
    browser: Browser, make_schedule: MakeSchedule, make_result: MakeResult, tmp_path: Path
) -> None:
    # Jobs that are refused end when they come: see rota.replays.recorder.
    rows = [(1, 7, 0, 0, 1000, 5, 1000), *((n, 7, 500, -1, 500, 5, 9000) for n in range(2, 50))]
    write_report(make_result(make_schedule(rows), refused=48), tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html")
    assert "48 jobs refused" in page.text("header")
    assert page.run("Math.max(...rota.data.series.jobs.peak, ...rota.data.series.procs.peak)") == 0
    assert page.run('Math.max(...rota.charts.detail(0, 1000)["chart-jobs"][1])') == 0


def test_reasons_and_parts_of_the_machine_are_drawn(browser: Browser, two_types: ReplayResult, tmp_path: Path) -> None:
    write_report(two_types, tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html")
    assert "The largest part of these was on m1" in page.text(".verdict")
    highest = 'Math.max(...rota.reasons.charts.plots.get("chart-reasons").plot.data[1])'
    assert page.run(highest) == 2, "jobs 2 and 3, until the first backfill cycle"
    page.run("""(() => { const input = document.getElementById("reasons-measure");
      input.value = "procs";
      input.dispatchEvent(new Event("change")); })()""")
    assert page.run(highest) == 8 + 4
    page.run("rota.charts.zoom(0, 600)")
    assert page.run("rota.reasons.charts.range") == [0, 600]
    assert page.run('document.querySelectorAll("[id^=chart-part-] canvas").length') == 3
    assert page.text("[aria-label='Promises kept'] tbody tr:last-child").split()[:3] == ["all", "4", "1"]
    assert page.run(CUT_OFF) == []
    assert page.problems == []
