"""Commands that are given while the controller is started again, and what they do until it is there."""

from __future__ import annotations

import fcntl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Event, Timer
from typing import TYPE_CHECKING

import pytest

from rota.client.away import PATIENCE
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, virtual_nodes(4)) as found:
        yield found


def test_jobs_that_are_submitted_during_a_restart_are_taken_once(cluster: LiveCluster) -> None:
    over = Event()

    def submit(_: int) -> list[int]:
        found = []
        while not over.is_set():
            found.append(cluster.submit("-H", "--wrap", "true"))
        return found

    with ThreadPoolExecutor(4) as threads:
        submitted = threads.map(submit, range(4))
        for _ in range(3):
            cluster.rota("down")
            cluster.up()
        over.set()
        ids = [*chain.from_iterable(submitted)]
    assert len(ids) > 4  # each has come upon a restart
    assert sorted(ids) == [*map(int, cluster.run("squeue", "-h", "-S", "i", "-o", "%A").stdout.split())]


@pytest.mark.parametrize(
    "words",
    [
        "sbatch -o /dev/null --wrap true",
        "srun true",
        "salloc true",
        "squeue",
        "sacct",
        "scancel -u root",
        "sinfo",
    ],
)
def test_a_command_waits_for_a_controller_that_was_killed(cluster: LiveCluster, words: str) -> None:
    cluster.kill()
    with subprocess.Popen(words.split(), env=cluster.environment) as client:
        time.sleep(1)
        assert client.poll() is None
        cluster.up()
        assert client.wait(PATIENCE) == 0


def test_who_asks_whether_it_is_there_need_not_wait(cluster: LiveCluster) -> None:
    cluster.kill()
    before = time.monotonic()
    assert cluster.run("scontrol", "ping", check=False).returncode == 1
    assert time.monotonic() - before < PATIENCE / 2


def test_what_a_killed_controller_has_just_begun_keeps_its_lock_for_a_moment(cluster: LiveCluster) -> None:
    cluster.kill()
    with (cluster.state / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a child does, until it has closed what it does not need
        released = Timer(2, fcntl.flock, (lock, fcntl.LOCK_UN))
        released.start()
        cluster.up()
        released.join()
    assert cluster.status()["jobs"] == {}
