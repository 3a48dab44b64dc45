"""Number of Python calls for each job of a replay, and for each that is pending when a live cluster starts, by package.

Times vary between machines and runs, so that a small cost for each job cannot be seen in them. The number of calls is
the same in every run: a test compares it with ``calls.json``. ``python benchmarks/calls.py`` prints the tables, with
each package's share of the time; ``--write`` records them.

Calls of rota's functions during the replay are counted, without reading and writing files; those of libraries are not.
A start makes the engine from its saved state, with pending jobs as in a log; what does not grow with their number is
left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import rota
from rota.config import interchangeable, read_slurm_conf
from rota.core.events import SchedulePass, Submit
from rota.core.snapshot import save
from rota.model import JobSpec
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.runtime.boot import boot_live
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


#: Pending jobs at a start: what more of them cost is what each costs.
PENDING = 500, 1000


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
    # `sys.settrace` tells of calls only, as nothing in them is to be traced.
    _replay(scenario, workload, _counter(files), sys.settrace)
    return _by_package(files)


def _counter(files: Counter[str]) -> Callable[[FrameType, str, Any], None]:
    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - as the interpreter calls it
        files[frame.f_code.co_filename] += 1

    return note


def _by_package(files: Counter[str]) -> Counter[str]:
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


def count_start(workload: Workload, pending: int) -> Counter[str]:
    """Save the state of a live cluster with pending jobs, start it again, and count the calls in each package."""
    config = _config(SCENARIOS["backfill on shared nodes, multifactor"], workload)
    with ExitStack() as stack:
        boot = partial(boot_live, stack, config, boot_time=0, report=print, utc_offset=lambda _: 0)
        engine = boot(None)
        for number in range(pending):
            cpus, limit = int(workload.requested_procs[number]), int(workload.requested_time[number])
            spec = JobSpec(num_cpus=cpus, time_limit=limit, user="ann", name=f"job{number}", payload=str(number))
            engine.handle(Submit(number + 1, spec), number)
        engine.handle(SchedulePass(), pending)
        saved = json.loads(json.dumps(save(engine)))
        files: Counter[str] = Counter()
        sys.settrace(_counter(files))
        try:
            boot(saved)
        finally:
            sys.settrace(None)
    return _by_package(files)


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
        found[name] = _for_each(calls, len(workload))
    few, many = (count_start(workload, pending) for pending in PENDING)
    found["start"] = _for_each(many - few, PENDING[1] - PENDING[0])
    return found


def _for_each(calls: Counter[str], jobs: int) -> dict[str, float]:
    table = {"all": calls.total(), **dict(calls.most_common())}
    return {where: round(number / jobs, 3) for where, number in table.items()}


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
        spent = seconds(SCENARIOS[name], workload) if name in SCENARIOS else Counter[str]()
        print(f"\n{name}: {table['all']:.1f} calls a job\n{'package':24} {'calls':>8} {'time':>6}")
        for where, calls in table.items():
            if where != "all" and calls >= 0.05:
                share = f" {100 * spent[where] / spent.total():5.0f}%" if spent else ""
                print(f"{where:24} {calls:8.1f}{share}")


if __name__ == "__main__":
    main()
