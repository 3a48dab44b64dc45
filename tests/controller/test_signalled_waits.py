"""What ``srun`` and ``salloc`` say that wait for their job when a signal or ``scancel`` ends them, as in Slurm 22.05.8.

Which of its two lines `srun` says is a matter of milliseconds in Slurm; here it says both.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = "NodeName=n1 CPUs=2\nPartitionName=debug Nodes=ALL Default=YES\n"
_QUEUED = {
    "srun": "srun: job {0} queued and waiting for resources\n",
    "salloc": "salloc: Pending job allocation {0}\nsalloc: job {0} queued and waiting for resources\n",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("signals"), _CONF) as found:
        found.submit("-o", "/dev/null", "--exclusive", "--wrap", "sleep 600")
        yield found


def _waiting(cluster: LiveCluster, command: str, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a command that waits; give its process, and the id of its job."""
    words = [str(cluster.state / "bin" / command), *options, "-J", "waits", "true"]
    environment = {**os.environ, **cluster.environment}
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    cluster.wait(lambda: _jobs(cluster))
    return process, _jobs(cluster)


def _jobs(cluster: LiveCluster) -> str:
    return cluster.run("squeue", "-h", "-n", "waits", "-t", "PD", "-o", "%i").stdout.strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("srun", "srun: Job allocation {0} has been revoked\nsrun: Force Terminated JobId={0}\n"),
        ("salloc", "salloc: Job aborted due to signal\n"),
    ],
)
def test_a_signal(cluster: LiveCluster, command: str, said: str, number: signal.Signals) -> None:
    process, job = _waiting(cluster, command)
    process.send_signal(number)
    assert process.communicate(timeout=30)[0] == (_QUEUED[command] + said).format(job)
    assert process.returncode == 1
    cluster.wait(lambda: not _jobs(cluster))


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_nobody_reads_what_it_says(cluster: LiveCluster, command: str) -> None:
    process, _ = _waiting(cluster, command)
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 1
    cluster.wait(lambda: not _jobs(cluster))


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_a_quiet_command_says_nothing(cluster: LiveCluster, command: str) -> None:
    process, _ = _waiting(cluster, command, "-Q")
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=30)[0], process.returncode) == ("", 1)
    cluster.wait(lambda: not _jobs(cluster))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("srun", "srun: Job has been cancelled\nsrun: error: Unable to allocate resources: {}\n"),
        (
            "salloc",
            (
                "salloc: Job has been cancelled\nsalloc: Job allocation {job} has been revoked.\n"
                "salloc: error: Job submit/allocate failed: {}\n"
            ),
        ),
    ],
)
def test_scancel(cluster: LiveCluster, command: str, said: str) -> None:
    process, job = _waiting(cluster, command)
    cluster.run("scancel", job)
    over = "Job/step already completing or completed"
    assert process.communicate(timeout=30)[0] == _QUEUED[command].format(job) + said.format(over, job=job)
    assert process.returncode == 1
