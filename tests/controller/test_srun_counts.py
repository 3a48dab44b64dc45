"""How many tasks ``srun`` starts on which nodes, and what it says: its options beside the variables of its job.

``recorded/srun_counts.txt`` is what Slurm 22.05.8 did, made by ``recorded/srun_counts.sh``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""
_HERE = Path(__file__).parent / "recorded"
#: What was recorded, by the options of the job.
_JOBS = re.split(r"\n(?! )", (_HERE / "srun_counts.txt").read_text().rstrip())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("counts"), _CONF) as found:
        yield found


@pytest.mark.parametrize("recorded", _JOBS, ids=[one.partition("\n")[0] for one in _JOBS])
def test_as_recorded(cluster: LiveCluster, recorded: str) -> None:
    found = cluster.run("bash", str(_HERE / "srun_counts.sh"), stdin=f"{recorded}\n").stdout
    assert found.splitlines() == recorded.splitlines()
