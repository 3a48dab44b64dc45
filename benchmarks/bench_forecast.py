"""Forecasts against the truth: how often the ranges of `rota forecast` hold, and how far off they are.

``python benchmarks/bench_forecast.py [FUTURES [WORKLOAD…]]`` replays KTH-SP2 under ``sched/backfill`` and, where the
traces are, UB CCR's ``ubccr_medium``; stops at 50 moments each, and forecasts the start of every job that waits there.
The truth is the same replay, which goes on with the real run times and the jobs that come later. The error of
backfill's own plan stands beside that of the forecast, for the jobs that have a plan. docs/forecast.md has the figures.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from rota.config import interchangeable, read_slurm_conf
from rota.forecast.check import check, held
from rota.replays import ReplayOptions, Scenario
from rota.sacctmgr import read_associations
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TRACES = Path(os.environ.get("ROTA_TRACES") or Path(__file__).resolve().parents[2] / "shared" / "traces") / "slurm"
_MOMENTS = 50


def kth() -> Scenario:
    """Give the bundled log, on interchangeable processors."""
    path = bundled("KTH-SP2")
    if path is None:
        raise FileNotFoundError("KTH-SP2")
    log = read_workload(path)
    return Scenario(log, interchangeable(log.procs or 100), ReplayOptions(scheduler="sched/backfill"))


def ubccr() -> Scenario:
    """Give three days of a university's cluster, with its slurm.conf, accounts and fair-share."""
    config = read_slurm_conf(_TRACES / "ubccr_medium_slurm.conf").config
    tree = read_associations([_TRACES / "ubccr_medium_sacctmgr.script"], config.cluster_name).tree
    options = ReplayOptions(scheduler="sched/backfill", priority="priority/multifactor", associations=tree)
    return Scenario(read_workload(_TRACES / "ubccr_workload_5k.events.gz"), config, options)


_WORKLOADS = {"KTH-SP2": kth, "ubccr_medium": ubccr}


def figures(futures: int, names: Iterable[str]) -> Iterator[dict[str, object]]:
    """Check the forecasts of workloads."""
    for name in names:
        if name == "ubccr_medium" and not _TRACES.is_dir():
            continue
        made, begun = _WORKLOADS[name](), perf_counter()
        checked = check(made, moments=_MOMENTS, futures=futures)
        found = held(checked)
        yield {
            "workload": name,
            "futures": futures,
            "moments": found.moments,
            "jobs": found.jobs,
            "inside": round(found.inside, 3),
            "earlier": round(sum(one.early is not None and one.start < one.early for one in checked) / found.jobs, 3),
            "planned": found.planned,
            "median error min": round(found.error / 60),
            "plan's min": round(found.plan_error / 60),
            "took s": round(perf_counter() - begun),
        }


if __name__ == "__main__":
    for line in figures(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:] or _WORKLOADS):
        print(json.dumps(line), flush=True)
