"""gres.conf: what is read, and what is refused.

What is shown of the nodes is what ``sinfo -o %G`` of Slurm 22.05.8 showed with these lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf, with_settings
from rota.model import InputError
from rota.model.gres import Gpus, gpus_of, shown

if TYPE_CHECKING:
    from pathlib import Path

CONF = """GresTypes=gpu,nic
NodeName=n1 Sockets=2 CoresPerSocket=4 Gres=gpu:a100:2,gpu:v100:2
NodeName=n2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 Gres=gpu:4
NodeName=n3 Sockets=2 CoresPerSocket=4 Gres=gpu:2,nic:1
PartitionName=debug Nodes=ALL
"""
LINES = """# GPUs of two types
NodeName=n1 Name=gpu Type=v100 File=/dev/tty[0-1] Cores=4-7
NodeName=n1 Name=gpu Type=a100 File=/dev/tty[10-11] Cores=0-3
NodeName=n2 Name=gpu File=/dev/tty[2,9] Cores=0-3
NodeName=n2 AutoDetect=off Name=gpu Count=2 Cores=4-7
nodename=n3 name=gpu Type=a100 File=/dev/tty[0-1]
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    (tmp_path / "gres.conf").write_text(LINES)
    return path


def test_gpus_are_near_cores(conf: Path) -> None:
    loaded = read_slurm_conf(conf)
    assert loaded.warnings == ()
    assert loaded.files[-1].name == "gres.conf"
    assert loaded.config.tells_cores_apart()
    one, two, three = loaded.config.nodes
    first, second = (0, 1, 2, 3), (4, 5, 6, 7)
    assert [*gpus_of(one.gres)] == [Gpus("gpu:a100", 2, first), Gpus("gpu:v100", 2, second)]
    assert [*gpus_of(two.gres)] == [Gpus("gpu", 2, first), Gpus("gpu", 2, second)]
    assert three.gres == ("gpu:2", "nic:1")
    assert shown(one) == ("gpu:a100:2(S:0)", "gpu:v100:2(S:1)")
    assert shown(two) == ("gpu:4(S:0-1)",)
    assert shown(three) == ("gpu:2", "nic:1")


def test_they_stay_so_when_settings_are_made(conf: Path) -> None:
    config = read_slurm_conf(conf).config
    changed = with_settings(config, ["NodeName=n2 Weight=7"]).config
    assert [node.gres for node in changed.nodes] == [node.gres for node in config.nodes]


def test_slurm_conf_says_how_many_there_are(conf: Path) -> None:
    (conf.parent / "gres.conf").write_text("Name=gpu Count=3 Cores=0,2-3\nName=nic Cores=1\n")
    loaded = read_slurm_conf(conf)
    cores = (0, 2, 3)
    # Lines without a type are for none of the types that slurm.conf names.
    assert [*gpus_of(loaded.config.nodes[0].gres)] == [Gpus("gpu:a100", 2, ()), Gpus("gpu:v100", 2, ())]
    assert [*gpus_of(loaded.config.nodes[1].gres)] == [Gpus("gpu", 3, cores), Gpus("gpu", 1, ())]
    assert loaded.config.nodes[2].gres == ("gpu:2(C:0+2-3)", "nic:1")
    assert loaded.warnings == (f"{conf.parent}/gres.conf:2: Cores: is modelled of GPUs only, not of nic",)


def test_what_is_not_heeded_is_told(conf: Path) -> None:
    path = conf.parent / "gres.conf"
    path.write_text(
        "AutoDetect=nvml\nNodeName=n[1,8-9] Name=gpu Type=a100 Count=2 Cores=8\nName=mps Count=100\n"
        "NodeName=n2 Name=gpu Count=4 Cores=0-1\n"
    )
    loaded = read_slurm_conf(conf)
    assert loaded.warnings == (
        f"{path}:1: AutoDetect: is not modelled: GPUs are near the cores that Cores says, and else near all",
        f"{path}:2: NodeName: there are no nodes n[8-9]",
        f"{path}:3: Name: GresTypes does not name mps; the line is not heeded",
        f"{path}:2: Cores: node n1 has cores 0 to 7 only: these GPUs are near all",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Name=gpu Core=0\n", "1: Core: no key of gres.conf; did you mean Cores?"),
        ("NodeName=n1 Type=a100\n", "1: NodeName: has no Name"),
        ("Name=gpu Cores=0 cores=1\n", "1: cores: set more than once"),
        ("Name=gpu File=/dev/nvidia[0-3] Count=2\n", "1: Count: '2' is not the number of GPUs, 4"),
        ("Name=gpu Count=two\n", "1: Count: 'two' is not the number of GPUs"),
        ("Name=gpu Cores=0:3\n", "1: Cores: '0:3' is no list of cores such as 0-3,8"),
        ("Name=gpu File=/dev/a MultipleFiles=/dev/b\n", "1: MultipleFiles: File is there too: give one of them"),
    ],
)
def test_what_cannot_be_used_is_refused(conf: Path, text: str, complaint: str) -> None:
    path = conf.parent / "gres.conf"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_slurm_conf(conf)
    assert str(error.value) == f"{path}:{complaint}"
