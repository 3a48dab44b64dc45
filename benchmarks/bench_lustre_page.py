"""The page that tells who loads a Lustre file system, in Chromium: `python benchmarks/bench_lustre_page.py [JOBS]`.

Ten minutes of JOBS (10,000) on 100 targets, four for each job, are written, served, and looked at. Told is how long the
page draws no frame while it does something, of which 60 a second are right, and how long it answers nothing. The
service runs on the same machine, and nothing is drawn by a graphics card.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bench_lustre_store import fill

from rota.api.lustre.serve import serve_lustre
from rota.lustre.service import Service
from rota.lustre.store import tiers_of
from rota.web.lustre import lustre_pages

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from web.browser import started

if TYPE_CHECKING:
    from collections.abc import Mapping

    from web.browser import Page

_WATCH = """(() => { window.gaps = []; window.tasks = []; let last = performance.now();
  const frame = () => {
    const now = performance.now(); gaps.push(now - last); last = now; requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((all) => tasks.push(...all.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask" }); })()"""
_WAIT = "new Promise((done) => setTimeout(done, %d))"
_SCROLL = """(async () => {
  for (let i = 0; i < 90; i++) { scrollTo(0, 1200 + %d * i); await new Promise(requestAnimationFrame); }
  scrollTo(0, 0); })()"""
#: What is done, by name: the second one is waited for.
_DONE = {
    "nothing": _WAIT % 2000,
    "it is told anew, 20 rows": "rota.refresh()",
    "sorted by another metric": "rota.go({ metric: 'read_bytes' })",
    "grouped by user": "rota.go({ by: 'user' })",
    "1,000 jobs": "rota.go({ by: 'job', top: 1000 })",
    "it is told anew, 1,000 rows": "rota.refresh()",
    "1,000 rows scrolled, 3,600 pixels a second": _SCROLL % 60,
    "1,000 rows scrolled, 18,000 pixels a second": _SCROLL % 300,
}


class _Names:
    """Knows nothing beside what is in the store."""

    def known(self, _: object, /) -> Any:
        return SimpleNamespace(jobs={})

    def fields(self) -> tuple[str, ...]:
        return ("account", "name", "user")

    def status(self) -> Mapping[str, Any]:
        return {}


def serve(folder: Path) -> None:
    """Serve a store, to which nothing is added."""
    service = Service(folder, tiers_of(10), [], _Names(), clock=time.time, report=sys.stderr.write)
    service.start = lambda: None  # type: ignore[method-assign]
    service.stop = lambda: None  # type: ignore[method-assign]
    say = lambda addresses: print(addresses[-1], flush=True)  # noqa: E731
    serve_lustre(service, folder, "127.0.0.1:0", group="", public=True, ready=say, pages=lustre_pages())


def watch(page: Page) -> None:
    """Do all of it, and print what it took."""
    page.settled()
    page.run(_WATCH)
    print("| | frames | longest without one, ms | 99 of 100 within, ms | longest task, ms |\n|---|---:|---:|---:|---:|")
    for name, script in _DONE.items():
        _tell(page, name, lambda script=script: page.run(script))
    page.run("scrollTo(0, 0)")
    box = page.run("rota.heat.canvas.getBoundingClientRect().toJSON()")
    _tell(page, "pointer over the heat map", lambda: _move(page, box, 20))
    page.run("rota.stack.element.scrollIntoView({ block: 'center' })")
    _tell(page, "pointer over the chart", lambda: _move(page, page.run(_BOX), 60))


_BOX = "rota.stack.element.getBoundingClientRect().toJSON()"


def _tell(page: Page, name: str, do: Any) -> None:
    page.run(_WAIT % 500)
    page.run("gaps.length = tasks.length = 0")
    do()
    page.settled()
    page.run(_WAIT % 200)
    gaps, tasks = sorted(page.run("gaps")), page.run("tasks")
    longest = f"{max(tasks):.0f}" if tasks else "< 50"
    print(f"| {name} | {len(gaps)} | {gaps[-1]:.0f} | {gaps[int(len(gaps) * 0.99) - 1]:.0f} | {longest} |")


def _move(page: Page, box: Mapping[str, float], top: int) -> None:
    for step in range(120):
        place = {"x": box["left"] + 160 + 7 * step, "y": box["top"] + top + 13 * step % 150}
        page.call("Input.dispatchMouseEvent", type="mouseMoved", **place)


def main() -> None:
    """Measure."""
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
        return
    jobs = int(sys.argv[1]) if sys.argv[1:] else 10_000
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as profile:
        fill(Path(store), jobs, 100, 4, 60)
        words = [sys.executable, __file__, "--serve", store]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as service, started(Path(profile)) as browser:
            begun = time.perf_counter()
            page = browser.open(f"{next(iter(service.stdout or ())).strip()}/")
            page.settled()
            print(f"\nshown for the first time after {time.perf_counter() - begun:.2f} s\n")
            watch(page)
            elements = page.run("document.querySelectorAll('*').length")
            print(f"\n{elements:,} elements; the console says {page.problems}")
            service.terminate()


if __name__ == "__main__":
    main()
