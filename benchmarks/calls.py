"""Number of Python calls for each job of a replay, by package.

Times vary between machines and runs, so that a small cost for each job cannot be seen in them. The number of calls is
the same in every run: a test compares it with ``calls.json``. ``python benchmarks/calls.py`` prints the tables, with
each package's share of the time; ``--write`` records them.

Calls of rota's functions during the replay are counted, without reading and writing files; those of libraries are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import rota
from rota.config import interchangeable, read_slurm_conf
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.workload import FILTERS, bundled, read_swf

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from rota.model import ClusterConfig
    from rota.workload import Workload

RECORDED = Path(__file__).with_name("calls.json")
#: The first jobs of the log.
JOBS = 1500
_PACKAGE = str(Path(rota.__file__).parent) + "/"
#: Backfill's rounding is that of the version with which the counts were first recorded.
_NODES = """
SlurmVersion=25.11
NodeName=n[1-50] CPUs=2 RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES MaxTime=UNLIMITED
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityWeightAge=1000
PriorityDecayHalfLife=7-0
PriorityCalcPeriod=5
SchedulerParameters=bf_interval=300,bf_max_job_test=500
"""


class Case(NamedTuple):
    """The configuration of a replay."""

    scheduler: str
    priority: str = "priority/basic"
    #: Text of slurm.conf; empty: interchangeable processors.
    machine: str = ""


SCENARIOS = {
    "fcfs": Case("sched/builtin"),
    "easy": Case("sched/easy"),
    "conservative": Case("sched/conservative"),
    "backfill on shared nodes, multifactor": Case("sched/backfill", "priority/multifactor", _NODES),
}


def log() -> Workload:
    """Give the jobs that are replayed."""
    path = bundled("KTH-SP2")
    if path is None:
        raise FileNotFoundError("the bundled log is not there")
    whole = read_swf(path)
    return FILTERS["sc15"](whole, whole.procs or 0).take(np.arange(JOBS))


def count(scenario: Case, workload: Workload) -> Counter[str]:
    """Replay, and count the calls in each package."""
    files: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - as the interpreter calls it
        files[frame.f_code.co_filename] += 1

    _replay(scenario, workload, note, sys.settrace)  # which tells of calls only, as nothing in them is to be traced
    calls: Counter[str] = Counter()
    for file, number in files.items():
        calls[package(file)] += number
    del calls[""]
    return calls


def seconds(scenario: Case, workload: Workload) -> Counter[str]:
    """Replay, and add up the seconds of each package. Measuring takes time, so that only the shares are meaningful."""
    spent: Counter[str] = Counter()
    stack = [""]
    last = perf_counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - as the interpreter calls it
        nonlocal last
        now = perf_counter()
        spent[stack[-1]] += now - last  # type: ignore[assignment] # a Counter of floats adds up as well
        if event == "call":
            stack.append(package(frame.f_code.co_filename) or stack[-1])
        elif event == "return" and len(stack) > 1:
            stack.pop()
        last = perf_counter()

    _replay(scenario, workload, note, sys.setprofile)
    return spent


def _replay(
    scenario: Case,
    workload: Workload,
    note: Callable[[FrameType, str, Any], None],
    watch: Callable[[Callable[[FrameType, str, Any], None] | None], object],
) -> None:
    """Replay, with a function of `sys.setprofile` or `sys.settrace` at work meanwhile."""
    options = ReplayOptions(scheduler=scenario.scheduler, priority=scenario.priority)
    with Replay(Scenario(workload, _config(scenario, workload), options)) as replay:
        watch(note)
        try:
            replay.run()
        finally:
            watch(None)


def _config(scenario: Case, workload: Workload) -> ClusterConfig:
    if not scenario.machine:
        return interchangeable(workload.procs or 0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "slurm.conf"
        path.write_text(scenario.machine)
        return read_slurm_conf(path).config


def package(file: str) -> str:
    """Name the package of a file: ``core/queue``; ``records``: of generated constructors; empty: a library's."""
    if file.startswith(_PACKAGE):
        return "/".join(file.removeprefix(_PACKAGE).split("/")[:-1][:2]) or "rota"
    return "records" if file == "<string>" else ""


def measured() -> dict[str, dict[str, float]]:
    """Give the number of calls for each job in all scenarios, by package in descending order, with their sum."""
    workload = log()
    found = {}
    for name, scenario in SCENARIOS.items():
        calls = count(scenario, workload)
        table = {"all": calls.total(), **dict(calls.most_common())}
        found[name] = {where: round(number / len(workload), 3) for where, number in table.items()}
    return found


def main() -> None:
    """Print the tables, or record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print them as JSON, and nothing of seconds")
    parser.add_argument("--write", action="store_true", help=f"record them in {RECORDED.name}")
    options = parser.parse_args()
    found = measured()
    if options.write:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    if options.json:
        print(json.dumps(found))
        return
    workload = log()
    for name, table in found.items():
        spent = seconds(SCENARIOS[name], workload)
        print(f"\n{name}: {table['all']:.1f} calls a job\n{'package':24} {'calls':>8} {'time':>6}")
        for where, calls in table.items():
            if where != "all" and calls >= 0.05:
                print(f"{where:24} {calls:8.1f} {100 * spent[where] / spent.total():5.0f}%")


if __name__ == "__main__":
    main()
