"""Accounting of a live cluster that has run many jobs: its start, and what ``sacct`` takes.

The jobs are copies of some that have really run, spread over 30 days. Run it as
``python benchmarks/bench_accounting.py [--json]``. A million jobs take 2 GB of disk for that time.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

_DAYS, _REAL = 30, 100
_DAY = 86_400
_COPY = """
WITH RECURSIVE copies(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copies WHERE number < :copies)
INSERT INTO jobs (job_id, array_job_id, user_name, account, partition_name, name, state, submit_time, start_time,
  end_time, payload, record)
SELECT job_id + number * :real, NULL, user_name, account, partition_name, name, state,
  submit_time - number * :step, start_time - number * :step, end_time - number * :step, payload,
  json_set(record, '$.job.job_id', job_id + number * :real, '$.job.submit_time', submit_time - number * :step,
    '$.job.start_time', start_time - number * :step, '$.job.end_time', end_time - number * :step)
FROM jobs, copies ORDER BY number DESC
"""


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _copy(cluster: LiveCluster, copies: int) -> None:
    with sqlite3.connect(cluster.state / "rota.db") as database:
        database.execute(_COPY, {"copies": copies, "real": _REAL, "step": _DAYS * _DAY // copies})
    database.close()


def measure(jobs: int) -> dict[str, float]:
    """Give the figures with so many jobs in the database."""
    with tempfile.TemporaryDirectory() as text, LiveCluster(Path(text)) as cluster:
        cluster.run("sbatch", "--wait", "-o", "/dev/null", "-a", f"1-{_REAL}", "--wrap", "true")
        cluster.rota("down")
        _copy(cluster, jobs // _REAL - 1)
        figures = {"jobs": float(jobs), "start_ms": 1e3 * _seconds(cluster.up)}
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
