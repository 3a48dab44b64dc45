"""What a workload does not tell of its jobs is said where it makes a difference, with the consequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.model import InputError
from rota.replays import Scenario, replay

if TYPE_CHECKING:
    from pathlib import Path

SIZES = "JobID|Submit|Start|End|State|ReqCPUS|AllocCPUS|NNodes"
PLAIN = "NodeName=n[1-2] CPUs=8\nPartitionName=main Nodes=ALL Default=YES\n"
#: The machine, and what is said then; with the column nothing is.
CASES = {
    "GPUs": (f"GresTypes=gpu\nNodeName=g1 CPUs=8 Gres=gpu:2\n{PLAIN}", "no job asks for GRES", "ReqTRES"),
    "memory": (
        f"SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n{PLAIN}",
        "the default memory",
        "ReqMem",
    ),
    "features": (f"NodeName=f1 CPUs=8 Feature=ib\n{PLAIN}", "nodes of any features", "Constraints"),
    "partitions": (f"{PLAIN}PartitionName=other Nodes=ALL\n", "every job is in the default partition", "Partition"),
    "limits": (PLAIN.replace("=YES", "=YES MaxTime=1-0"), "the time limit of its partition", "Timelimit"),
}


def doubts(folder: Path, conf: str, *columns: str, without: int = 0) -> list[str]:
    """Replay a file of sacct with some empty columns more, and without the last of the others."""
    log = folder / "log.txt"
    rows = [SIZES.split("|"), *(f"{one}|1790856000|1790856000|1790856060|COMPLETED|4|4|1".split("|") for one in (1, 2))]
    more = [columns, *[("",) * len(columns)] * 2]
    log.write_text(
        "".join("|".join([*row[: len(row) - without], *add]) + "\n" for row, add in zip(rows, more, strict=True))
    )
    (folder / "slurm.conf").write_text(conf)
    told: list[str] = []
    replay(Scenario.from_files(log, folder / "slurm.conf", report=told.append))
    return [one for one in told if "does not tell all" in one]


@pytest.mark.parametrize("name", CASES)
def test_it_is_said_where_it_counts(name: str, tmp_path: Path) -> None:
    conf, consequence, column = CASES[name]
    (told,) = doubts(tmp_path, conf)
    assert consequence in told
    assert column in told
    assert consequence not in "".join(doubts(tmp_path, conf, column))
    assert doubts(tmp_path, PLAIN) == [], "on a machine on which all are alike nothing is missing"


def test_a_strict_replay_ends_with_it(tmp_path: Path) -> None:
    doubts(tmp_path, PLAIN)
    (tmp_path / "slurm.conf").write_text(f"{PLAIN}PartitionName=other Nodes=ALL\n")
    with pytest.raises(InputError, match="does not tell all"):
        replay(Scenario.from_files(tmp_path / "log.txt", tmp_path / "slurm.conf", strict=True, report=str))


def test_what_jobs_were_given(tmp_path: Path) -> None:
    """Without it one that had a node of its own is taken as one of a few processors."""
    (told,) = doubts(tmp_path, PLAIN, without=2)
    assert "jobs that had whole nodes (--exclusive) ask for what they named alone (AllocTRES)" in told
    assert "jobs may be spread over more nodes than they had (AllocTRES or NNodes)" in told
    assert doubts(tmp_path, PLAIN, "AllocTRES", without=2) == []
    (told,) = doubts(tmp_path, PLAIN, without=1)
    assert "whole nodes" not in told
    one_node = "SelectType=select/linear\nNodeName=n1 CPUs=8\nPartitionName=main Nodes=ALL Default=YES\n"
    assert doubts(tmp_path, one_node, without=2) == []
