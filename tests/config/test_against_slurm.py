"""What rota reads from a slurm.conf, against what a real Slurm 22.05 printed for the same file (see data/README.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.config.hostlist import expand
from rota.config.lines import Line
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from rota.model import Partition

DATA = Path(__file__).parent / "data"
CASES = ("partitions", "topology", "syntax", "forms")
STATES = {"UP": "UNKNOWN", "DRAIN": "UNKNOWN+DRAIN", "DOWN": "DOWN"}


def _printed(case: str, kind: str) -> dict[str, dict[str, str]]:
    """Read scontrol's lines of one kind, by name."""
    lines = (DATA / f"{case}.scontrol.txt").read_text().splitlines()
    records = [dict(word.split("=", 1) for word in line.split()) for line in lines if line.startswith(kind)]
    return {record[kind]: record for record in records}


@pytest.mark.parametrize("case", CASES)
def test_nodes_are_those_that_slurm_has_in_its_order(case: str) -> None:
    nodes = read_slurm_conf(DATA / f"{case}.conf").config.nodes
    printed = _printed(case, "NodeName")
    assert [node.name for node in nodes] == list(printed)
    for node in nodes:
        expected = printed[node.name]
        assert node.cpus == int(expected["CPUTot"]), node
        assert node.sockets == int(expected["Sockets"]), node
        assert node.cores_per_socket == int(expected["CoresPerSocket"]), node
        assert node.threads_per_core == int(expected["ThreadsPerCore"]), node
        assert node.real_memory == int(expected["RealMemory"]), node
        assert node.weight == int(expected["Weight"]), node
        assert (",".join(node.features) or "(null)") == expected["AvailableFeatures"], node
        assert (",".join(node.gres) or "(null)") == expected["Gres"], node
        assert expected["State"] == STATES[node.state.value], node


@pytest.mark.parametrize("case", CASES)
def test_partitions_are_those_that_slurm_has(case: str) -> None:
    config = read_slurm_conf(DATA / f"{case}.conf").config
    printed = _printed(case, "PartitionName")
    assert {part.name for part in config.partitions} == set(printed)
    for part in config.partitions:
        expected = printed[part.name]
        here = {node.name for i, node in enumerate(config.nodes) if part.nodes >> i & 1}
        assert here == set(expand(expected["Nodes"], Line(DATA, 0, ()), "Nodes")), part
        assert ",".join(part.node_sets) == expected.get("NodeSets", ""), part
        assert _limits(part) == (
            expected["State"],
            expected["Default"] == "YES",
            parse_time_seconds(expected["MaxTime"]),
            None if expected["DefaultTime"] == "NONE" else parse_time_seconds(expected["DefaultTime"]),
            int(expected["MinNodes"]),
            None if expected["MaxNodes"] == "UNLIMITED" else int(expected["MaxNodes"]),
            int(expected["PriorityTier"]),
            int(expected["PriorityJobFactor"]),
        ), part.name


def _limits(part: Partition) -> tuple[object, ...]:
    return (
        part.state.value,
        part.default,
        part.max_time,
        part.default_time,
        part.min_nodes,
        part.max_nodes,
        part.priority_tier,
        part.priority_job_factor,
    )


def test_a_repeated_key_is_warned_about_as_slurm_does() -> None:
    loaded = read_slurm_conf(DATA / "syntax.conf")
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [
        "KillWait: set more than once; the last value counts"
    ]
    assert loaded.config.get("killwait") == "20"


def test_continued_and_escaped_values_are_those_that_slurm_has() -> None:
    config = read_slurm_conf(DATA / "forms.conf").config
    # `scontrol show config` printed these.
    assert config.get("SchedulerParameters") == "bf_continue,bf_window=100"
    assert config.get("Licenses") == "a#b"
