"""``squeue`` and ``sinfo`` with ``--iterate``: again and again, with the form that Slurm 22.05.8 gave it."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.executor.supervisor.kernel import stat_of
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}\n")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("iterate")) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("squeue -i 1 -o %t", ["date", "ST\n", "PD\n", "\n"]),
        ("squeue -hi1 -o %t", ["PD\n", "\n"]),
        ("sinfo --iterate=1 -o %R", ["date", "PARTITION\n", "main\n", "\n"]),
    ],
)
def test_it_is_answered_again_and_again(cluster: LiveCluster, words: str, lines: list[str]) -> None:
    job_id = cluster.submit("-H", "--wrap", "true")
    with subprocess.Popen(words.split(), stdout=subprocess.PIPE, text=True, env=cluster.environment) as process:
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in lines * 2]
        process.send_signal(signal.SIGINT)
    assert ["date" if _DATE.fullmatch(line) else line for line in found] == lines * 2
    cluster.run("scancel", str(job_id))


def _children(cluster: LiveCluster) -> list[int]:
    """Give the children of the controller."""
    every = (stat_of(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [one.pid for one in every if one is not None and one.parent == cluster.pid()]


def test_of_many_jobs_a_child_of_the_controller_tells(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "-a", "0-1000", "--wrap", "true")
    words = ["squeue", "-hr", "-i1", "-o", "%400i"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=cluster.environment) as process:
        assert process.stdout is not None
        cluster.wait(lambda: _children(cluster))  # it waits, as nobody reads so much
        assert cluster.run("squeue", "-h", "-o", "%F").stdout == f"{job_id}\n"
        for _ in range(2):
            lines = [process.stdout.readline() for _ in range(1001)]
            assert {line.strip() for line in lines} == {f"{job_id}_{task}" for task in range(1001)}
            assert process.stdout.readline() == "\n"
        process.send_signal(signal.SIGINT)
    cluster.wait(lambda: not _children(cluster))
    cluster.run("scancel", str(job_id))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("squeue -i 0", "squeue: error: --iterate=0\n\n"),
        ("squeue -i foo", "squeue: error: --iterate=foo\n\n"),
        ("squeue --iterate=-1", "squeue: error: --iterate=-1\n\n"),
        ("sinfo -i foo", "sinfo: error: Error: invalid entry for --iterate=foo\n"),
    ],
)
def test_what_is_no_number_of_seconds(cluster: LiveCluster, words: str, said: str) -> None:
    done = cluster.run(*words.split(), check=False)
    assert (done.returncode, done.stderr) == (1, said)
