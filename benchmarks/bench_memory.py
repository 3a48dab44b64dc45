"""Memory of one engine while ten million jobs are submitted, started and ended.

``python benchmarks/bench_memory.py`` prints the resident memory after every tenth of the jobs, and the time for each
job. Memory must not grow, since an engine runs for years. One job in a thousand has a dependency, an array, a new name
or a new account, and one in a thousand is cancelled.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from rota.config import interchangeable
from rota.core.effects import Launch
from rota.core.events import Cancel, JobEnded, SchedulePass, Submit, Tick
from rota.loader import PluginHost
from rota.model import JobSpec
from rota.runtime.boot import Plugins, boot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core import Engine

CPUS = 64
#: One in this number of jobs has something special.
_ODD = 1000
_PASS, _TICK = SchedulePass(), Tick()


def resident_mb() -> float:
    """Give the resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def odd(job_id: int) -> dict[str, Any]:
    """Give the special fields of a job's request, which are new with each job."""
    kinds = (
        {"dependency": f"afterany:{job_id - 1}"},
        {"array": "0-3"},
        {"name": f"job-{job_id}"},
        {"account": f"a{job_id}"},
    )
    return kinds[job_id // _ODD % len(kinds)]


def play(engine: Engine, jobs: int) -> Iterator[int]:
    """Simulate jobs with an engine, two submissions each second; give their number after every tenth of them."""
    now = job_id = 0
    running: list[tuple[int, int]] = []
    while job_id < jobs:
        now += 1
        for _ in range(2):
            job_id += 1
            is_odd = job_id % _ODD == 0
            spec = JobSpec(1 + job_id % 3, 3600, user_id=job_id % 5000, **(odd(job_id) if is_odd else {}))
            running += started(engine, Submit(job_id * 4, spec), now)
            if job_id % _ODD == 1:
                engine.handle(Cancel(job_id=job_id * 4), now)
            if job_id % (jobs // 10) == 0:
                yield job_id
        running += started(engine, _PASS, now)
        while len(running) > CPUS // 4:
            running += started(engine, JobEnded(*running.pop(0)), now)
        if engine.wakeup is not None and engine.wakeup <= now:
            running += started(engine, _TICK, now)


def started(engine: Engine, event: Submit | JobEnded | SchedulePass | Tick, now: int) -> list[tuple[int, int]]:
    """Send an event; give job id and restart count of the runs that it has started."""
    return [(effect.job_id, effect.restart_count) for effect in engine.handle(event, now) if isinstance(effect, Launch)]


def main() -> None:
    """Simulate, and print a row after every tenth of the jobs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    options = parser.parse_args()
    with PluginHost([]) as host:
        plugins = Plugins(host.load("priority/basic"), host.load("sched/easy"))
        engine, _ = boot(interchangeable(CPUS), plugins, boot_time=0)
        engine.begin()
        begun, before = process_time(), 0
        print(f"{'jobs':>12} {'resident MB':>12} {'µs a job':>9} {'live jobs':>9}")
        for jobs in play(engine, options.jobs):
            took, begun = process_time() - begun, process_time()
            print(
                f"{jobs:12,} {resident_mb():12.1f} {took / (jobs - before) * 1e6:9.1f} {len(engine.jobs):9}", flush=True
            )
            before = jobs


if __name__ == "__main__":
    main()
