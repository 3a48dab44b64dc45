"""topology.conf: what is read, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf, with_settings
from rota.model import InputError, Switch

if TYPE_CHECKING:
    from pathlib import Path

CONF = "TopologyPlugin=topology/tree\nNodeName=n[1-4]\nPartitionName=debug Nodes=ALL\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return path


def test_switches_are_read_in_the_order_of_their_lines(conf: Path) -> None:
    (conf.parent / "topology.conf").write_text(
        "# leaves\nSwitchName=top Switches=s[0-1]\nswitchname=s0 nodes=n[1-2] LinkSpeed=100\nSwitchName=s1 Nodes=n3\n"
    )
    loaded = read_slurm_conf(conf)
    assert loaded.config.switches == (
        Switch("top", switches=("s0", "s1")),
        Switch("s0", ("n1", "n2"), link_speed=100),
        Switch("s1", ("n3",)),
    )
    assert loaded.files[-1].name == "topology.conf"
    assert loaded.config.has_tree()
    changed = with_settings(loaded.config, ["SchedulerTimeSlice=10"]).config
    assert changed.switches == loaded.config.switches
    assert not with_settings(loaded.config, ["TopologyPlugin=topology/none"]).config.has_tree()
    assert not with_settings(loaded.config, ["TopologyParam=Dragonfly"]).config.has_tree()


def test_nodes_that_there_are_not_or_are_on_two_switches_are_told(conf: Path) -> None:
    path = conf.parent / "topology.conf"
    path.write_text("SwitchName=a Nodes=n[1-2,8-9]\nSwitchName=b Nodes=n[2-3]\n")
    loaded = read_slurm_conf(conf)
    assert loaded.config.switches == (Switch("a", ("n1", "n2")), Switch("b", ("n3",)))
    assert loaded.warnings == (
        f"{path}:1: Nodes: there are no nodes n[8-9]",
        f"{path}:2: Nodes: n2 are on another switch already, and stay there",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SwitchName=a Nodes=n1 Swiches=b\n", "1: Swiches: no key of topology.conf; did you mean Switches?"),
        ("Nodes=n1\n", "1: Nodes: has no SwitchName"),
        ("SwitchName=a\n", "1: SwitchName: switch a needs either Nodes or Switches"),
        ("SwitchName=a Nodes=n1 Switches=b\n", "1: SwitchName: switch a needs either Nodes or Switches"),
        ("SwitchName=a Nodes=n[1-\n", "1: Nodes: 'n[1-' is not a list of nodes"),
        ("SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n", "3: SwitchName: switch a is defined twice"),
        ("SwitchName=a Nodes=n1 Nodes=n2\n", "1: Nodes: set more than once"),
        ("SwitchName=a Nodes=n1 LinkSpeed=fast\n", "1: LinkSpeed: 'fast' is not a whole number"),
        ("SwitchName=leaf1 Nodes=n1\nSwitchName=b Switches=leaf2\n", "2: Switches: there is no switch leaf2; did you"),
        (
            "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n",
            "3: Switches: switch a is below b already",
        ),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "1: Switches: switch a is below itself"),
        ("SwitchName=a Switches=a\n", "1: Switches: switch a is below itself"),
    ],
)
def test_a_wrong_line_is_named(conf: Path, text: str, complaint: str) -> None:
    path = conf.parent / "topology.conf"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_slurm_conf(conf)
    assert str(caught.value).startswith(f"{path}:{complaint}")
