"""Programs that PyPI has not, or not without a gigabyte beside them: what they call and read."""

from __future__ import annotations

import sys
from getpass import getuser
from typing import TYPE_CHECKING

from .conftest import PROGRAMS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

_COMMAND_RUN = """#!/bin/bash
#SBATCH -J nf-square_(1)
#SBATCH -o {log}
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 2
#SBATCH -t 00:03:00
#SBATCH --mem 100M
#SBATCH -p debug
set -e
set -u
on_exit() {{ exit_status=$?; printf -- $exit_status > .exitcode; exit $exit_status; }}
trap 'on_exit' EXIT
trap 'exit 143' TERM
echo square
{work} & wait $!
"""


def _states(cluster: LiveCluster) -> dict[int, str]:
    """Ask as nextflow does, and read as it does: two columns."""
    listed = cluster.run("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-p", "debug", "-u", getuser()).stdout
    return {int(number): state for number, state in (line.split() for line in listed.splitlines())}


def test_nextflow(cluster: LiveCluster) -> None:
    for folder, work in (("one", "true"), ("two", "sleep 1000"), ("three", "false")):
        (cluster.directory / folder).mkdir()
        log = cluster.directory / folder / ".command.log"
        (cluster.directory / folder / ".command.run").write_text(_COMMAND_RUN.format(log=log, work=work))
        submitted = cluster.run("sh", "-c", f"cd {folder}; sbatch .command.run").stdout
        assert submitted.startswith("Submitted batch job ")
    cluster.wait(lambda: _states(cluster) == {1: "CD", 2: "R", 3: "F"})
    cluster.wait((cluster.directory / "two" / ".command.log").exists)
    cluster.run("scancel", "2")
    cluster.wait(lambda: _states(cluster)[2] == "CA")
    codes = [(cluster.directory / folder / ".exitcode").read_text() for folder in ("one", "two", "three")]
    assert codes == ["0", "143", "1"]


def test_lightning(cluster: LiveCluster) -> None:
    step = f"srun {sys.executable} {PROGRAMS / 'lightning_step.py'} wait"
    options = ["-a", "3", "-N2", "--ntasks-per-node=2", "--signal=SIGUSR1@600", "-t", "20", "-o", "out-%A_%a"]
    cluster.submit(*options, "--open-mode=append", stdin=f"#!/bin/bash\n{step}\n")
    cluster.wait(lambda: len(list(cluster.directory.glob("ready-*"))) == 4)
    cluster.run("scancel", "--signal=USR1", "1_3")
    cluster.idle()
    [record] = cluster.records()
    assert (record["base_state"], record["restart_count"]) == ("COMPLETED", 1)
    said = sorted((cluster.directory / "out-1_3").read_text().splitlines())
    lines = [f"n1 4 {rank} {rank % 2} {rank // 2} 2 2" for rank in range(4)]
    assert [line for line in said if line.startswith("n1")] == sorted([*lines, *lines])
