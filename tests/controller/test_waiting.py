"""Commands that wait, or run steps, while the controller is killed or goes down: they go on, and tell the truth."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.client.away import PATIENCE
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE = 60.0
#: How a controller goes away.
_AWAY = ["kill", "down"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("waiting"), virtual_nodes(2)) as found:
        yield found


@pytest.fixture
def full(cluster: LiveCluster) -> Iterator[Callable[[], None]]:
    """Let nothing start until the function that is given is called."""
    job_id = str(cluster.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000"))
    cluster.wait(lambda: cluster.run("squeue", "-h", "-j", job_id, "-o", "%T").stdout == "RUNNING\n")

    def release() -> None:
        cluster.run("scancel", job_id)

    yield release
    cluster.run("scancel", "-u", "root")
    cluster.idle()


class _Command:
    """A command that runs."""

    def __init__(self, cluster: LiveCluster, *words: str, stdin: int | None = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            words,
            cwd=cluster.directory,
            env=cluster.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self) -> tuple[int, str, str]:
        """Wait for its end; give exit status, output and errors."""
        out, err = self.process.communicate(timeout=_PATIENCE)
        return self.process.returncode, out, err


def _leave(cluster: LiveCluster, how: str) -> None:
    if how == "kill":
        cluster.kill()
    else:
        cluster.rota("down")


def _pending(cluster: LiveCluster, count: int) -> list[str]:
    """Wait until so many jobs are pending; give their ids."""
    found: list[str] = []

    def are_there() -> bool:
        found[:] = cluster.run("squeue", "-h", "-t", "PD", "-o", "%A").stdout.split()
        return len(found) == count

    cluster.wait(are_there)
    return found


def _steps(cluster: LiveCluster, job_id: object) -> list[str]:
    words = ["sacct", "-n", "-P", "-j", str(job_id), "-o", "JobID,State,ExitCode"]
    return [line.partition(".")[2] for line in cluster.run(*words).stdout.splitlines() if "." in line]


def _running_steps(cluster: LiveCluster) -> list[str]:
    return cluster.run("squeue", "-h", "-s", "-o", "%i").stdout.split()


@pytest.mark.parametrize("how", _AWAY)
def test_running_steps_do_not_notice(cluster: LiveCluster, how: str) -> None:
    script = "echo begun; touch begun-$SLURM_JOB_ID; until test -e go; do sleep 0.1; done; echo over; exit 3"
    (cluster.directory / "go").unlink(missing_ok=True)
    for old in cluster.directory.glob("begun-*"):
        old.unlink()
    commands = [_Command(cluster, "srun", "-n1", "sh", "-c", script) for _ in range(8)]
    cluster.wait(lambda: len([*cluster.directory.glob("begun-*")]) == 8)
    _leave(cluster, how)
    time.sleep(0.5)
    assert all(one.process.poll() is None for one in commands)
    cluster.up()
    time.sleep(0.5)
    (cluster.directory / "go").touch()
    for one in commands:
        status, out, err = one.ended()
        assert (status, out) == (3, "begun\nover\n")
        assert "Exited with exit code 3" in err
    cluster.idle()
    for begun in cluster.directory.glob("begun-*"):
        assert _steps(cluster, begun.name.partition("-")[2]) == ["0|FAILED|3:0"]


@pytest.mark.parametrize("how", _AWAY)
def test_steps_that_end_meanwhile_tell_how(cluster: LiveCluster, how: str) -> None:
    out = cluster.directory / f"meanwhile-{how}"
    script = f"touch {out}-up; srun sh -c 'until test -e {out}-go; do sleep 0.1; done; exit 4' 2> /dev/null; exit $?"
    job_id = cluster.submit("-o", "/dev/null", "--wrap", script)
    cluster.wait(lambda: f"{job_id}.0" in _running_steps(cluster))
    _leave(cluster, how)
    Path(f"{out}-go").touch()
    time.sleep(1)
    cluster.up()
    cluster.idle()
    assert _steps(cluster, job_id) == ["batch|FAILED|4:0", "0|FAILED|4:0"]


@pytest.mark.parametrize("how", _AWAY)
@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_who_waits_for_resources_gets_them(
    cluster: LiveCluster, full: Callable[[], None], command: str, how: str
) -> None:
    one = _Command(cluster, command, "-n1", "sh", "-c", "echo in $SLURM_JOB_ID; exit 5")
    (job_id,) = _pending(cluster, 1)
    for _ in range(2):
        _leave(cluster, how)
        time.sleep(0.3)
        cluster.up()
        assert _pending(cluster, 1) == [job_id]
    full()
    status, out, err = one.ended()
    assert (status, out) == (5, f"in {job_id}\n")
    assert err.count("queued and waiting for resources") == 1
    assert "has been allocated resources" in err
    cluster.idle()
    assert cluster.ended()[int(job_id)]["state"] == "FAILED"


@pytest.mark.parametrize("how", _AWAY)
def test_who_waits_for_the_end_learns_it(cluster: LiveCluster, how: str) -> None:
    go = cluster.directory / f"go-{how}"
    wrap = f'case "$SLURM_ARRAY_TASK_ID" in 1) exit 7;; esac; until test -e {go}; do sleep 0.1; done'
    commands = [
        _Command(cluster, "sbatch", "--wait", "-o", "/dev/null", *more, "--wrap", wrap) for more in ([], ["-a0-2"])
    ]
    cluster.wait(lambda: sorted(one.get("exit_code", 0) for one in cluster.records())[-1:] == [7])
    _leave(cluster, how)
    time.sleep(0.3)
    cluster.up()
    time.sleep(0.5)
    _leave(cluster, how)
    go.touch()
    time.sleep(0.5)
    cluster.up()
    for one, code in zip(commands, (0, 7), strict=True):
        status, out, err = one.ended()
        assert (status, err) == (code, "")
        assert out.startswith("Submitted batch job")
        assert out.count("\n") == 1


def test_who_waits_for_a_step_gets_it(cluster: LiveCluster) -> None:
    first = "srun -n4 sh -c 'touch first; until test -e second; do sleep 0.1; done'"
    script = f"{first} & until test -e first; do sleep 0.1; done; srun -n1 sh -c 'touch third'; exit $?"
    said = cluster.directory / "waits.txt"
    job_id = cluster.submit("-n4", "-N1", "-o", said.name, "--wrap", script)
    cluster.wait(lambda: said.exists() and "retrying" in said.read_text())
    cluster.kill()
    cluster.up()
    time.sleep(0.5)
    (cluster.directory / "second").touch()
    cluster.idle()
    assert said.read_text().count("retrying") == 1
    assert _steps(cluster, job_id) == ["batch|COMPLETED|0:0", "0|COMPLETED|0:0", "1|COMPLETED|0:0"]


@pytest.mark.parametrize("how", _AWAY)
def test_what_belongs_to_commands_that_are_gone_is_ended(
    cluster: LiveCluster, full: Callable[[], None], how: str
) -> None:
    gone = [_Command(cluster, command, "-n1", "true") for command in ("srun", "salloc")]
    ids = _pending(cluster, 2)
    stopped = _Command(cluster, "srun", "-n1", "echo", "there")
    (kept,) = set(_pending(cluster, 3)).difference(ids)
    no_shell = cluster.submit("-o", "/dev/null", "--wrap", "true")
    _leave(cluster, how)
    for one in gone:
        one.process.kill()
        one.ended()
    stopped.process.send_signal(signal.SIGSTOP)
    cluster.up()
    assert set(_pending(cluster, 2)) == {kept, str(no_shell)}
    assert {cluster.ended()[int(job_id)]["state"] for job_id in ids} == {"CANCELLED"}
    full()
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.split() == [kept])
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.ended()[:2] == (0, "there\n")


def test_resources_that_nobody_can_use_any_more_are_given_back(cluster: LiveCluster, full: Callable[[], None]) -> None:
    stopped = _Command(cluster, "salloc", "-n1", "true")
    (job_id,) = _pending(cluster, 1)
    stopped.process.send_signal(signal.SIGSTOP)
    cluster.kill()
    cluster.up()
    full()
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.split() == [job_id])
    stopped.process.kill()
    stopped.ended()
    cluster.wait(lambda: int(job_id) in cluster.ended())
    assert cluster.ended()[int(job_id)]["state"] == "CANCELLED"


@pytest.mark.parametrize("how", _AWAY)
def test_who_comes_back_late_learns_what_has_become_of_the_job(
    cluster: LiveCluster, full: Callable[[], None], how: str
) -> None:
    queued = [_Command(cluster, command, "-n1", "true") for command in ("srun", "salloc")]
    ids = _pending(cluster, 2)
    wrap = f"test $SLURM_RESTART_COUNT && exit 6; touch first-{how}; sleep 1000"
    batch = _Command(cluster, "sbatch", "--wait", "-n1", "-o", "/dev/null", "--requeue", "--wrap", wrap)
    (batch_id,) = set(_pending(cluster, 3)).difference(ids)
    cluster.run("scontrol", "update", f"jobid={batch_id}", "nice=-100")
    commands = [*queued, batch]
    for one in commands:
        one.process.send_signal(signal.SIGSTOP)
    _leave(cluster, how)
    cluster.up()
    cluster.run("scancel", ids[0])  # while it waits
    full()
    cluster.wait((cluster.directory / f"first-{how}").exists)
    cluster.run("scontrol", "requeue", batch_id)
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.split() == [ids[1]])
    cluster.run("scancel", ids[1])  # when it has its resources, which nobody uses
    cluster.wait(lambda: int(batch_id) in cluster.ended())
    _leave(cluster, how)
    cluster.up()
    for one in commands:
        one.process.send_signal(signal.SIGCONT)
    ends = [one.ended() for one in commands]
    assert [end[0] for end in ends] == [1, 1, 6]
    for end in ends[:2]:
        assert end[2].endswith("error: Job allocation has been revoked.\n")
    assert ends[2][1:] == (f"Submitted batch job {batch_id}\n", "")


def test_a_step_whose_command_was_killed_meanwhile(cluster: LiveCluster) -> None:
    job_id = cluster.submit(
        "-o",
        "/dev/null",
        "--wrap",
        "srun sleep 1000 & echo $! > srun.pid; wait; until test -e killed; do sleep 0.1; done",
    )
    cluster.wait(lambda: f"{job_id}.0" in _running_steps(cluster))
    cluster.kill()
    os.kill(int((cluster.directory / "srun.pid").read_text()), signal.SIGKILL)
    cluster.up()
    cluster.wait(lambda: f"{job_id}.0" not in _running_steps(cluster))
    assert _steps(cluster, job_id)[-1] == "0|CANCELLED|0:9"
    (cluster.directory / "killed").touch()
    cluster.idle()


def test_signals_for_steps_whose_commands_are_not_back_yet(cluster: LiveCluster) -> None:
    script = "echo $$ > srun2.pid; exec srun sh -c 'trap \"exit 6\" USR1; touch trapped; while :; do sleep 0.1; done'"
    job_id = cluster.submit("-o", "/dev/null", "--wrap", script)
    cluster.wait((cluster.directory / "trapped").exists)
    cluster.kill()
    pid = int((cluster.directory / "srun2.pid").read_text())
    os.kill(pid, signal.SIGSTOP)  # so it does not come back before
    cluster.up()
    cluster.run("scancel", "-s", "USR1", f"{job_id}.0")
    os.kill(pid, signal.SIGCONT)
    cluster.idle()
    assert cluster.ended()[job_id]["exit_code"] == 6


@pytest.mark.slow
def test_a_controller_that_is_away_for_longer(cluster: LiveCluster, full: Callable[[], None]) -> None:
    waiting = [
        _Command(cluster, "srun", "-n1", "echo", "there"),
        _Command(cluster, "salloc", "-n1", "echo", "there"),
        _Command(cluster, "sbatch", "-Q", "--wait", "-n1", "-o", "/dev/null", "--wrap", "exit 3"),
    ]
    _pending(cluster, 3)
    full()
    cluster.idle()
    out = [one.ended() for one in waiting]
    assert [one[:2] for one in out] == [(0, "there\n"), (0, "there\n"), (3, "")]

    script = "until test -e later; do sleep 0.1; done; exec srun sh -c 'echo ran; exit 4'"
    within = _Command(cluster, "sbatch", "-Q", "--wait", "-n1", "-o", "within.txt", "--wrap", script)
    step = _Command(cluster, "srun", "-n1", "sh", "-c", "until test -e later; do sleep 0.1; done; exit 5")
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.count("\n") == 2)
    held = _Command(cluster, "srun", "-H", "-n1", "true")
    _pending(cluster, 1)
    cluster.rota("down")
    (cluster.directory / "later").touch()
    time.sleep(PATIENCE + 2)
    cluster.up()
    status, _, err = within.ended()
    assert (status, err.count("\n")) == (4, 1)
    assert "Currently unable to load job state information, retrying" in err
    said = (cluster.directory / "within.txt").read_text()
    assert said.startswith("srun: Slurm controller not responding, sleeping and retrying.\nran\n")
    status, _, err = step.ended()
    assert status == 5
    assert err.count("srun: Slurm controller not responding, sleeping and retrying.\n") == 1
    cluster.run("scancel", "-u", "root")
    status, _, err = held.ended()
    assert status == 1
    assert err.splitlines()[-3:] == [
        "srun: Slurm controller not responding, sleeping and retrying.",
        "srun: Job has been cancelled",
        "srun: error: Unable to allocate resources: Job/step already completing or completed",
    ]


#: Commands by what they are, with what they read, and the exit status. Their job leaves a line in the file ``ran``.
_RUN = "echo ran >> ran; exit 3"
_TO_LOSE = {
    "srun": (["srun", "-n1", "sh", "-c", _RUN], "", 3),
    "salloc": (["salloc", "-n1", "sh", "-c", _RUN], "", 3),
    "salloc and srun": (["salloc", "-n1", "srun", "sh", "-c", _RUN], "", 3),
    "sbatch": (["sbatch", "-o", "/dev/null"], f"#!/bin/sh\n{_RUN}\n", 0),
    "sbatch --wait": (["sbatch", "--wait", "-o", "/dev/null"], f"#!/bin/sh\n{_RUN}\n", 3),
    "two steps": (["sbatch", "--wait", "-o", "/dev/null", "--wrap", f"srun true; srun sh -c '{_RUN}'"], "", 3),
}


def _lose(cluster: LiveCluster, name: str, at: int, when: str) -> bool:
    """Give a command to a controller that is lost at one commit, which another follows; say whether it was lost."""
    words, stdin, code = _TO_LOSE[name]
    (cluster.directory / "ran").unlink(missing_ok=True)
    known = set(cluster.ended())
    fragile = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("fragile.py"), cluster.state, cluster.conf, str(at), when],
        stdout=subprocess.PIPE,
    )
    assert fragile.stdout is not None
    with fragile.stdout:
        assert fragile.stdout.readline() == b"up\n"
    one = _Command(cluster, *words, stdin=subprocess.PIPE)
    assert one.process.stdin is not None
    one.process.stdin.write(stdin)  # through a pipe, from which it comes once
    one.process.stdin.close()
    one.process.stdin = None
    while one.process.poll() is None and fragile.poll() is None:
        time.sleep(0.02)
    time.sleep(0.1 * (at % 3))
    is_lost = fragile.poll() is not None
    if not is_lost:
        fragile.terminate()
        fragile.wait()
    cluster.up()
    status, out, err = one.ended()
    assert status == code, err
    assert words[0] != "sbatch" or out.count("Submitted") == out.count("\n") == 1
    cluster.idle()
    assert (cluster.directory / "ran").read_text() == "ran\n"
    (job_id,) = set(cluster.ended()).difference(known)
    record = cluster.ended()[job_id]
    assert (record["state"], record["exit_code"]) == ("FAILED", 3)
    assert {step.partition("|")[2] for step in _steps(cluster, job_id)} <= {"FAILED|3:0", "COMPLETED|0:0"}
    cluster.rota("down")
    return is_lost


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", _TO_LOSE)
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.longest)])
def test_lost_at_each_commit(tmp_path: Path, name: str, when: str, step: int) -> None:
    """Before one commit and after the next, in turn, or before and after each."""
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        cluster.rota("down")
        at = step if when == "after" else 1
        while _lose(cluster, name, at, when):
            at += step
        assert at > 2


def test_lost_at_some_commits(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        cluster.rota("down")
        for name, at, when in (("srun", 2, "after"), ("sbatch --wait", 1, "before")):
            assert _lose(cluster, name, at, when)
