"""Forecasts against the truth: how often the ranges of `rota forecast` hold, and how far off they are.

``python benchmarks/bench_forecast.py [FUTURES [WORKLOAD…]]`` replays KTH-SP2 under ``sched/backfill`` and, where the
traces are, UB CCR's ``ubccr_medium``; stops at 50 moments each, and forecasts the start of every job that waits there.
The truth is the same replay, which goes on with the real run times and the jobs that come later. The error of
backfill's own plan stands beside that of the forecast, for the jobs that have a plan.

``python benchmarks/bench_forecast.py short [WORKLOAD…]`` does it for short histories, in ten workloads; at most eight
weeks of each. An hour, a day or a week is what a forecast knows of the jobs that have ended: at moments all over the
workload those that began in the last hour, and in the first hour of the workload all of them. docs/forecast.md has
the figures.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rota.config import interchangeable, read_slurm_conf
from rota.forecast.check import check, held
from rota.replays import ReplayOptions, Scenario
from rota.sacctmgr import read_associations
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rota.forecast.check import Checked

_TRACES = Path(os.environ.get("ROTA_TRACES") or Path(__file__).resolve().parents[2] / "shared" / "traces")
_MOMENTS, _FUTURES = 50, 20
#: Number of moments for each length of history; of futures at each of them, of which the outer ones are the ends.
_SHORT_MOMENTS, _SHORT_FUTURES = 16, 9
#: Number of moments in a workload of which each takes a minute.
_MOMENTS_OF_MEDIUM = 8
_EIGHT_WEEKS = 56 * 86_400
#: Lengths of history, seconds.
HISTORIES = {"hour": 3_600, "day": 86_400, "week": 7 * 86_400}
#: Logs of machines of which only the processors are known.
_LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "SDSC-BLUE": "SDSC-BLUE-2000-4.1-cln.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.swf.gz",
    "NASA-iPSC": "NASA-iPSC-1993-3.1-cln.swf.gz",
    "LPC-EGEE": "LPC-EGEE-2004-1.2-cln.swf.gz",
    "lublin_256": "lublin_256.swf.gz",
    "theta_2022": "theta_2022.swf.gz",
}
_CONFIGURED = {"ubccr_micro": "ubccr_jobs500.events.gz", "ubccr_medium": "ubccr_workload_5k.events.gz"}


def kth() -> Scenario:
    """Give the bundled log, on interchangeable processors."""
    path = bundled("KTH-SP2")
    if path is None:
        raise FileNotFoundError("KTH-SP2")
    return _of_log(path)


def _of_log(path: Path, most: int | None = None) -> Scenario:
    """Give a log, or the jobs of its first seconds."""
    log = read_workload(path)
    procs = log.procs or int(log.requested_procs.max())
    if most is not None:
        log = log.take(np.flatnonzero(log.submit_time < log.submit_time.min() + most))
    return Scenario(log, interchangeable(procs), ReplayOptions(scheduler="sched/backfill"))


def configured(name: str) -> Scenario:
    """Give hours or days of a university's cluster, with its slurm.conf, accounts and fair-share."""
    folder = _TRACES / "slurm"
    # The switches are in no file of the name that Slurm gives it.
    config = read_slurm_conf(folder / f"{name}_slurm.conf", ["TopologyPlugin=topology/none"]).config
    tree = read_associations([folder / f"{name}_sacctmgr.script"], config.cluster_name).tree
    options = ReplayOptions(scheduler="sched/backfill", priority="priority/multifactor", associations=tree)
    return Scenario(read_workload(folder / _CONFIGURED[name]), config, options)


_LONG: dict[str, Callable[[], Scenario]] = {"KTH-SP2": kth, "ubccr_medium": lambda: configured("ubccr_medium")}


def long(futures: int, names: Iterable[str]) -> Iterator[dict[str, object]]:
    """Check the forecasts of workloads, of which all is known."""
    for name in names:
        if name != "KTH-SP2" and not _TRACES.is_dir():
            print(f"{name} is left out: there is no {_TRACES}", file=sys.stderr)
            continue
        begun = perf_counter()
        checked = check(_LONG[name](), moments=_MOMENTS, futures=futures)
        found = held(checked)
        yield {
            "workload": name,
            "futures": futures,
            "moments": found.moments,
            **_sides(checked),
            "planned": found.planned,
            "median error min": round(found.error / 60),
            "plan's min": round(found.plan_error / 60),
            "took s": round(perf_counter() - begun),
        }


def _sides(checked: list[Checked]) -> dict[str, object]:
    """Give the number of jobs, and the parts that start inside of their ranges, earlier and later."""
    if not checked:
        return {"jobs": 0}
    found = held(checked)
    return {
        "jobs": found.jobs,
        "inside": round(found.inside, 3),
        "earlier": round(found.earlier, 3),
        "later": round(found.later, 3),
    }


def short(names: Iterable[str]) -> Iterator[dict[str, object]]:
    """Check the forecasts of workloads of which little is known, and sum them up."""
    lines: dict[tuple[str, str], list[list[Checked]]] = {}
    for name in names:
        scenario = configured(name) if name in _CONFIGURED else _of_log(_TRACES / _LOGS[name], _EIGHT_WEEKS)
        scenario = scenario.using(report=lambda _text: None)
        moments = _MOMENTS_OF_MEDIUM if name == "ubccr_medium" else _SHORT_MOMENTS
        for kind, (length, seconds) in product(("any", "first"), HISTORIES.items()):
            begun = perf_counter()
            given = {"history" if kind == "any" else "within": seconds}
            checked = check(scenario, moments=moments, futures=_SHORT_FUTURES, **given)
            lines.setdefault((kind, length), []).append(checked)
            which = {"workload": name, "moments of": kind, "length": length}
            yield {**which, **_sides(checked), "took s": round(perf_counter() - begun)}
    for (kind, length), found in lines.items():
        which = {"workload": "all", "moments of": kind, "length": length}
        parts = [held(checked).inside for checked in found if checked]
        mean = {"logs": len(parts), "mean of logs": round(fmean(parts), 3)} if parts else {}
        yield {**which, **_sides([one for checked in found for one in checked]), **mean}


if __name__ == "__main__":
    if sys.argv[1:2] == ["short"]:
        if not _TRACES.is_dir():
            print(f"nothing is checked: there is no {_TRACES}", file=sys.stderr)
            sys.exit()
        made = short(sys.argv[2:] or [*_LOGS, *_CONFIGURED])
    else:
        made = long(int(sys.argv[1]) if len(sys.argv) > 1 else _FUTURES, sys.argv[2:] or _LONG)
    for line in made:
        print(json.dumps(line), flush=True)
