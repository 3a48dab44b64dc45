"""Time and memory of whole ``rota replay`` processes for each job, and their growth.

``make bench`` prints these tables. The first has every scheduler on every log that is found: the bundled KTH-SP2, and
SDSC-BLUE and HPC2N if the folder with the archive's logs exists (``ROTA_TRACES``, or ``../shared/traces``). The second
has the KTH-SP2 log with more jobs (the log repeated), with a longer queue (shorter intervals between submissions), and
on a larger machine (with jobs scaled by the same factor), by the factors 1, 2 and 4. The tables of ``bench_priority``
and ``bench_backfill`` follow.

Absolute times depend on the computer; compare ratios. Times are processor times, including start-up and reading; the
best of three runs counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import bench_backfill
import bench_priority
import numpy as np

from rota.workload import FILTERS, Workload, bundled, read_swf, write_swf

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEDULERS = ("builtin", "easy", "conservative", "backfill")
LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.swf.gz",
    "SDSC-BLUE": "SDSC-BLUE-2000-4.1-cln.swf.gz",
}
FACTORS = (1, 2, 4)
_TABLES = bench_priority.TABLES | bench_backfill.TABLES


class Cost(NamedTuple):
    """The cost of one process."""

    jobs: int
    #: Processor seconds of the whole process.
    cpu_s: float
    #: Peak resident memory, kB.
    peak_kb: int

    @property
    def us_per_job(self) -> float:
        """Processor time for each job, microseconds."""
        return self.cpu_s / self.jobs * 1e6


def run(log: Path, scheduler: str, *, nodes: Path | None = None, runs: int = 3) -> Cost:
    """Replay a log in separate processes, ``runs`` times; give the lowest cost."""
    command = [sys.executable, "-m", "rota", "replay", str(log), "--scheduler", f"sched/{scheduler}", "--json"]
    if nodes is not None:
        command += ["--config", str(nodes), "--priority", "priority/basic"]
    return min((_run_once(command) for _ in range(runs)), key=lambda cost: cost.cpu_s)


#: Script of an intermediate process: the peak memory of a child includes that of its parent, which has to be small.
_MEASURE = """
import json, resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([json.loads(out)["jobs"], used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


def _run_once(command: list[str]) -> Cost:
    out = subprocess.run([sys.executable, "-c", _MEASURE, *command], stdout=subprocess.PIPE, check=True).stdout
    return Cost(*json.loads(out))


def prepare(folder: Path) -> dict[str, Path]:
    """Write the logs that are found, filtered, into a folder."""
    traces = Path(os.environ.get("ROTA_TRACES", Path(__file__).parents[2] / "shared" / "traces"))
    found = {}
    for name, file in LOGS.items():
        path = bundled(name) or traces / file
        if path.exists():
            log = read_swf(path)
            found[name] = folder / f"{name}.swf"
            write_swf(FILTERS["sc15"](log, log.procs or 0), found[name])
    return found


def with_more_jobs(log: Workload, factor: int) -> Workload:
    """Repeat a log several times."""
    step = int(log.submit_time.max()) + 1
    rows = np.tile(np.arange(len(log)), factor)
    copy = np.repeat(np.arange(factor), len(log))
    numbers = np.arange(1, len(rows) + 1)
    submit = log.submit_time[rows] + copy * step
    columns = {name: getattr(log, name)[rows] for name in ("run_time", "requested_procs", "requested_time")}
    return Workload.build(log.name, {**columns, "job_number": numbers, "submit_time": submit}, header=log.header)


def with_longer_queue(log: Workload, factor: int) -> Workload:
    """Give the first part of a log with shorter intervals between submissions, so that the queue is longer."""
    part = log.take(np.arange(len(log) // 8))
    return part.with_columns(submit_time=part.submit_time // factor)


def with_larger_machine(log: Workload, factor: int) -> Workload:
    """Multiply the processors of all jobs and of the machine."""
    header = tuple(line for line in log.header if not line.startswith(("; MaxProcs", "; MaxNodes")))
    procs = (log.procs or 0) * factor
    scaled = log.with_columns(
        requested_procs=log.requested_procs * factor, allocated_procs=log.allocated_procs * factor
    )
    return replace(scaled, header=(*header, f"; MaxProcs: {procs}"))


GROWTHS = {
    "jobs": with_more_jobs,
    "queue": with_longer_queue,
    "processors": with_larger_machine,
}


def bench_logs(logs: dict[str, Path]) -> list[dict[str, object]]:
    """Measure every scheduler on every log."""
    rows: list[dict[str, object]] = []
    for name, path in logs.items():
        base = 0.0
        for scheduler in SCHEDULERS:
            cost = run(path, scheduler, runs=3 if name == "KTH-SP2" else 1)
            base = base or cost.cpu_s
            rows.append(
                {
                    "log": name,
                    "jobs": cost.jobs,
                    "scheduler": scheduler,
                    "cpu_s": round(cost.cpu_s, 2),
                    "us_per_job": round(cost.us_per_job, 1),
                    "times_builtin": round(cost.cpu_s / base, 2),
                    "peak_mb": round(cost.peak_kb / 1024),
                    "bytes_per_job": round(cost.peak_kb * 1024 / cost.jobs),
                }
            )
            print_row(rows[-1], header=len(rows) == 1)
    return rows


def bench_growth(log: Workload, folder: Path) -> list[dict[str, object]]:
    """Measure every scheduler with the log enlarged in each way, and on a machine with nodes."""
    rows: list[dict[str, object]] = []
    for what, grow in [*GROWTHS.items(), ("nodes", with_larger_machine)]:
        for scheduler in SCHEDULERS:
            per_job = {}
            for factor in FACTORS:
                grown = grow(log, factor)
                path, conf = folder / f"grown-{what}-{factor}.swf", folder / f"nodes-{factor}.conf"
                write_swf(grown, path)
                conf.write_text(f"NodeName=n[1-{grown.procs}]\nPartitionName=all Nodes=ALL Default=YES\n")
                cost = run(path, scheduler, nodes=conf if what == "nodes" else None, runs=1)
                per_job[f"x{factor}"] = round(cost.us_per_job, 1)
            ratio = round(per_job["x4"] / per_job["x1"], 2)
            rows.append({"grows": what, "scheduler": scheduler, **per_job, "x4_to_x1": ratio})
            print_row(rows[-1], header=len(rows) == 1)
    return rows


def bench_table(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Print rows as they are measured."""
    measured: list[dict[str, object]] = []
    for row in rows:
        measured.append(row)
        print_row(row, header=len(measured) == 1)
    return measured


def print_row(row: dict[str, object], *, header: bool) -> None:
    """Print one row of a table, with the column names before the first row."""
    if header:
        print("\n" + " ".join(f"{name:>14}" for name in row))
    print(" ".join(f"{value!s:>14}" for value in row.values()), flush=True)


def main() -> None:
    """Measure and print, and write the figures to the file given with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--logs-only", action="store_true", help="leave out the growth")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = prepare(folder)
        missing = sorted(set(LOGS) - set(logs))
        if missing:
            print(f"not found, left out: {', '.join(missing)} (set ROTA_TRACES)")
        figures = {"logs": bench_logs(logs)}
        if not options.logs_only:
            figures |= {name: bench_table(table()) for name, table in _TABLES.items()}
            figures["growth"] = bench_growth(read_swf(logs["KTH-SP2"]), folder)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
