"""Which signals scripts, their children and their steps get: as logged by the same programs in Slurm 22.05.8."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROLES = ("script", "child", "step")
#: Logs the signals that it gets, and ends by SIGKILL alone.
_LOG = """
import os, signal, sys
names = [signal.SIGCONT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGHUP]
signal.pthread_sigmask(signal.SIG_BLOCK, names)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    os.write(log, f"{signal.sigwaitinfo(names).si_signo if os.fstat(log).st_size else 0}\\n".encode())
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("signals"), "KillWait=2\n" + virtual_nodes(4)) as found:
        (found.directory / "log.py").write_text(_LOG)
        yield found


def _signals(cluster: LiveCluster, name: str) -> dict[str, list[int]]:
    logs = {role: cluster.directory / f"{name}-{role}" for role in _ROLES}
    found = {role: [int(line) for line in log.read_text().split()] for role, log in logs.items() if log.exists()}
    return {
        role: sorted(signals) for role, signals in found.items()
    }  # of two that wait, the lower number is taken first


def _start(cluster: LiveCluster, name: str, *options: str) -> str:
    """Start a job whose script, child and step log their signals, all in a file of their own."""
    log = f"{shlex.quote(sys.executable)} log.py {name}"
    script = f"{log}-child & srun {log}-step & exec {log}-script"
    job_id = str(cluster.submit("-o", "/dev/null", *options, "--wrap", script))
    cluster.wait(lambda: [*_signals(cluster, name).values()].count([0]) == len(_ROLES))
    return job_id


_CONT, _TERM, _USR1 = 18, 15, 10
_END = [_TERM, _CONT]


@pytest.mark.parametrize(
    ("command", "script", "child", "step"),
    [
        ("scancel", _END, _END, _END),
        ("scancel -f", _END, _END, _END),
        ("scancel -s KILL", _END, _END, _END),
        ("scancel -s USR1", [], [], [_USR1]),
        ("scancel -s TERM", [], [], [_TERM]),
        ("scancel -s CONT", [], [], [_CONT]),
        ("scancel -b -s USR1", [_USR1], [], []),
        ("scancel -b -s TERM", [_TERM], [], []),
    ],
)
def test_as_logged(cluster: LiveCluster, command: str, script: list[int], child: list[int], step: list[int]) -> None:
    name = command.replace(" ", "_")
    job_id = _start(cluster, name)
    expected = {role: [0, *signals] for role, signals in zip(_ROLES, (script, child, step), strict=True)}
    cluster.run(*command.split(), job_id)
    cluster.wait(lambda: _signals(cluster, name) == expected)
    if script == _END:  # nothing more comes until all are killed
        cluster.wait(lambda: job_id not in cluster.run("squeue", "-h", "-t", "R,CG", "-o", "%i").stdout.split())
        assert _signals(cluster, name) == expected
    cluster.run("scancel", job_id)


@pytest.mark.slow  # the least that a signal comes before the end of a minute
def test_a_warning_makes_go_on_what_is_stopped(cluster: LiveCluster) -> None:
    warned = [0, _USR1, _CONT]
    jobs = {
        "steps": ("--signal=USR1@50", {"script": [0], "child": [0], "step": warned}),
        "batch": ("--signal=B:USR1@50", {"script": warned, "child": [0], "step": [0]}),
    }
    ids = [_start(cluster, name, "-t1", option) for name, (option, _) in jobs.items()]
    cluster.wait(lambda: all(_signals(cluster, name) == expected for name, (_, expected) in jobs.items()))
    cluster.run("scancel", *ids)


def test_tasks_have_kill_wait_while_their_script_runs(cluster: LiveCluster) -> None:
    task = "trap 'sleep 0.5; echo saved >saved; exit' TERM; echo >there; while :; do sleep 0.05; done"
    script = f"trap : TERM; srun bash -c {shlex.quote(task)}; echo after"
    job_id = cluster.submit("-o", "said", "--wrap", script)
    cluster.wait((cluster.directory / "there").exists)
    cluster.run("scancel", str(job_id))
    cluster.idle()
    assert (cluster.directory / "saved").read_text() == "saved\n"
    said = (cluster.directory / "said").read_text()
    assert "srun: got SIGCONT\n" in said
    assert "srun: forcing job termination\n" in said


@pytest.mark.parametrize("words", ["-b", "-b -s KILL"])
def test_the_script_alone_is_killed(cluster: LiveCluster, words: str) -> None:
    job_id = cluster.submit("-o", "/dev/null", "--wrap", "sleep 60")
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", str(job_id), "-o", "%t").stdout == "R\n")
    cluster.run("scancel", *words.split(), str(job_id))
    cluster.wait(lambda: job_id in cluster.ended())
    found = cluster.run("sacct", "-nPX", "-j", str(job_id), "-o", "state,exitcode").stdout
    assert found == "FAILED|0:9\n"


@pytest.mark.parametrize("words", ["-b", "-b -s KILL"])
def test_a_job_that_waits_has_no_script_to_kill(cluster: LiveCluster, words: str) -> None:
    job_id = cluster.submit("-H", "--wrap", "true")
    cluster.run("scancel", *words.split(), str(job_id))
    assert cluster.run("squeue", "-h", "-t", "all", "-j", str(job_id), "-o", "%T").stdout == "CANCELLED\n"


def test_a_batch_step_is_no_step_for_scancel(cluster: LiveCluster) -> None:
    """As 22.05.8 says it; ``-b`` is for that."""
    job_id = cluster.submit("-o", "/dev/null", "--wrap", "sleep 60")
    done = cluster.run("scancel", "-s", "USR1", f"{job_id}.batch", check=False)
    assert (done.returncode, done.stderr) == (1, f"scancel: error: Invalid job id {job_id}.batch\n")
    cluster.run("scancel", str(job_id))
