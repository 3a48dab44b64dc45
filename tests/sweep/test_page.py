"""The page of a sweep in a real browser: everything is drawn, nothing is cut off, and nothing said on the console."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from web.browser import DRAWN

from rota.results.provenance import Provenance, SourceFile
from rota.sweep.axes import Axis
from rota.sweep.page import write_page
from rota.sweep.play import Sweep
from rota.sweep.runs import Row
from rota.sweep.summary import summarise

if TYPE_CHECKING:
    from pathlib import Path

    from web.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
AXES = (Axis("bf_max_job_test", ("10", "50", "500")), Axis("scheduler", ("sched/easy", "sched/backfill")))
PROVENANCE = Provenance(files=(SourceFile(role="workload", path="<month>.swf", sha256="0" * 64),))
#: Elements that are wider than what they are in, and those beyond the right edge that cannot be scrolled to.
CUT_OFF = """[...document.querySelectorAll("main *")].filter((one) => !one.closest(".scroll")
  && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.outerHTML)"""


def row(point: dict[str, str], number: int, **more: Any) -> Row:
    random = np.random.default_rng(number)
    values = {"mean_wait_s": 9000 - 700 * number, "mean_bounded_slowdown": 90 - 7 * number}
    figures = {"jobs": 100, "refused": 0, "unfinished": 0, **values, "utilisation": 0.7, "fairness": 0.3 + number / 50}
    drawn = {key: (value + random.normal(0, value / 20, 400)).tolist() for key, value in values.items()}
    return Row(point, 1.0, figures={**figures, "drawn_from": "9 weeks", **more}, drawn=drawn)


def rows(*, unlike: int | None = None) -> list[Row]:
    points = [
        dict(zip(("bf_max_job_test", "scheduler"), one, strict=True)) for one in product(*(a.values for a in AXES))
    ]
    return [row(point, i, refused=int(i == unlike)) for i, point in enumerate(points)]


def page_of(path: Path, found: list[Row], search: str = "grid") -> str:
    write_page(summarise(Sweep(axes=AXES, search=search), found), PROVENANCE, path)
    return path.as_uri()


@pytest.mark.parametrize("width", [1400, 700])
@pytest.mark.parametrize("search", ["grid", "random"])
def test_everything_is_drawn_and_nothing_cut_off(browser: Browser, tmp_path: Path, width: int, search: str) -> None:
    page = browser.open(page_of(tmp_path / "sweep.html", rows(), search), width=width)
    page.wait("window.rota")
    page.wait("document.querySelectorAll('canvas').length === 11")  # four figures for each axis, and three of two
    assert page.run(DRAWN) == [True] * 11
    assert page.run(CUT_OFF) == []
    assert page.problems == []
    if width == 1400:
        assert page.run("[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)")


def test_settings_are_in_the_table_by_rank_and_a_dot_says_which_it_is(browser: Browser, tmp_path: Path) -> None:
    found = rows(unlike=5)
    found[0] = Row(found[0].point, 1.0, error="<b>broken</b>")
    page = browser.open(page_of(tmp_path / "sweep.html", found))
    page.wait("window.rota")
    names = page.run("[...document.querySelectorAll('#settings tbody th')].map((one) => one.innerText)")
    # The fewer its number the slower; the last one has refused a job.
    assert names == [f"bf_max_job_test={a}, scheduler={b}" for a, b in EXPECTED]
    assert "jobs not run: 1" in page.text("#settings tbody tr:last-child")
    assert "<b>broken</b>" in page.text("section[aria-labelledby=h-failed]")
    page.run(
        "document.querySelector('#front-1 .u-over').dispatchEvent(new MouseEvent('mousemove',"
        "{clientX: document.querySelector('#front-1 .u-over').getBoundingClientRect().left + 5, bubbles: true,"
        "clientY: document.querySelector('#front-1 .u-over').getBoundingClientRect().bottom - 5}))"
    )
    page.wait(
        "document.getElementById('pointed').textContent.startsWith('1. bf_max_job_test=500, scheduler=sched/easy')"
    )
    assert page.problems == []


EXPECTED = [
    ("500", "sched/easy"),
    ("50", "sched/backfill"),
    ("50", "sched/easy"),
    ("10", "sched/backfill"),
    ("500", "sched/backfill"),
]


def test_the_page_of_a_sweep_of_which_all_runs_have_failed_says_so(browser: Browser, tmp_path: Path) -> None:
    found = [Row(one.point, 1.0, error="broken") for one in rows()]
    page = browser.open(page_of(tmp_path / "sweep.html", found))
    page.wait("window.rota")
    assert "6 of 6 runs have failed" in page.text("header")
    assert page.problems == []
