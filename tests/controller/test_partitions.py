"""Partitions that are changed, created and deleted, beside what Slurm 22.05.8 printed: ``recorded/partitions.sh``."""

from __future__ import annotations

import re
import subprocess
from difflib import ndiff
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.commands.getopt import UsageError
from rota.commands.partition_update import parse_partition
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDED = Path(__file__).parent / "recorded"
_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1
PriorityType=priority/multifactor
PriorityWeightPartition=1000
AccountingStorageEnforce=associations,limits,qos
KillWait=2
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE DefaultTime=60
PartitionName=low Nodes=n[03-04] MaxTime=30 DefaultTime=10 MaxNodes=1 PriorityJobFactor=5
"""


#: Slurm computes what a partition would bill when it restarts, and not when its weights are set.
_BILLING = re.compile(r"billing=\d+(?= TRESBilling)")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o011)  # the script asks as another user, too
    with LiveCluster(tmp_path, _CONF) as found:
        found.run("sacctmgr", "-i", "add", "user", "root", "account=root", check=False)
        found.run("sacctmgr", "-i", "add", "qos", "urgent")
        yield found


def _answers(text: str) -> list[list[str]]:
    return [block.splitlines() for block in re.split(r"(?m)^##### ", _BILLING.sub("billing=#", text))[1:]]


@pytest.mark.parametrize("name", ["a,b", "a b", "a=b", "#a", 'a"', "a\n", "\x1b[31ma", "\u202ea", "x" * 101])
def test_names_that_no_file_could_hold_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no file could hold it"):
        parse_partition([f"partitionname={name}", "nodes=ALL"], create=True)


def test_as_recorded(cluster: LiveCluster) -> None:
    done = subprocess.run(
        ["bash", _RECORDED / "partitions.sh"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    expected = _answers((_RECORDED / "partitions.txt").read_text())
    found = _answers(done.stdout)
    assert len(found) == len(expected), done.stderr
    differs = [(mine, slurms) for mine, slurms in zip(found, expected, strict=True) if mine != slurms]
    assert not differs, "\n".join("\n".join([mine[0], *_words(mine, slurms)]) for mine, slurms in differs)


def _words(mine: list[str], slurms: list[str]) -> Iterator[str]:
    """Say which words differ."""
    one, other = (" ".join(each[1:]).replace(" ", "\n").splitlines() for each in (slurms, mine))
    return (line for line in ndiff(one, other) if line[0] in "+-")
