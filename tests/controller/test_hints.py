"""What ``srun`` and ``salloc`` say of a job that has to wait, besides that: as Slurm 22.05.8 did on such a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from controller.direct import call
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageEnforce=associations,limits,qos
Licenses=lic:4
NodeName=n[01-04] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=n[01-03] Default=YES DefaultTime=60
PartitionName=short Nodes=ALL MaxTime=10 MaxNodes=1
PartitionName=down Nodes=n01 State=DOWN
"""
_NOT_IN_PARTITION = "Requested partition configuration not available now"
_NOT_THERE = "Required node not available (down, drained or reserved)"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of which one node is in use, one drained, and one reserved from an hour on."""
    with LiveCluster(tmp_path_factory.mktemp("hints"), _CONF) as found:
        found.run("sacctmgr", "-i", "add", "qos", "brief", "MaxWall=5")
        found.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=brief")
        words = ("StartTime=now+1hour", "Duration=60", "Nodes=n03", "Users=root", "ReservationName=later")
        found.run("scontrol", "create", "reservation", *words)
        found.run("scontrol", "update", "NodeName=n02", "State=DRAIN", "Reason=test")
        found.submit("-w", "n01", "-n4", "-L", "lic:3", "-o", "/dev/null", "--wrap", "sleep 1000")
        found.wait(lambda: found.run("squeue", "-h", "-t", "R").stdout)
        yield found


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("-H", "Job is in held state, pending scheduler release"),
        ("-p short -t 20", _NOT_IN_PARTITION),
        ("-p short -N2", _NOT_IN_PARTITION),
        ("-N9", _NOT_IN_PARTITION),
        ("-p down", "Partition in DOWN state"),
        ("--reservation=later", "Requested reservation not usable now"),
        ("-w n02", _NOT_THERE),
        ("-w n03 -t 120", _NOT_THERE),
        ("-w n01", ""),
        ("-L lic:2", ""),
        ("--begin=now+60", ""),
        ("--qos=brief -t 10", ""),
        ("-d singleton -J wrap", ""),
    ],
)
def test_a_job_that_waits(cluster: LiveCluster, words: str, hint: str) -> None:
    srun = call(cluster, ["srun", *words.split(), "true"], {})
    salloc = call(cluster, ["salloc", *words.split(), "true"], {})
    assert srun.status == salloc.status == "waits"
    assert [line for line in srun.text.splitlines() if "queued" not in line] == ([f"srun: {hint}"] if hint else [])
    assert salloc.text.startswith(f"salloc: {hint}\nsalloc: Pending" if hint else "salloc: Pending")
    batch = cluster.run("sbatch", *words.split(), "-o", "/dev/null", "--wrap", "true")
    assert batch.stderr == ""
    cluster.run("scancel", "-t", "PD", "-u", "root")
