"""A live cluster beside its peers: a real Slurm and task-spooler, in the same minutes on the same machine.

Slurm is measured if ``sinfo`` and ``sbatch`` on the path reach one, task-spooler if ``tsp`` is there. All run the same
trivial scripts. Run it as ``python benchmarks/bench_live.py [--json]``.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CONF = """
ClusterName=bench
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxArraySize=20001
MaxJobCount=1000000
MaxJobCount=50000
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4
PartitionName=debug Nodes=ALL Default=YES
"""
_TASKS, _JOBS, _SUBMITTERS, _PROBES, _PENDING = 1_000, 1_000, 4, 20, 10_000
_PATIENCE = 300.0

Figures = dict[str, float]


def _run(words: list[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, env=dict(environment)).stdout


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _processor_times(pid: int | None) -> tuple[float, float]:
    """Give the processor time of a process, and of the children that it has waited for, milliseconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system, of_children, system_of_children = (1e3 * int(one) / os.sysconf("SC_CLK_TCK") for one in words[11:15])
    return user + system, of_children + system_of_children


def _processor_time_of_a_job(cluster: LiveCluster) -> Figures:
    """Say who needs how much processor time for one of many jobs."""
    supervisor = cluster.status()["supervisor_pid"]
    places = {"commands": (os.getpid(), 1), "controller": (cluster.pid(), 0), "supervisor": (supervisor, 0)}
    places["jobs"] = supervisor, 1

    def now() -> Figures:
        return {f"cpu_{name}_ms": _processor_times(pid)[place] for name, (pid, place) in places.items()}

    before = now()
    _submit(["sbatch", "-o", "/dev/null"], cluster.environment)
    after = now()
    cluster.idle()
    return {name: (used - before[name]) / _JOBS for name, used in after.items()}


def _submit(words: list[str], environment: Mapping[str, str]) -> None:
    """Submit jobs, several at a time."""

    def submit_some(count: int) -> None:
        for _ in range(count):
            _run([*words, "--wrap", "true"], environment)

    with ThreadPoolExecutor(_SUBMITTERS) as pool:
        list(pool.map(submit_some, [_JOBS // _SUBMITTERS] * _SUBMITTERS))


def _wait(condition: Callable[[], object]) -> None:
    until = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.01)


def batch_system(environment: Mapping[str, str], folder: Path) -> Figures:
    """Measure a queue that has Slurm's commands."""

    def sbatch(*words: str) -> str:
        return _run(["sbatch", "--parsable", "-o", "/dev/null", *words], environment).strip()

    def queue_is_empty() -> bool:
        return not _run(["squeue", "-h"], environment).strip()

    def latency() -> float:
        mark = folder / f"mark-{time.monotonic_ns()}"
        begun = time.time()
        sbatch("--wrap", f"date +%s.%N > {mark}")
        _wait(lambda: mark.exists() and mark.read_text().strip())
        return float(mark.read_text()) - begun

    def array() -> None:
        sbatch("-a", f"0-{_TASKS - 1}", "--wrap", "true")
        _wait(queue_is_empty)

    figures = {"latency_ms": 1e3 * statistics.median(latency() for _ in range(_PROBES))}
    _wait(queue_is_empty)
    figures["array_tasks_per_s"] = _TASKS / _timed(array)
    figures["submissions_per_s"] = _JOBS / _timed(lambda: _submit(["sbatch", "-o", "/dev/null"], environment))
    _wait(queue_is_empty)
    figures["sbatch_ms"] = 1e3 * statistics.median(_timed(lambda: sbatch("-H", "--wrap", "true")) for _ in range(10))
    figures["squeue_10_ms"] = 1e3 * statistics.median(_timed(lambda: _run(["squeue"], environment)) for _ in range(10))
    for name, words in {"srun_ms": ["-n1"], "srun_100_tasks_ms": ["-n100", "--overcommit"]}.items():
        command = ["srun", *words, "true"]
        figures[name] = 1e3 * statistics.median(_timed(partial(_run, command, environment)) for _ in range(5))
    for _ in range(_PENDING // 1000):
        sbatch("-H", "-a", "0-999", "--wrap", "true")
    squeue = ["squeue", "-r"]
    figures["squeue_10000_ms"] = 1e3 * statistics.median(_timed(lambda: _run(squeue, environment)) for _ in range(3))
    _run(["scancel", "-u", _run(["id", "-un"], environment).strip()], environment)
    _wait(queue_is_empty)
    return figures


def rota(folder: Path) -> Figures:
    """Measure rota, and what only it is asked for: memory and start-up."""
    with LiveCluster(folder, _CONF) as cluster:
        cluster.rota("down")
        figures = {"up_ms": 1e3 * _timed(cluster.up)}
        figures |= batch_system(cluster.environment, folder)
        environment = cluster.environment
        figures |= _processor_time_of_a_job(cluster)
        for _ in range(_PENDING):
            _run(["sbatch", "-H", "-o", "/dev/null", "--wrap", "true"], environment)
        status = Path(f"/proc/{cluster.pid()}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        figures["memory_at_10000_pending_mb"] = int(resident.split()[1]) / 1024
        cluster.kill()
        figures["up_with_10000_pending_ms"] = 1e3 * _timed(cluster.up)
        _run(["squeue"], environment)
    return figures


def task_spooler(folder: Path) -> Figures:
    """Measure task-spooler: submissions, and until all have ended."""
    environment = {**os.environ, "TS_SOCKET": str(folder / "ts"), "TS_ONFINISH": ""}
    _run(["tsp", "-S", "4"], environment)

    def submit() -> None:
        for _ in range(_JOBS):
            _run(["tsp", "-n", "true"], environment)

    submitted = _timed(submit)
    done = submitted + _timed(lambda: _run(["tsp", "-w"], environment))
    _run(["tsp", "-K"], environment)
    return {"submissions_per_s": _JOBS / submitted, "array_tasks_per_s": _JOBS / done}


def main() -> None:
    """Measure all that is there, and print a table."""
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as text:
        found["rota"] = rota(Path(text))
    with tempfile.TemporaryDirectory() as text:
        if shutil.which("sbatch") and not subprocess.run(["sinfo"], check=False, capture_output=True).returncode:
            found["Slurm"] = batch_system(os.environ, Path(text))
        if shutil.which("tsp"):
            found["task-spooler"] = task_spooler(Path(text))
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
        return
    names = list(dict.fromkeys(name for figures in found.values() for name in figures))
    print(f"{'':28}" + "".join(f"{name:>14}" for name in found))
    for name in names:
        cells = (f"{figures[name]:14,.1f}" if name in figures else f"{'':14}" for figures in found.values())
        print(f"{name:28}" + "".join(cells))


if __name__ == "__main__":
    main()
