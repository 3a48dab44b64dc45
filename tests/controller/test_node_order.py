"""The order of nodes in lists: that of ranks where programs read it, that of numbers where people do.

What is expected is what Slurm 22.05.8 said of the same machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n08,n10,n1,n2 CPUs=4 RealMemory=4000
NodeName=n3 CPUs=4 RealMemory=4000 Feature=x
NodeSet=some Nodes=n10,n2
NodeSet=tagged Feature=x
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
PartitionName=short Nodes=some,n08 DefMemPerCPU=100
"""
_RANKS = "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_STEP_NODELIST $SLURM_JOB_NODELIST"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("order"), _CONF) as found:
        yield found


def test_programs_find_the_nodes_in_the_order_of_ranks(cluster: LiveCluster) -> None:
    every = "n[08,1-3,10]"
    lines = sorted(cluster.run("srun", "-N5", "sh", "-c", _RANKS).stdout.splitlines())
    assert lines == [f"{rank} {node} {every} {every}" for rank, node in enumerate(["n08", "n1", "n2", "n3", "n10"])]
    assert cluster.run("sacct", "-nP", "-X", "-o", "nodelist").stdout == f"{every}\n"
    some = sorted(cluster.run("srun", "-N3", "-w", "n10,n08,n3", "sh", "-c", _RANKS).stdout.splitlines())
    assert some == [f"{rank} {node} n[08,3,10] n[08,3,10]" for rank, node in enumerate(["n08", "n3", "n10"])]


def test_people_are_shown_the_nodes_by_number(cluster: LiveCluster) -> None:
    assert cluster.run("sinfo", "-h", "-o", "%P %N").stdout == "debug* n[1-3,08,10]\nshort n[2,08,10]\n"
    assert cluster.run("sinfo", "-h", "-o", "%N").stdout == "n[1-3,08,10]\n"
    assert "Nodes=n[2,08,10]" in cluster.run("scontrol", "show", "partition", "short").stdout
    cluster.run("sbatch", "-N5", "-o", "/dev/null", "--wrap", "sleep 60")
    assert cluster.run("squeue", "-h", "-o", "%N %R").stdout == "n[1-3,08,10] n[1-3,08,10]\n"
    told = cluster.run("scontrol", "-d", "show", "job").stdout
    assert " NodeList=n[1-3,08,10]\n" in told
    assert " Nodes=n[08,1-3,10] CPU_IDs=0 " in told
    assert '"nodes": "n[08,1-3,10]"' in cluster.run("squeue", "--json").stdout
    cluster.run("scontrol", "update", "nodename=n08,n1", "state=drain", "reason=x")
    cluster.run("sbatch", "-H", "-w", "n3,n08,n10", "-o", "/dev/null", "--wrap", "true")
    assert cluster.run("squeue", "-h", "-t", "pd", "-o", "%n").stdout == "n[3,08,10]\n"
    assert cluster.run("sinfo", "-h", "-R", "-o", "%N").stdout == "n[1,08]\n"


def test_hostlists_of_files_keep_their_order(cluster: LiveCluster) -> None:
    file = cluster.directory / "hosts"
    file.write_text("n5\nn3, n4\n\n  n5 n[7-8]\n")
    assert cluster.run("scontrol", "show", "hostlist", str(file)).stdout == "n[5,3-5,7-8]\n"
    assert cluster.run("scontrol", "show", "hostlistsorted", str(file)).stdout == "n[3-5,5,7-8]\n"
    missing = cluster.run("scontrol", "show", "hostlist", "/nowhere", check=False)
    assert (missing.returncode, missing.stderr) == (1, "Can not open /nowhere\n")
    assert cluster.run("scontrol", "show", "hostnames", "n1, n2").stdout == "n1\nn2\n"
    refused = cluster.run("scontrol", "show", "hostlist", "n[1-2]-ib", check=False)
    assert (refused.returncode, refused.stderr) == (1, "Invalid hostlist: n[1-2]-ib\n")


def test_node_sets_stand_for_nodes(cluster: LiveCluster) -> None:
    assert "NodeSets=some\n   Nodes=n[2,08,10]\n" in cluster.run("scontrol", "show", "partition", "short").stdout
    cluster.run("scontrol", "create", "partitionname=new", "nodes=tagged,n1,some")
    assert "NodeSets=some,tagged\n   Nodes=n[1-3,10]\n" in cluster.run("scontrol", "show", "partition", "new").stdout
    cluster.run("scontrol", "update", "partitionname=new", "nodes=n1")
    shown = cluster.run("scontrol", "show", "partition", "new").stdout
    assert "   Nodes=n1\n" in shown
    assert "NodeSets" not in shown
    cluster.run("scontrol", "update", "nodename=tagged,n2", "state=drain", "reason=set")
    assert "n[2-3] set\n" in cluster.run("sinfo", "-h", "-R", "-o", "%N %E").stdout
    refused = cluster.run("scontrol", "update", "partitionname=new", "nodes=none", check=False)
    assert (refused.returncode, refused.stderr) == (1, "slurm_update error: Invalid node name specified\n")
