"""Spellings of values that a real Slurm 22.05.8 takes, and what it makes of them, as `scontrol show config` said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.config.doubts import unmodelled
from rota.core.settings import Settings
from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rota.model import ClusterConfig

NODES = "NodeName=n1 CPUs=4\nPartitionName=main Nodes=n1 Default=YES\n"
#: As recorded; with ``x`` slurmctld ends: Bad EnforcePartLimits.
ENFORCE = {
    **dict.fromkeys(("1", "UP", "YES", "TRUE", "any", "yes"), "ANY"),
    **dict.fromkeys(("0", "DOWN", "no", "FALSE"), "NO"),
    "all": "ALL",
}


def conf_of(folder: Path, text: str) -> ClusterConfig:
    (folder / "slurm.conf").write_text(text)
    return read_slurm_conf(folder / "slurm.conf").config


@pytest.mark.parametrize("word", ENFORCE)
def test_limits_of_partitions(word: str, tmp_path: Path) -> None:
    config = conf_of(tmp_path, f"EnforcePartLimits={word}\n{NODES}")
    assert Settings.read(config).partition_limits == ENFORCE[word]


def test_limits_of_partitions_that_are_none(tmp_path: Path) -> None:
    config = conf_of(tmp_path, f"EnforcePartLimits=x\n{NODES}")
    with pytest.raises(InputError, match="'X' is none of NO, ANY, ALL"):
        Settings.read(config)


def test_a_list_of_texts_in_quotes(tmp_path: Path) -> None:
    """Slurm 22.05.8 shows it with its quotes."""
    assert conf_of(tmp_path, f'AuthInfo="a=1","b=2"\n{NODES}').get("AuthInfo") == '"a=1","b=2"'
    assert conf_of(tmp_path, f'AuthInfo="a=1 b"\n{NODES}').get("AuthInfo") == "a=1 b"


@pytest.mark.parametrize("mode", ["OFF", "CANCEL", "REQUEUE", "off"])
def test_a_partitions_own_preempt_mode_is_no_doubt(mode: str, tmp_path: Path) -> None:
    own = NODES.replace("=YES", f"=YES PreemptMode={mode}")
    config = conf_of(tmp_path, f"PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n{own}")
    plugins = ("sched/backfill", "priority/basic", "select/cons_tres")
    assert [one for one in unmodelled(config, plugins, {"normal"}) if "PreemptMode" in one] == []
    hidden = conf_of(tmp_path, NODES.replace("=YES", "=YES Hidden=YES DisableRootJobs=1 ExclusiveUser=no"))
    told = " ".join(unmodelled(hidden, plugins, {"normal"}))
    assert "DisableRootJobs is not modelled" in told
    assert "ExclusiveUser" not in told


def test_thousands_of_memory(tmp_path: Path) -> None:
    """Slurm 22.05.8 takes K where it keeps 32 bits or more, and no other unit."""
    text = "NodeName=n1 CPUs=4 RealMemory=10K Weight=2k\nPartitionName=main Nodes=n1 Default=YES\n"
    (node,) = conf_of(tmp_path, text).nodes
    assert (node.real_memory, node.weight) == (10240, 2048)


@pytest.mark.parametrize("words", ["CPUs=1K", "RealMemory=10M", "RealMemory=K"])
def test_other_units_are_refused(words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a whole number"):
        conf_of(tmp_path, f"NodeName=n1 {words}\nPartitionName=main Nodes=n1 Default=YES\n")
