"""ReFrame: a suite of tests as jobs, whose ends it hears from ``sacct`` or ``squeue``, and the nodes that it finds."""

from __future__ import annotations

import getpass
import json
from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Program

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-2] CPUs=4 RealMemory=4000 Feature=big
NodeName=n[3-4] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES MaxTime=1-0 DefMemPerCPU=100
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """A live cluster with a drained node."""
    with LiveCluster(tmp_path, _CONF) as cluster:
        cluster.run("scontrol", "update", "nodename=n4", "state=drain", "reason=test")
        yield cluster


def _run(program: Program, cluster: LiveCluster, *words: str) -> dict[str, dict[str, Any]]:
    """Run tests; give the report of each on each part of the system."""
    options = ["-r", "--report-file=report.json", *words]
    program("reframe", "reframe_suite.py", *options, environment={"HOME": str(cluster.directory)})
    report = json.loads((cluster.directory / "report.json").read_text())
    return {f"{one['name']} {one['partition']}": one for run in report["runs"] for one in run["testcases"]}


def test_suite(program: Program, cluster: LiveCluster) -> None:
    found = _run(program, cluster, "-x", "Flexible")
    assert {name: one["result"] for name, one in found.items()} == {
        **{f"Tasks {part}": "pass" for part in ("sacct", "squeue", "big", "direct")},
        "Fails sacct": "fail",
        "Array sacct": "pass",
        "Pinned sacct": "pass",
        "Blocked sacct": "fail",
        "Blocked squeue": "fail",
    }
    assert found["Fails sacct"]["fail_reason"] == "sanity error: 3 != 0"
    for name in ("Blocked sacct", "Blocked squeue"):
        assert found[name]["fail_reason"].endswith("due to reason: ReqNodeNotAvail, UnavailableNodes:n4")


def test_nodes_that_are_there(program: Program, cluster: LiveCluster) -> None:
    found = _run(program, cluster, "-n", "Flexible", "--exec-policy=serial")
    nodes = {name: one["job_nodelist"] for name, one in found.items()}
    assert nodes == {"Flexible sacct": ["n1", "n2", "n3"], "Flexible big": ["n1", "n2"]}


def test_nodes_of_a_reservation(program: Program, cluster: LiveCluster) -> None:
    words = ("nodes=n2", "starttime=now", "duration=60", f"users={getpass.getuser()}", "flags=maint")
    cluster.run("scontrol", "create", "reservation", "reservationname=repair", *words)
    options = ("-n", "Flexible", "--system=here:sacct", "--flex-alloc-nodes=avail")
    (reserved,) = _run(program, cluster, *options, "-J", "reservation=repair").values()
    assert reserved["job_nodelist"] == ["n2"]
    (others,) = _run(program, cluster, *options).values()
    assert others["job_nodelist"] == ["n1", "n3"]
