"""Accounting of a live cluster that has run many jobs: its start, and what ``sacct`` takes.

The jobs are copies of some that have really run, spread over 30 days. Run it as
``python benchmarks/bench_accounting.py [--json]``. A million jobs take 0.5 GB of disk for that time.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.store import Database
from rota.store.location import database_url
from rota.store.writes import add_job
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

_DAYS, _REAL = 30, 100
_DAY = 86_400
#: Jobs that are written together.
_TOGETHER = 10_000


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _copy(cluster: LiveCluster, copies: int) -> None:
    database = Database(database_url(cluster.state))
    records = [*database.job_records()]
    step = _DAYS * _DAY // copies
    rows = (_row(record, number, number * step) for number in range(copies, 0, -1) for record in records)
    while some := [*islice(rows, _TOGETHER)]:
        database.write(write for row in some for write in add_job(row))
    database.close()


def _row(record: dict[str, Any], number: int, seconds: int) -> dict[str, Any]:
    """Give the row of a copy of a job that ended before it."""
    job = {name: value for name, value in record["job"].items() if not name.startswith("array")}
    job["job_id"] += number * _REAL
    for name in ("submit_time", "eligible_time", "start_time", "end_time"):
        job[name] -= seconds
    columns = ("job_id", "account", "name", "submit_time", "start_time", "end_time")
    return {
        **{name: job[name] for name in columns},
        "array_job_id": None,
        "user_name": job["user"],
        "partition_name": job["partition"],
        "state": job["base_state"],
        "payload": job["request"]["payload"],
        "record": {**record, "job": job},
    }


def measure(jobs: int) -> dict[str, float]:
    """Give the figures with so many jobs in the database."""
    with tempfile.TemporaryDirectory() as text, LiveCluster(Path(text)) as cluster:
        cluster.run("sbatch", "--wait", "-o", "/dev/null", "-a", f"1-{_REAL}", "--wrap", "true")
        cluster.rota("down")
        _copy(cluster, jobs // _REAL - 1)
        figures = {"jobs": float(jobs), "start_ms": 1e3 * _seconds(cluster.up)}
        figures["bytes_a_job"] = (cluster.state / "rota.db").stat().st_size / jobs
        begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 11 * _DAY))
        end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 10 * _DAY))
        for name, words in {
            "sacct_of_a_day": ("-X", "-S", begin, "-E", end),
            "sacct_of_a_day_with_steps": ("-S", begin, "-E", end),
            "sacct_of_a_job": ("-j", str(_REAL * 50 + 7)),
        }.items():
            command = partial(cluster.run, "sacct", "-n", *words)
            figures[f"{name}_lines"] = command().stdout.count("\n")
            figures[f"{name}_s"] = statistics.median(_seconds(command) for _ in range(3))
    return figures


def main() -> None:
    """Measure with a hundred thousand jobs and with a million."""
    found = [measure(100_000), measure(1_000_000)]
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
        return
    for name in found[0]:
        print(f"{name:32}" + "".join(f"{figures[name]:14,.3f}" for figures in found))


if __name__ == "__main__":
    main()
