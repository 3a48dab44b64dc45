"""A sweep of 24 runs on one process, on two, and on a Dask cluster of two workers.

The clock is of little use on a machine that does other things besides, so processor time is counted: that of the
sweep's own process, in which nothing else can go on, and that of the processes that make the runs, which share the
work. A sweep on n processes takes the first and an n-th of the second, if each of them has a core.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = 24
SWEEP = ("sweep", "KTH-SP2", "--filter", "sc15", "--scheduler", "sched/conservative", "--vary")
ALL, FEW = "load=1:1.23:0.01", "load=1,1.01"
DASK = Path(sys.executable).with_name("dask")


class Cost(NamedTuple):
    """Seconds of a sweep."""

    #: Processor time of the sweep's process, and of those that made the runs.
    own: float
    workers: float
    wall: float

    def on(self, processes: int) -> float:
        """Seconds that it takes on so many idle cores."""
        return self.own + self.workers / processes


def measure(*more: str, vary: str = ALL, helpers: tuple[psutil.Process, ...] = ()) -> Cost:
    """Make a sweep in a process of its own; `helpers` have made the runs, else its children."""
    before, begun = sum(map(used, helpers)), time.monotonic()
    with TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--run", *SWEEP, vary, "--out", folder, *more]
        told = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    children = sum(map(used, helpers)) - before if helpers else told["children"]
    return Cost(told["own"], children, time.monotonic() - begun)


def used(process: psutil.Process) -> float:
    """Processor seconds of a process and of those that it has started."""
    return float(sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True))))


def run(words: list[str]) -> None:
    """Make a sweep in this process, and print what it and its children have used."""
    from joblib.externals.loky import get_reusable_executor

    from rota.cli.main import main

    if status := main(words):
        sys.exit(status)
    get_reusable_executor().shutdown(wait=True)
    children = psutil.Process().cpu_times()
    print(json.dumps({"own": time.process_time(), "children": children.children_user + children.children_system}))


@contextmanager
def dask_workers(folder: Path) -> Iterator[tuple[str, tuple[psutil.Process, ...]]]:
    """Start a scheduler and two workers; give the scheduler's address, and the workers."""
    found = folder / "scheduler.json"
    of_worker = ["worker", "--nthreads", "1", "--no-dashboard", "--scheduler-file", str(found)]
    of_scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(found)]
    started = []
    try:
        for words in (of_scheduler, of_worker, of_worker):
            started.append(subprocess.Popen([DASK, *words], cwd=folder, stderr=subprocess.DEVNULL))
            while not found.exists():
                time.sleep(0.1)
        address = json.loads(found.read_text())["address"]
        wait = f"from distributed import Client; Client({address!r}).wait_for_workers(2)"
        subprocess.run([sys.executable, "-c", wait], check=True)
        yield address, tuple(psutil.Process(one.pid) for one in started[1:])
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait()


def main() -> None:
    """Print the table."""
    alone, two = measure("--jobs", "1"), measure("--jobs", "2")
    with TemporaryDirectory() as folder, dask_workers(Path(folder)) as (address, workers):
        measure(
            "--dask", address, vary=FEW, helpers=workers
        )  # so that the workers have imported and read what they need
        dask = measure("--dask", address, helpers=workers)
    print(f"{RUNS} runs: processor seconds, own + workers; seconds with a core for each; × one process; wall here")
    for name, cost, processes in (("one process", alone, 1), ("two processes", two, 2), ("two Dask workers", dask, 2)):
        seconds, faster = cost.on(processes), alone.on(1) / cost.on(processes)
        print(f"{name:18} {cost.own:6.1f} + {cost.workers:5.1f} {seconds:8.1f} s  {faster:5.2f} ×  {cost.wall:6.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2:])
    else:
        main()
