"""The controller and its supervisor are killed at random moments under load, and nothing is lost.

What is true is said by the scripts themselves: each adds a line to a file of its own when it begins, and writes down
with which code it exits.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from pathlib import Path

_CONF = """
ClusterName=kills
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=8 Sockets=1 CoresPerSocket=8
PartitionName=debug Nodes=ALL Default=YES
"""
_SCRIPT = """#!/bin/bash
me=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}_$SLURM_ARRAY_TASK_ID
echo begun >> ran-$me
sleep 0.$((RANDOM % 6))
code=$((RANDOM % 4))
echo $code > code-$me
exit $code
"""


class _Submitter(threading.Thread):
    """Submits jobs until it is told to stop, and remembers those that were acknowledged, with their tasks."""

    def __init__(self, cluster: LiveCluster, random: Random) -> None:
        super().__init__()
        self._cluster = cluster
        self._random = random
        self.acknowledged: dict[int, tuple[str, ...]] = {}
        self.stopped = False

    def run(self) -> None:
        while not self.stopped:
            array = self._random.random() < 0.2
            options = ["-a", "0-2"] if array else []
            done = self._cluster.run("sbatch", "--parsable", "-o", "/dev/null", *options, stdin=_SCRIPT, check=False)
            if done.returncode == 0:
                self.acknowledged[int(done.stdout)] = ("0", "1", "2") if array else ("",)
            else:
                time.sleep(0.02)


def _check(cluster: LiveCluster, acknowledged: dict[int, tuple[str, ...]]) -> None:
    """Check that each acknowledged job ran once, and has the exit code that it wrote down."""
    records: dict[str, list[tuple[str, int]]] = {}
    for one in cluster.records():
        name = f"{one.get('array_job_id', one['job_id'])}_{one.get('array_task', '')}"
        records.setdefault(name, []).append((one["state"], one.get("exit_code", 0)))
    for job_id, tasks in acknowledged.items():
        for task in tasks:
            name = f"{job_id}_{task}"
            code = int((cluster.directory / f"code-{name}").read_text())
            assert (cluster.directory / f"ran-{name}").read_text() == "begun\n", name
            assert records.get(name) == [("FAILED" if code else "COMPLETED", code)], name
    assert {name.partition("_")[0] for name in records} >= set(map(str, acknowledged))


def _play(directory: Path, seed: int, kills: int, kill: str) -> None:
    random = Random(seed)  # noqa: S311 - the same moments each time
    with LiveCluster(directory, _CONF) as cluster:
        submitter = _Submitter(cluster, random)
        submitter.start()
        try:
            for _ in range(kills):
                time.sleep(random.random() * 0.5)
                if kill == "controller":
                    cluster.kill()
                    cluster.up()
                else:
                    with suppress(ProcessLookupError):  # the one that was killed last may still be named
                        os.kill(cluster.status()["supervisor_pid"], signal.SIGKILL)
        finally:
            submitter.stopped = True
            submitter.join()
        cluster.idle()
        assert len(submitter.acknowledged) >= kills
        _check(cluster, submitter.acknowledged)


def test_a_few_kills_of_the_controller(tmp_path: Path) -> None:
    _play(tmp_path, seed=1, kills=3, kill="controller")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_many_kills_of_the_controller(tmp_path: Path, seed: int) -> None:
    _play(tmp_path, seed, kills=50, kill="controller")


@pytest.mark.slow
def test_many_kills_of_the_supervisor(tmp_path: Path) -> None:
    _play(tmp_path, seed=7, kills=50, kill="supervisor")
