"""``scontrol show topology``, as Slurm 22.05.8 printed it of a cluster with this topology.conf (2026-11-23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.inspect.view import EngineView
from rota.listings.run import run
from rota.testing import Harness

if TYPE_CHECKING:
    from pathlib import Path

CONF = """\
SelectType=select/cons_tres
TopologyPlugin=topology/tree
NodeName=n[1-12] CPUs=4
PartitionName=debug Nodes=ALL Default=YES
"""
TOPOLOGY = """\
SwitchName=top Switches=u,v
SwitchName=v Switches=d,c
SwitchName=u Switches=b,a
SwitchName=d Nodes=n[1,5,9]
SwitchName=c Nodes=n[2,6,10]
SwitchName=b Nodes=n[3,7,11]
SwitchName=a Nodes=n[4,8]
"""
EVERY = """\
SwitchName=top Level=2 LinkSpeed=1 Nodes=n[1-11] Switches=u,v
SwitchName=v Level=1 LinkSpeed=1 Nodes=n[1-2,5-6,9-10] Switches=d,c
SwitchName=u Level=1 LinkSpeed=1 Nodes=n[3-4,7-8,11] Switches=b,a
SwitchName=d Level=0 LinkSpeed=1 Nodes=n[1,5,9]
SwitchName=c Level=0 LinkSpeed=1 Nodes=n[2,6,10]
SwitchName=b Level=0 LinkSpeed=1 Nodes=n[3,7,11]
SwitchName=a Level=0 LinkSpeed=1 Nodes=n[4,8]
"""


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ((), EVERY.splitlines()),
        (("d",), EVERY.splitlines()[3:4]),
        (("v",), EVERY.splitlines()[1:2]),
        (("n3",), [EVERY.splitlines()[place] for place in (0, 2, 5)]),
    ],
)
def test_switches_are_shown_as_by_slurm(name: tuple[str, ...], shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    with Harness(read_slurm_conf(tmp_path / "slurm.conf").config) as rota:
        view = EngineView(rota.engine.view)
        assert run(["scontrol", "show", "topology", *name], {}, view).out.splitlines() == shown
        missing = run(["scontrol", "show", "topology", "nosuch"], {}, view)
        assert missing.err == "scontrol: error: Topology information contains no switch or node named nosuch\n"
