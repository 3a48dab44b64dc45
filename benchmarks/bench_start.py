"""What ``rota up`` takes with many live jobs: after ``rota down``, and after a kill, when events are handled again.

Some of the jobs run, some are arrays, and an accounting tree and priorities of several factors are there. Processor
time is that of ``rota up`` and of the controller until commands are answered; it can be compared on a busy machine,
times by the clock cannot. Run it as ``python benchmarks/bench_start.py [--jobs 3000,10000] [--json]``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rota.testing.live import LiveCluster

_CONF = """
ClusterName=bench
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxJobCount=1000000
PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityWeightAge=1000
AccountingStorageEnforce=associations
NodeName=n[1-50] CPUs=4 Sockets=1 CoresPerSocket=4
PartitionName=debug Nodes=ALL Default=YES
"""
#: Jobs that run; accounts; and how often each start is measured.
_RUNNING, _DEPARTMENTS, _GROUPS, _STARTS = 150, 4, 5, 3
_COMMAND = ["-o", "/dev/null", "--wrap", "sleep 100000"]

Figures = dict[str, float]


def _submit(cluster: LiveCluster, jobs: int) -> None:
    for department in range(_DEPARTMENTS):
        cluster.run("sacctmgr", "-i", "add", "account", f"d{department}")
        for group in range(_GROUPS):
            account = f"d{department}g{group}"
            cluster.run("sacctmgr", "-i", "add", "account", account, f"parent=d{department}")
            cluster.run("sacctmgr", "-i", "add", "user", cluster.run("id", "-un").stdout.strip(), f"account={account}")
    for number in range(jobs):
        words = ["-A", f"d{number % _DEPARTMENTS}g{number % _GROUPS}", "-J", f"job{number}"]
        if number >= _RUNNING:
            words += ["-a", "0-99"] if number % 10 == 0 else ["-n", str(1 + number % 7), "-t", str(10 + number % 500)]
        cluster.submit(*words, *_COMMAND)


def _start(cluster: LiveCluster) -> Figures:
    """Start the controller, and wait until it answers."""
    command = [sys.executable, "-m", "rota", "up", "--state", str(cluster.state), "--config", str(cluster.conf)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    until_up, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    words = Path(f"/proc/{cluster.pid()}/stat").read_text().rpartition(")")[2].split()
    controller = sum(int(one) for one in words[11:13]) / os.sysconf("SC_CLK_TCK")
    command_time = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    subprocess.run(["sinfo", "-h"], check=True, stdout=subprocess.DEVNULL, env=cluster.environment)
    answered = time.perf_counter() - began
    return {"cpu_ms": 1e3 * (command_time + controller), "up_ms": 1e3 * until_up, "answered_ms": 1e3 * answered}


def measure(jobs: int) -> dict[str, Figures]:
    """Give the figures with so many jobs, by what was before the start."""
    with tempfile.TemporaryDirectory() as text, LiveCluster(Path(text), _CONF) as cluster:
        _submit(cluster, jobs)
        found = {}
        for what, end in (("killed", cluster.kill), ("down", lambda: cluster.rota("down"))):
            starts = []
            for _ in range(_STARTS):
                end()
                starts.append(_start(cluster))
            found[what] = {name: statistics.median(one[name] for one in starts) for name in starts[0]}
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default="0,3000,10000", help="numbers of live jobs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {jobs: measure(int(jobs)) for jobs in options.jobs.split(",")}
    if options.json:
        print(json.dumps(found))
        return
    for jobs, by_what in found.items():
        for what, figures in by_what.items():
            print(f"{jobs:>8} {what:8}" + "".join(f"{name:>14} {value:8,.0f}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
