"""Where scenarios run: a cluster whose commands are on the path, and a folder for the files of jobs."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

from .answers import HERE, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .answers import Key

#: What the real Slurm had beside the lines of ``slurm.conf``.
_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-02] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Gres=gpu:2 Feature=virt
NodeName=n03 CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Gres=gpu:2 Feature=virt,big
NodeName=n04 CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Gres=gpu:2 Feature=virt,big,fast Weight=5
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 PriorityJobFactor=1
PartitionName=high Nodes=ALL MaxTime=60 PriorityJobFactor=10
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
#: Association and QOS of whoever runs the scenarios.
_SETUP = """
sacctmgr -i -Q add account lab
sacctmgr -i -Q add account other
sacctmgr -i -Q add qos small
sacctmgr -i -Q modify qos small set priority=10 maxtresperuser=cpu=2 maxwall=60
sacctmgr -i -Q add qos urgent priority=100
sacctmgr -i -Q add user $(id -un) account=lab
sacctmgr -i -Q add user $(id -un) account=other
sacctmgr -i -Q modify user $(id -un) where account=lab set qos=normal,small,urgent defaultqos=normal
sacctmgr -i -Q modify user $(id -un) set defaultaccount=lab
true
"""
#: Between two scenarios there are no jobs, no reservations, and all nodes are up.
_CLEAR = """
scancel -u $(id -un)
for one in $(scontrol show res | grep -o 'ReservationName=[^ ]*'); do scontrol delete "$one"; done
for p in debug high short low; do
    sinfo -h -p $p -o %a | grep -q '^up' || scontrol update partitionname=$p state=up
done
for n in n01 n02 n03 n04; do
    sinfo -h -N -n $n -o %T | grep -Eq 'drain|down|fail' && scontrol update nodename=$n state=resume
done
for i in $(seq 300); do
    [ -z "$(squeue -h)" ] && [ "$(sinfo -h -N -p debug -t idle -o %N | wc -l)" = 4 ] && exit 0
    sleep 0.1
done
exit 1
"""


class Machine:
    """A cluster.

    Args:
        environment: In which its commands are on the path.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._bash("-c", _SETUP)

    def play(self, scenario: str) -> dict[Key, str]:
        """Run a scenario; give what the cluster told.

        Raises:
            AssertionError: it did not come to its end.
        """
        with tempfile.TemporaryDirectory(prefix="beside-", dir="/tmp") as name:
            folder, told = Path(name), Path(name, "told")
            (folder / "work").mkdir()
            script = HERE / "scenarios" / f"{scenario}.sh"
            self._bash(str(HERE / "steps.sh"), str(script), str(told), cwd=folder / "work")
            self._bash("-c", _CLEAR)
            return read(told.read_text(errors="replace"), _words(folder / "work"))

    def _bash(self, *words: str, cwd: Path | None = None) -> None:
        done = subprocess.run(
            ["bash", *words],
            cwd=cwd,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")


@contextmanager
def live(folder: Path) -> Iterator[Machine]:
    """Give a live cluster of rota's like the one on which was recorded."""
    with LiveCluster(folder, (HERE / "slurm.conf").read_text() + _CONF) as cluster:
        yield Machine(cluster.environment)


def _words(folder: Path) -> dict[str, str]:
    """Give the words for what belongs to this machine."""
    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(os.getegid())
    return {
        str(folder): "DIR",
        f"{user.pw_name}({user.pw_uid})": "USER(UID)",
        f"{group.gr_name}({group.gr_gid})": "USER(UID)",
        user.pw_name: "USER",
        group.gr_name: "USER",
        socket.gethostname().partition(".")[0]: "HOST",
        "localhost": "HOST",
    }
