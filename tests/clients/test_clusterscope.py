"""clusterscope: what a cluster has, and what a job of it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Program

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=n[1-2] CPUs=4 RealMemory=4000
NodeName=g[1-2] CPUs=8 RealMemory=8000 Gres=gpu:a100:2
PartitionName=cpu Nodes=n[1-2] Default=YES
PartitionName=gpu Nodes=g[1-2]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, _CONF) as cluster:
        yield cluster


def test_what_there_is(program: Program) -> None:
    *facts, need, one, two, three, four = program("clusterscope", "clusterscope_facts.py").stdout.splitlines()
    assert facts == [
        "('cpu', 4) ('gpu', 8)",
        "('cpu', 4000) ('gpu', 8000)",
        "('gpu', 'a100', 2)",
        "('cpu', 4, 0) ('gpu', 8, 2)",
        "True False",
    ]
    # Each of two tasks gets half of the processors of a GPU, and all memory is 7 GB of 1024 MB.
    expected = "--cpus-per-task=2 --mem=7G --ntasks-per-node=2 --partition=gpu --nodes=2 --gpus-per-task=1"
    assert need == expected
    assert sorted([one, two, three, four]) == [f"{rank} {rank % 2} 4 g1" for rank in range(4)]


def test_command_line(program: Program) -> None:
    assert program("clusterscope", "cscope", "cpus", "--partition", "gpu").stdout.splitlines()[1:] == ["8, gpu"]
    words = ("job-gen", "task", "slurm", "--partition=cpu", "--cpus-per-task=2", "--format=slurm_cli")
    expected = "--cpus-per-task=2 --mem=1G --ntasks-per-node=1 --partition=cpu --nodes=1\n"
    assert program("clusterscope", "cscope", *words).stdout == expected
