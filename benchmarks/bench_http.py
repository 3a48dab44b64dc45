"""HTTP with 10,000 pending jobs: requests a second, how long they take, and what `sbatch` takes meanwhile.

Clients are threads of this process, each with a connection of its own on the Unix socket. Run it as
``python benchmarks/bench_http.py [--json]``.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

_CONF = """
ClusterName=bench
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxJobCount=1000000
MaxJobCount=50000
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4
PartitionName=debug Nodes=ALL Default=YES
"""
_JOBS, _CLIENTS, _REQUESTS = 10_000, 4, 1_000
_SUBMISSION = json.dumps({"script": "#!/bin/sh\n", "directory": "/tmp", "options": {"hold": True}})  # noqa: S108
#: Paths that are measured, and how many requests of each.
_PATHS = {
    "ping": ("/slurm/v0.0.38/ping", _REQUESTS),
    "job": ("/v1/jobs/5000", _REQUESTS),
    "slurm_job": ("/slurm/v0.0.38/job/5000", 200),
    "jobs_100": ("/v1/jobs?limit=100&after=5000", 500),
    "queue_100": ("/v1/queue?limit=100", 500),
    "diag": ("/v1/diag", _REQUESTS),
    "metrics": ("/metrics", 500),
    "slurm_jobs_10000": ("/slurm/v0.0.38/jobs", 2),
}


class _Connection(HTTPConnection):
    """A connection on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = str(path)

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)

    def seconds(self, method: str, path: str, body: str | None = None) -> float:
        """Make a request; give how long it takes."""
        begun = time.perf_counter()
        self.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = self.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status}")
        return time.perf_counter() - begun


def _measured(sock: Path, count: int, method: str, path: str, body: str | None = None) -> tuple[float, list[float]]:
    """Make requests from all clients; give requests a second, and the seconds of each, sorted."""
    clients = min(_CLIENTS, count // 2)

    def client(_: int) -> list[float]:
        connection = _Connection(sock)
        found = [connection.seconds(method, path, body) for _ in range(count // clients)]
        connection.close()
        return found

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        seconds = sorted(one for found in pool.map(client, range(clients)) for one in found)
    return len(seconds) / (time.perf_counter() - begun), seconds


def _processor_seconds(pid: int) -> float:
    """Give the processor time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _http_pid(controller: int) -> int:
    """Give the process id of `rota http`, a child of the controller."""
    children = Path(f"/proc/{controller}/task/{controller}/children").read_text().split()
    return next(int(pid) for pid in children if "--lifeline" in Path(f"/proc/{pid}/cmdline").read_text())


def _milliseconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begun)


def main() -> None:
    """Measure, and print a table."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, LiveCluster(Path(folder), _CONF, ["--http"]) as cluster:
        sock = cluster.state / "http.sock"
        cluster.rota("down")
        figures["up_http_ms"] = _milliseconds(cluster.up)
        figures["submissions_per_s"], _ = _measured(sock, _JOBS, "POST", "/v1/jobs", _SUBMISSION)

        def sbatch() -> None:
            cluster.run("sbatch", "-H", "--wrap", "true")

        figures["sbatch_ms"] = statistics.median(_milliseconds(sbatch) for _ in range(20))
        controller = cluster.pid() or 0
        processes = {"controller": controller, "http": _http_pid(controller)}
        for name, (path, count) in _PATHS.items():
            before = {one: _processor_seconds(pid) for one, pid in processes.items()}
            rate, seconds = _measured(sock, count, "GET", path)
            for one, pid in processes.items():
                figures[f"{name}_{one}_cpu_ms"] = 1e3 * (_processor_seconds(pid) - before[one]) / count
            figures[f"{name}_per_s"] = rate
            figures[f"{name}_median_ms"] = 1e3 * seconds[len(seconds) // 2]
            figures[f"{name}_99th_ms"] = 1e3 * seconds[len(seconds) * 99 // 100]
        with ThreadPoolExecutor(1) as pool:
            load = pool.submit(_measured, sock, 4 * _REQUESTS, "GET", "/v1/jobs/5000")
            during = []
            while not load.done():
                during.append(_milliseconds(sbatch))
        figures["sbatch_under_load_ms"] = statistics.median(during)
    if "--json" in sys.argv[1:]:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:32}{value:12,.1f}")


if __name__ == "__main__":
    main()
