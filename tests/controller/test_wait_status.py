"""The exit status of ``sbatch --wait``: what Slurm 22.05.8 gave for the same jobs, recorded one by one."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SLEEP = "exec sleep 60"
_TASK = "[ $SLURM_ARRAY_TASK_ID = {} ]"
_TRAP = "trap 'exit {}' TERM; touch ready; sleep 60 & wait"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("wait"), "KillWait=5\n" + virtual_nodes(2)) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--wrap", "exit 7"], 7),
        (["--wrap", "kill -9 $$"], 1),
        (["--wrap", "kill -15 $$"], 1),
        (["--wrap", "exit 137"], 137),
        (["--wrap", "exit 255"], 255),
        (["--wrap", "srun sh -c 'exit 4'"], 4),
        (["--wrap", "srun sh -c 'kill -9 $$'"], 137),
        (["--wrap", "/nosuch/program"], 127),
        (["-D", "/nosuch", "--wrap", "true"], 1),
        (["-o", "/nosuch/x/y", "--wrap", "true"], 1),
        (["-a", "0-2", "--wrap", "exit 0"], 0),
        (["-a", "0-3", "--wrap", f"{_TASK.format(2)} && exit 5; {_TASK.format(1)} && exit 3; exit 0"], 5),
        (["-a", "0-2", "--wrap", f"{_TASK.format(1)} && kill -9 $$; exit 0"], 1),
        (["-a", "0-2", "--wrap", f"{_TASK.format(1)} && kill -9 $$; {_TASK.format(2)} && exit 4; exit 0"], 4),
        (["-t1", "--signal=B:USR1@60", "--wrap", "sleep 100"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_jobs_that_end(cluster: LiveCluster, words: Sequence[str], status: int) -> None:
    assert cluster.run("sbatch", "--wait", *words, check=False).returncode == status


def _jobs(cluster: LiveCluster, job_id: str, state: str) -> bool:
    """Whether a job, or a task, is in a state; one that is requeued is only COMPLETING first."""
    return state in cluster.run("squeue", "-h", "-j", job_id, "-o", "%T").stdout.split()


@pytest.mark.parametrize(
    ("words", "orders", "status"),
    [
        (["-H", "--wrap", "true"], ["scancel {}"], 0),
        (["-a", "0-2", "-H", "--wrap", "true"], ["scancel {}"], 0),
        (["--wrap", _SLEEP], ["runs", "scancel {}"], 1),
        (["--wrap", _SLEEP], ["runs", "scancel -s KILL {}"], 1),
        (["--wrap", _SLEEP], ["runs", "scancel -b -s USR1 {}"], 1),
        (["-a", "0-2", "--wrap", _SLEEP], ["runs", "scancel {}"], 1),
        (["-a", "0-1%1", "--wrap", "sleep 1; exit 6"], ["runs", "scancel {}_1"], 6),
        (["--wrap", _TRAP.format(0)], ["ready", "scancel {}"], 0),
        (["--wrap", _TRAP.format(3)], ["ready", "scancel {}"], 3),
        (
            ["-w", "n2", "--no-requeue", "--wrap", _SLEEP],
            ["runs", "scontrol update nodename=n2 state=down reason=x"],
            0,
        ),
        (["--requeue", "--wrap", f"[ $SLURM_RESTART_COUNT ] || {_SLEEP}; exit 3"], ["runs", "scontrol requeue {}"], 3),
        (["--requeue", "--wrap", _SLEEP], ["runs", "scontrol requeuehold {}", "PENDING", "scancel {}"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_jobs_that_are_ended(cluster: LiveCluster, words: Sequence[str], orders: Sequence[str], status: int) -> None:
    ready = cluster.directory / "ready"
    ready.unlink(missing_ok=True)
    command = ["sbatch", "--wait", "--parsable", "-o", "/dev/null", *words]
    states = {"runs": "RUNNING", "PENDING": "PENDING"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=cluster.environment, cwd=cluster.directory
    ) as waiting:
        assert waiting.stdout is not None
        job_id = waiting.stdout.readline().strip()
        for order in orders:
            if order == "ready":
                cluster.wait(ready.exists)
            elif state := states.get(order):
                cluster.wait(partial(_jobs, cluster, job_id, state))
            else:
                cluster.run(*order.format(job_id).split())
        assert waiting.wait(60) == status
    cluster.run("scontrol", "update", "nodename=n2", "state=resume", check=False)
