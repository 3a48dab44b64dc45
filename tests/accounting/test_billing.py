"""What jobs are billed for: the example of Slurm's page on TRES and multifactor priorities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.inspect.view import EngineView
from rota.listings.run import run
from rota.model.tres import billable, cluster_tres, gres_counts, parse_tres_weights
from rota.testing import Harness

if TYPE_CHECKING:
    from pathlib import Path

#: The page's nodes have 16 CPUs and 64 GB.
TRES = cluster_tres("gres/gpu, GRES/gpu:a100,license/matlab")
WEIGHTS = "CPU=1.0,Mem=0.25G"


def _billed(weights: str, largest: str = "", /, **counts: float) -> float:
    named = {name.replace("_", "/"): count for name, count in counts.items()}
    return billable([named.get(name, 0.0) for name in TRES], TRES, parse_tres_weights(weights, TRES), largest)


@pytest.mark.parametrize(
    ("cpus", "gigabytes", "largest", "billed"),
    [
        (1, 60, "", 16.0),
        (16, 1, "", 16.25),
        (16, 60, "", 31.0),
        (1, 60, "MAX_TRES", 15.0),
        (16, 60, "MAX_TRES", 16.0),
        # By the rule; the page's own figure for this row contradicts it.
        (16, 1, "MAX_TRES", 16.0),
        (1, 60, "MAX_TRES_GRES", 15.0),
    ],
)
def test_the_pages_example(cpus: int, gigabytes: int, largest: str, billed: float) -> None:
    assert _billed(WEIGHTS, largest, cpu=cpus, mem=gigabytes * 1024) == billed


def test_without_weights_processors_are_billed() -> None:
    assert _billed("", "MAX_TRES", cpu=3, mem=10**6, node=2) == 3


def test_with_max_tres_what_no_node_holds_is_added() -> None:
    """MAX_TRES takes the largest of CPUs, memory, nodes and GRES and adds the rest: 8 (GRES) + 5 (licences)."""
    weights = "CPU=1,Mem=0.25G,GRES/gpu=2,License/matlab=5"
    counts = {"cpu": 4.0, "mem": 8192.0, "gres_gpu": 4.0, "license_matlab": 1.0}
    assert _billed(weights, "MAX_TRES", **counts) == 13.0
    assert _billed(weights, **counts) == 4 + 2 + 8 + 5


def test_with_max_tres_gres_all_gres_are_added() -> None:
    """The largest of CPUs, memory and nodes is 4; GRES come to 8 + 1, licences to 5."""
    weights = "CPU=1,Mem=0.25G,GRES/gpu=2,GRES/gpu:a100=0.5,License/matlab=5"
    counts = {"cpu": 4.0, "mem": 8192.0, "gres_gpu": 4.0, "license_matlab": 1.0, "gres_gpu:a100": 2.0}
    assert _billed(weights, "MAX_TRES_GRES", **counts) == 4 + 8 + 1 + 5


@pytest.mark.parametrize(
    ("text", "per_mebibyte"),
    [("Mem=1", 1.0), ("mem=1M", 1.0), ("Mem=1.0G", 2**-10), ("MEM=1T", 2**-20), ("Mem=1P", 2**-30), ("Mem=1K", 1024)],
)
def test_memory_is_weighted_for_each_unit_and_counted_in_mebibytes(text: str, per_mebibyte: float) -> None:
    assert parse_tres_weights(text, TRES) == {"mem": per_mebibyte}


def test_weights_come_in_the_order_of_the_tres_and_may_be_negative() -> None:
    weights = parse_tres_weights(" GRES/gpu=-1.5, CPU=.5 ,Node=1e2,", TRES)
    assert list(weights.items()) == [("cpu", 0.5), ("node", 100.0), ("gres/gpu", -1.5)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CPU", "'CPU' is not TRES=weight"),
        ("CPU=one", "'CPU=one' is not TRES=weight"),
        ("CPU=1G", "'CPU=1G': only memory has units"),
        ("GRES/tpu=1", "'GRES/tpu' is no TRES of this cluster"),
    ],
)
def test_weights_that_cannot_be_used(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_tres_weights(text, TRES)


def test_a_clusters_tres_are_slurms_own_and_then_those_that_are_added() -> None:
    assert TRES[:2] == ("cpu", "mem")
    assert TRES[8:] == ("gres/gpu", "gres/gpu:a100", "license/matlab")
    assert cluster_tres("cpu,gres/gpu,gres/gpu") == (*TRES[:8], "gres/gpu")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("gpu", {"gpu": 1}),
        ("gpu:2", {"gpu": 2}),
        ("gpu:a100:2,gpu:v100,shard:1k", {"gpu": 3, "gpu:a100": 2, "gpu:v100": 1, "shard": 1024}),
        ("gpu:tesla:2(S:0-1)", {"gpu": 2, "gpu:tesla": 2}),
        ("", {}),
    ],
)
def test_gres_of_a_type_count_for_their_kind_too(text: str, counts: dict[str, int]) -> None:
    assert gres_counts(text) == counts


@pytest.mark.parametrize("text", ["gpu:a:b:2", ":2", "gpu:2x"])
def test_gres_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        gres_counts(text)


#: Three nodes and their partitions, and what `scontrol show node` of Slurm 22.05.8 printed for each.
CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=n[01-03] CPUs=4 RealMemory=8000 Gres=gpu:2
PartitionName=debug Nodes=ALL Default=YES
PartitionName=bill Nodes=n[01-02] TRESBillingWeights="CPU=2,Mem=1G"
PartitionName=bil2 Nodes=n02 TRESBillingWeights="CPU=10"
PartitionName=bil3 Nodes=n[02-03] TRESBillingWeights="cpu=0.5"
"""
PRINTED = {"n01": 15, "n02": 40, "n03": 2}


def test_a_node_is_billed_as_by_its_dearest_partition(tmp_path: Path) -> None:
    """Partitions without weights do not count where another one has some."""
    (tmp_path / "slurm.conf").write_text(CONF)
    with Harness(read_slurm_conf(tmp_path / "slurm.conf").config) as rota:
        printed = run(["scontrol", "show", "node", "-o"], {}, EngineView(rota.engine.view)).out
        assert {line.split()[0]: re.findall(r"CfgTRES=(\S+)", line) for line in printed.splitlines()} == {
            f"NodeName={name}": [f"cpu=4,mem=8000M,billing={billing},gres/gpu=2"] for name, billing in PRINTED.items()
        }


def test_a_whole_node_with_gpus_is_billed_for_these(tmp_path: Path) -> None:
    """The same with one partition more: 4 · 643.75 + 7.8125 · 81.1 + 2 · 5150."""
    weights = "CPU=643.75,Mem=81.10G,GRES/gpu=5150"
    tracked = "AccountingStorageTRES=gres/gpu\n"
    (tmp_path / "slurm.conf").write_text(f"{tracked}{CONF}PartitionName=x Nodes=n01 TRESBillingWeights={weights}\n")
    with Harness(read_slurm_conf(tmp_path / "slurm.conf").config) as rota:
        assert "billing=13508," in run(["scontrol", "show", "node", "n01"], {}, EngineView(rota.engine.view)).out
