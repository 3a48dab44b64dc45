"""The pages as files: well-formed, self-contained, and safe with any name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from rota.results.report import write_comparison, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from results.conftest import MakeHistory, MakeResult, RandomLog
    from rota.results.schedule import Schedule

    Render = Callable[..., str]

VOID = {"meta", "link", "input", "br", "img", "hr"}
NASTY = "<script>alert(1)</script>&\"'</title>.swf"


class Page(HTMLParser):
    """Checks that elements are closed in order; collects identifiers, attributes and what is in the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in {"src", "href", "action", "srcset", "data"}:
                self.references.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


@pytest.fixture(params=["report", "compare"])
def render(request: pytest.FixtureRequest, make_result: MakeResult, tmp_path: Path) -> Render:
    def build(schedule: Schedule, workload: str = "log.swf", options: str = "") -> str:
        result, path = make_result(schedule, workload=workload, options=options), tmp_path / "page.html"
        if request.param == "report":
            write_report(result, path)
        else:
            write_comparison([result, result], path)
        return path.read_text(encoding="utf-8")

    return build


@pytest.mark.parametrize("jobs", [0, 1, 300])
def test_pages_are_well_formed_html(jobs: int, render: Render, random_log: RandomLog) -> None:
    page = Page(render(random_log(jobs, 5)))
    assert len(page.ids) == len(set(page.ids))


def test_pages_are_self_contained(render: Render, random_log: RandomLog) -> None:
    text = render(random_log(50, 5))
    assert not re.search(r"https?://", text)
    assert not re.search(r"\burl\(|@import|\bfetch\(|XMLHttpRequest|\bimport\(", text)
    assert Page(text).references == []
    assert "Permission is hereby granted" in text, "uPlot's licence travels with it"


def test_names_are_escaped(render: Render, random_log: RandomLog) -> None:
    text = render(random_log(5, 5), workload=NASTY, options=NASTY)
    assert "alert(1)</script>" not in text
    assert "&lt;script&gt;alert(1)" in text
    scripts = Page(text).scripts
    assert len(scripts) == 3


def test_data_is_json(render: Render, random_log: RandomLog) -> None:
    data = json.loads(Page(render(random_log(50, 5))).scripts[0])
    assert len(data["series"]["t"]) <= 2001


def test_report_shows_the_figures(three_jobs: Schedule, make_result: MakeResult, tmp_path: Path) -> None:
    write_report(make_result(three_jobs), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "1 job did not run to an end" in text
    assert "day 0 00:01:40" in text
    assert "00:00:50" in text


def test_fair_share_is_shown_only_with_a_history(
    three_jobs: Schedule,
    name_jobs: Callable[[Schedule], Schedule],
    make_history: MakeHistory,
    make_result: MakeResult,
    tmp_path: Path,
) -> None:
    plain = make_result(name_jobs(three_jobs))
    write_report(plain, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert 'id="h-shares"' not in text
    assert json.loads(Page(text).scripts[0])["shares"] is None
    write_report(replace(plain, priorities=make_history(three_jobs)), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert 'id="h-shares"' in text
    assert "Nothing came from Job size, Partition, QOS, Association, TRES, Site." in text
    # optics: job 1 of three_jobs, 100 s on 6 processors; job 3 did not run.
    assert re.search(
        r">optics</button> <span[^>]*>1 user</span></th><td>1</td><td>0</td><td>93.75 %</td><td>30.00 %", text
    )


def test_names_in_a_history_are_escaped(
    three_jobs: Schedule, make_history: MakeHistory, make_result: MakeResult, tmp_path: Path
) -> None:
    history = make_history(three_jobs)
    nasty = replace(
        history,
        accounts=(NASTY, *history.accounts[1:]),
        waits=(replace(history.waits[0], user=NASTY, account=NASTY),),
    )
    schedule = replace(three_jobs, user=(NASTY,) * 3, account=(NASTY,) * 3)
    write_report(replace(make_result(schedule), priorities=nasty), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "alert(1)</script>" not in text
    assert len(Page(text).scripts) == 3


def test_what_is_slow_to_import_waits_until_it_is_needed() -> None:
    code = "import sys, rota.cli.compare, rota.results.store as _; print({'pyarrow', 'jinja2'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "set()\n"


def test_the_vendored_version_is_the_one_that_is_noted() -> None:
    vendor = files("rota.pages") / "vendor"
    banner = (vendor / "uplot" / "uPlot.iife.min.js").read_text().splitlines()[0]
    version = re.search(r"\(v([\d.]+)\)", banner)
    assert version is not None
    assert f"uPlot {version[1]}" in (vendor / "README.md").read_text()
