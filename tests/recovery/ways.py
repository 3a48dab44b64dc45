"""What tests of damage do with a cluster."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster


#: Says that it runs, waits until it is let go, and ends with its code.
SCRIPT = """#!/bin/bash
{trap}
echo ran >> ran-$SLURM_JOB_ID
while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.05; done
exit {code}
"""


def start(cluster: LiveCluster, code: int = 0, trap: str = "") -> int:
    """Submit a job that runs until it is let go, and ends with a code; wait until it runs."""
    job = cluster.submit("-o", "/dev/null", stdin=SCRIPT.format(code=code, trap=trap))
    cluster.wait((cluster.directory / f"ran-{job}").exists)
    return job


def let_go(cluster: LiveCluster, job: int) -> dict[str, Any]:
    """Let a job go, and give its record."""
    (cluster.directory / f"go-{job}").touch()
    cluster.wait(lambda: job in cluster.ended())
    assert (cluster.directory / f"ran-{job}").read_text() == "ran\n"
    return cluster.ended()[job]


def kill_all(cluster: LiveCluster) -> None:
    """End controller, supervisor and keeper at once."""
    pids = daemons(cluster)
    cluster.kill()
    kill_9(cluster, pids)


def kill_9(cluster: LiveCluster, pids: list[int]) -> None:
    """Kill a supervisor and its keeper at the same moment: the keeper starts no other one."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
    cluster.wait(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in pids))


def daemons(cluster: LiveCluster) -> list[int]:
    """Give the supervisor and the keeper."""
    found = cluster.status()["supervisor_pid"]
    return [found, int(Path(f"/proc/{found}/stat").read_text().split()[3])]


def refused(cluster: LiveCluster) -> str:
    """See that the controller does not begin, and give what it says."""
    conf = ["--config", str(cluster.conf)]
    done = cluster.rota("up", *conf, check=False)
    assert done.returncode == 2, done.stdout
    assert f"`rota recover --state {cluster.state}`" in done.stderr
    return done.stderr


def recover(cluster: LiveCluster) -> dict[str, Any]:
    """See that looking changes nothing, then recover, and begin again; give what is said."""
    before = _files(cluster.state)
    shown = json.loads(cluster.rota("recover", "--json").stdout)
    assert not shown["done"]
    assert _files(cluster.state) == before
    done: dict[str, Any] = json.loads(cluster.rota("recover", "--json", "--yes").stdout)
    assert done["done"]
    assert not (cluster.state / "rota.db").stat().st_mode & 0o077
    assert {**shown, "done": True, "aside": done["aside"]} == done
    cluster.up()
    return done


def _files(state: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file() and not path.name.endswith("-shm") and path.name != "lock"
    }


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
