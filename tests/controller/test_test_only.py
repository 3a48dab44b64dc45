"""``--test-only`` beside what Slurm 22.05.8 said: ``recorded/test_only.txt``, made by ``recorded/test_only.sh``.

Job ids and times differ; how far ahead a time is does not. rota says more about some refusals, in a line of its own.
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageEnforce=associations,limits,qos
NodeName=n[01-04] CPUs=4 RealMemory=8000 Gres=gpu:2
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 DefaultTime=60
PartitionName=high Nodes=ALL DefMemPerCPU=100 DefaultTime=60
PartitionName=short Nodes=n[01-02] DefMemPerCPU=100 DefaultTime=5
"""
_RECORDED = (Path(__file__).parent / "recorded" / "test_only.txt").read_text()
_CASES = [
    (*head.split(" ", 1), [line for line in lines if not line.startswith("rc=")], int(lines[-1].removeprefix("rc=")))
    for head, *lines in (block.splitlines() for block in re.split(r"(?m)^##### ", _RECORDED)[1:])
]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("test-only"), _CONF) as found:
        (found.directory / "b.sh").write_text("#!/bin/bash\nsleep 600\n")
        (found.directory / "in.sh").write_text("#!/bin/bash\nsrun --test-only true; sbatch --test-only b.sh\n")
        yield found


@pytest.fixture(scope="module", params=["idle", "full", "drained"])
def state(cluster: LiveCluster, request: pytest.FixtureRequest) -> str:
    """The state of the cluster, as in the recording."""
    found = str(request.param)
    if found == "full":
        cluster.submit("-N4", "-n16", "-t", "30", "b.sh")
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R").stdout)
    elif found == "drained":
        cluster.run("scancel", "-u", "root")
        cluster.run("scontrol", "update", "nodename=n01", "state=drain", "reason=x")
    return found


def _comparable(text: str, now: float) -> list[str]:
    """Replace ids, and times by the quarters of an hour that they are ahead."""

    def ahead(match: re.Match[str]) -> str:
        return str(round((datetime.fromisoformat(match[0]).timestamp() - now) / 900))

    return [_MOMENT.sub(ahead, re.sub(r"(?<=Job )\d+", "N", line)) for line in text.splitlines()]


#: The moment of the recording.
_THEN = datetime.fromisoformat(_MOMENT.findall(_RECORDED)[0]).timestamp()


def _queue(cluster: LiveCluster) -> str:
    """Give the jobs that wait or run, without those that may be gone in a moment."""
    return cluster.run("squeue", "-h", "-t", "PD,R", "-o", "%i %T").stdout


def test_as_recorded(cluster: LiveCluster, state: str) -> None:
    before = _queue(cluster)
    for when, command, lines, status in _CASES:
        if when == state:
            done = cluster.run("bash", "-c", command, check=False)
            recorded = _comparable("\n".join(line.partition("| ")[2] for line in lines), _THEN)
            found = _comparable(done.stdout + done.stderr, time.time())
            assert [line for line in found if line in recorded] == recorded, command
            assert len(found) == len(recorded) or status, command
            assert done.returncode == status, command
    assert _queue(cluster) == before


def test_it_takes_no_job_id_and_leaves_no_trace(cluster: LiveCluster) -> None:
    first = cluster.submit("-H", "--wrap", "true")
    for _ in range(2):
        said = cluster.run("sbatch", "--test-only", "-a", "1-9", "--wrap", "true").stderr
        assert f"Job {first + 1} to start" in said
    assert cluster.submit("-H", "--wrap", "true") == first + 1
    assert cluster.run("sacct", "-a", "-X", "-n", "-o", "JobID", "-j", str(first + 2)).stdout == ""
    cluster.run("scancel", str(first), str(first + 1))


def test_it_comes_after_those_that_wait(cluster: LiveCluster) -> None:
    """Slurm asks running jobs only; see docs/differences.md."""
    jobs = [cluster.submit("-w", "n02", "--exclusive", "-t", str(limit), "b.sh") for limit in (30, 60)]
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R").stdout)
    done = cluster.run("sbatch", "--test-only", "-w", "n02", "b.sh")
    assert " at 6 using 1 processors on nodes n02 " in _comparable(done.stderr, time.time())[0]
    cluster.run("scancel", *map(str, jobs))
