"""``scontrol show config``: names, units and lines as Slurm 22.05.8 prints them, whatever case slurm.conf is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.inspect.view import EngineView
from rota.listings.run import run
from rota.testing import Harness

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = "NodeName=n1 CPUs=4 RealMemory=8000\nPartitionName=all Nodes=ALL Default=YES\n"


def lines_of(folder: Path, text: str) -> dict[str, str]:
    conf = folder / "slurm.conf"
    conf.write_text(text + MACHINE)
    with Harness(read_slurm_conf(conf).config) as rota:
        printed = run(["scontrol", "show", "config"], {}, EngineView(rota.engine.view)).out
    pairs = (line.partition("=") for line in printed.splitlines() if "= " in line)
    return {name.rstrip(): value.strip() for name, _, value in pairs}


@pytest.mark.parametrize("key", ["PriorityWeightAge", "priorityweightage", "PRIORITYWEIGHTAGE"])
def test_keys_have_the_names_that_programs_look_for(key: str, tmp_path: Path) -> None:
    shown = lines_of(tmp_path, f"{key}=1000\nslurmctldtimeout=900\nCompleteWait=30\n")
    assert (shown["PriorityWeightAge"], shown["SlurmctldTimeout"], shown["CompleteWait"]) == (
        "1000",
        "900 sec",
        "30 sec",
    )
    assert not shown.keys() & {"priorityweightage", "slurmctldtimeout", "completewait"}


def test_memory_is_shown_for_a_node_or_for_a_processor(tmp_path: Path) -> None:
    """There is one line of the two."""
    assert lines_of(tmp_path, "")["DefMemPerNode"] == "UNLIMITED"
    shown = lines_of(tmp_path, "DefMemPerCPU=100\n")
    assert shown["DefMemPerCPU"] == "100"
    assert "DefMemPerNode" not in shown
    assert shown["MaxMemPerNode"] == "UNLIMITED"
    shown = lines_of(tmp_path, "MaxMemPerCPU=2000\nDefMemPerNode=500\n")
    assert (shown["DefMemPerNode"], shown["MaxMemPerCPU"]) == ("500", "2000")
    assert "MaxMemPerNode" not in shown


def test_times_are_shown_as_such(tmp_path: Path) -> None:
    times = "PriorityDecayHalfLife=2-0\nPriorityCalcPeriod=5\nPriorityMaxAge=1-12\nPreemptExemptTime=30:00\n"
    shown = lines_of(tmp_path, f"{times}OverTimeLimit=UNLIMITED\nEpilogMsgTime=2000\nResumeRate=300\n")
    assert (shown["PriorityDecayHalfLife"], shown["PriorityMaxAge"]) == ("2-00:00:00", "1-12:00:00")
    assert (shown["PriorityCalcPeriod"], shown["PreemptExemptTime"]) == ("00:05:00", "00:30:00")
    assert (shown["OverTimeLimit"], shown["EpilogMsgTime"]) == ("UNLIMITED", "2000 usec")
    assert shown["ResumeRate"] == "300 nodes/min"
