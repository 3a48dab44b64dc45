"""One user's job takes all processes that there are: everybody else's jobs wait, none is held or fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.executor.supervisor.shortage import PROCESSES
from rota.testing.few_processes import can_be_few, few_processes
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = f"{virtual_nodes(1, cpus=64)}KillWait=1\n"
#: It starts as many processes as it can, and tries it again and again.
_BOMB = """#!/usr/bin/env python3
import os, time
while not os.path.exists("end"):
    try:
        if not os.fork():
            time.sleep(1000)
    except OSError:
        open("full", "w").close()
        time.sleep(0.01)
"""
needs_pids = pytest.mark.skipif(not can_be_few(), reason="no control group for processes can be made")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, _CONF) as found:
        yield found


def _daemons(cluster: LiveCluster) -> list[int]:
    supervisor = cluster.status()["supervisor_pid"]
    keeper = int(Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[1])
    controller = cluster.pid()
    assert controller is not None
    return [controller, supervisor, keeper]


@needs_pids
def test_a_job_that_forks_without_end_lets_others_wait_and_no_more(cluster: LiveCluster) -> None:
    out = ("-o", "/dev/null")
    with few_processes("bomb", *_daemons(cluster)) as allow:
        allow(40)
        bomb = cluster.submit(*out, stdin=_BOMB)
        cluster.wait((cluster.directory / "full").exists)
        others = [cluster.submit(*out, "--no-requeue", "--wrap", "echo ran >> ran.$SLURM_JOB_ID") for _ in range(20)]
        cluster.wait(lambda: [one["missing"] for one in cluster.status()["short_of"]] == [PROCESSES])
        shown = cluster.rota("status").stdout
        assert f"short of {PROCESSES}" in shown
        assert "starting jobs" in shown
        # What a child of the controller answers waits as well, and says why.
        big = [cluster.submit("-H", "-a", "0-9", "-J", "x" * 100, "--wrap", "true") for _ in range(3)]
        done = cluster.run("sacct", "-o", "jobid", check=False)
        assert done.returncode == 0 or "short of processes" in done.stderr
        (cluster.directory / "end").touch()
        cluster.run("scancel", str(bomb), *map(str, big))
        cluster.idle()
    ended = cluster.ended()
    assert [ended[job]["base_state"] for job in others] == ["COMPLETED"] * len(others)
    assert [(cluster.directory / f"ran.{job}").read_text() for job in others] == ["ran\n"] * len(others)
    log = (cluster.state / "controller.log").read_text()
    assert "Traceback" not in log
    assert log.count("short of processes") <= 2
    assert len(log.splitlines()) < 10


@needs_pids
def test_a_command_that_needs_a_child_waits_for_room(cluster: LiveCluster) -> None:
    controller = cluster.pid()
    assert controller is not None
    with few_processes("child", controller) as allow:
        allow(0)
        words = (cluster.state / "bin" / "sinfo", "-h")
        with subprocess.Popen(words, env=cluster.environment, stdout=subprocess.PIPE, text=True) as sinfo:
            seen = sinfo.poll
            cluster.wait(lambda: cluster.status()["short_of"] or seen() is not None)
            allow(None)
            assert sinfo.communicate()[0]
            assert sinfo.returncode == 0


def test_the_unit_leaves_processes_to_the_limits_of_users(tmp_path: Path) -> None:
    unit = LiveCluster(tmp_path).rota("unit", "--system").stdout.splitlines()
    assert {"TasksMax=infinity", "LimitNOFILE=1024:524288", "KillMode=process"} <= set(unit)
