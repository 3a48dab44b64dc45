"""What commands say while there is no controller, and how one leaves those that are connected to it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from rota.client.away import PATIENCE
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: As Slurm 22.05.8 printed them while its slurmctld was not running, each with its exit code.
_SAID = {
    "squeue -h -j 1 -o %T": ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
    "squeue -s": ("slurm_get_job_steps error: Unable to contact slurm controller (connect failure)", 1),
    "sinfo": ("slurm_load_partitions: Unable to contact slurm controller (connect failure)", 1),
    "sbatch --wrap true": (
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", 1,
    ),
    "salloc true": (
        "salloc: error: Job submit/allocate failed: Unable to contact slurm controller (connect failure)", 1,
    ),
    "srun true": (
        "srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)", 1,
    ),
    "scancel -u root": ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
    "scontrol show job 1": ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
    "scontrol show step": ("slurm_get_job_steps error: Unable to contact slurm controller (connect failure)", 1),
    "scontrol show node": ("slurm_load_node error: Unable to contact slurm controller (connect failure)", 1),
    "scontrol show partition": (
        "slurm_load_partitions error: Unable to contact slurm controller (connect failure)", 1,
    ),
    "scontrol show reservation": (
        "slurm_load_reservations error: Unable to contact slurm controller (connect failure)", 1,
    ),
    "scontrol show config": ("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)", 1),
    "scontrol reconfigure": ("slurm_reconfigure error: Unable to contact slurm controller (connect failure)", 1),
    "sprio": (
        "Couldn't get priority factors from controller: Unable to contact slurm controller (connect failure)", 255,
    ),
    "sshare": ("Couldn't get shares from controller: Unable to contact slurm controller (connect failure)", 255),
    "sdiag": ("slurm_get_statistics: Unable to contact slurm controller (connect failure)", 255),
}  # fmt: skip
#: So did ``scontrol ping``, with exit code 1.
_PING = """\
Slurmctld(primary) at {host} is DOWN
*****************************************
** RESTORE SLURMCTLD DAEMON TO SERVICE **
*****************************************
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster that has been up, and is not: for so long that no command waits for it to come back."""
    with LiveCluster(tmp_path_factory.mktemp("left"), virtual_nodes(1)) as cluster:
        cluster.rota("down")
        then = time.time() - PATIENCE
        for path in (cluster.state, cluster.state / "lock"):
            os.utime(path, (then, then))
        yield cluster


@pytest.mark.parametrize("words", _SAID)
def test_commands_say_what_slurms_say(left: LiveCluster, words: str) -> None:
    message, code = _SAID[words]
    done = left.run(*words.split(), check=False)
    assert (done.stderr, done.returncode) == (f"{message}: `rota up` starts one\n", code)


def test_ping_says_that_it_is_down(left: LiveCluster) -> None:
    done = left.run("scontrol", "ping", check=False)
    assert (done.stdout, done.returncode) == (_PING.format(host=os.uname().nodename.partition(".")[0]), 1)


def test_those_who_wait_are_no_error_in_its_log(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        cluster.submit("--wrap", "srun sh -c 'touch begun; sleep 1000'")
        cluster.wait((tmp_path / "begun").exists)
        cluster.rota("down")
        assert "error" not in (cluster.state / "controller.log").read_text()
