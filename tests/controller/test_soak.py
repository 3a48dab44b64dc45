"""Much at once, and for long: what a controller has stays as small as what it has to remember."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

_CONF = """
ClusterName=soak
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxArraySize=10001
MaxJobCount=20000
MinJobAge=2
NodeName=n[1-4] CPUs=16 Sockets=1 CoresPerSocket=16
PartitionName=debug Nodes=ALL Default=YES
"""


def _resident(pid: int) -> int:
    """Give the resident memory of a process, kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_many_jobs_that_end_in_one_second(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF) as cluster:
        job_id = cluster.submit("-a", "0-199", "-o", "/dev/null", "--wrap", "exit $((SLURM_ARRAY_TASK_ID % 3))")
        cluster.idle()
        codes = {int(one["array_task"]): one.get("exit_code", 0) for one in cluster.records()}
        assert codes == {task: task % 3 for task in range(200)}
        assert cluster.run("squeue", "-h", "-j", str(job_id)).stdout == ""


@pytest.mark.slow
@pytest.mark.longest
def test_ten_thousand_tasks(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF) as cluster:
        cluster.submit("-a", "0-9999", "-o", "/dev/null", "--wrap", "exit $((SLURM_ARRAY_TASK_ID % 2))")
        cluster.wait(lambda: not cluster.status()["jobs"], patience=600)
        records = cluster.records()
        assert len(records) == 10_000
        assert {int(one["array_task"]): one.get("exit_code", 0) for one in records} == {
            task: task % 2 for task in range(10_000)
        }


@pytest.mark.slow
def test_days_of_work(tmp_path: Path) -> None:
    """Jobs come, are cancelled, end; the controller starts again; what has ended is removed after some seconds."""
    random = Random(3)  # noqa: S311 - the same days each time
    with LiveCluster(tmp_path, _CONF, options=("--keep", "0:10")) as cluster:

        def day() -> None:
            array = cluster.submit("-a", "0-49", "-o", "/dev/null", "--wrap", "sleep 0.0$((RANDOM % 10))")
            single = [cluster.submit("-o", "/dev/null", "--wrap", "sleep 0.1") for _ in range(10)]
            cluster.run("scancel", *map(str, random.sample(single, 3)), f"{array}_[40-49]")
            node = f"n{random.randrange(1, 5)}"
            cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=soak")
            cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
            cluster.idle()

        def size() -> dict[str, int]:
            pid = cluster.pid() or 0
            database = sum(path.stat().st_size for path in cluster.state.glob("rota.db*")) >> 10
            return {"memory": _resident(pid), "files": _open_files(pid), "database": database}

        _repeat(day, seconds=20)
        before = size()
        _repeat(day, seconds=40)
        after = size()
        assert after["files"] <= before["files"] + 5
        assert after["memory"] <= before["memory"] * 1.15
        assert after["database"] <= before["database"] * 1.5
        cluster.rota("down")
        cluster.up()
        day()
        ends = [one["end_time"] for one in cluster.records()]
        assert max(ends) - min(ends) < 60  # they are kept for 10 seconds, and looked at every few seconds


def _repeat(call: Callable[[], object], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        call()
