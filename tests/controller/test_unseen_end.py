"""A job that ends while no daemon runs: nobody knows how, and everything that shows it says so."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID = "The end was not seen as rota did not run then: the exit code is unknown"


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "0"]


@pytest.fixture
def inheriting() -> Iterator[None]:
    """Let this process be the parent of orphans below it, as the first process of a machine is."""
    set_subreaper = 36
    ctypes.CDLL(None).prctl(set_subreaper, 1, 0, 0, 0)
    yield
    ctypes.CDLL(None).prctl(set_subreaper, 0, 0, 0, 0)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.mark.usefixtures("inheriting")
def test_an_end_that_nobody_saw_is_told_as_such(tmp_path: Path) -> None:
    mail = tmp_path / "mail"
    program = tmp_path / "mail.sh"
    program.write_text(f'#!/bin/sh\necho "$@" >> {mail}\n')
    program.chmod(0o755)
    with LiveCluster(tmp_path, virtual_nodes(2) + f"MailProg={program}\n") as cluster:
        own = cluster.submit("-o", "/dev/null", "--wrap", "exit 3")
        cluster.idle()
        words = ("-o", str(tmp_path / "out"), "--mail-type=ALL", "--requeue")
        command = ["sbatch", "--wait", "--parsable", *words, "--wrap", "echo $$; exec sleep 1000"]
        env, folder = cluster.environment, cluster.directory
        waiting = subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=env, cwd=folder)
        assert waiting.stdout is not None
        job = int(waiting.stdout.readline())
        cluster.wait(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text())
        script = int((tmp_path / "out").read_text())
        supervisor = cluster.status()["supervisor_pid"]
        keeper = int(_stat(supervisor)[1])
        cluster.kill()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in (keeper, supervisor):
                os.kill(pid, number)
        cluster.wait(lambda: _stat(script)[1] not in (str(keeper), str(supervisor)))
        os.kill(script, signal.SIGKILL)
        os.waitpid(script, 0)
        cluster.up()
        # Who waits for it is not told that it has succeeded.
        assert waiting.communicate(timeout=60) == ("", f"sbatch: error: Job {job}: {_SAID}\n")
        assert waiting.returncode == 1
        columns = "-X", "-n", "-P", "-o", "JobID,State,ExitCode,SystemComment"
        sacct = cluster.run("sacct", *columns, "-j", f"{own},{job}").stdout.splitlines()
        assert sacct == [f"{own}|FAILED|3:0|", f"{job}|NODE_FAIL|0:0|{_SAID}"]
        steps = cluster.run("sacct", "-n", "-P", "-o", "JobID,State", "-j", str(job)).stdout.splitlines()
        assert steps == [f"{job}|NODE_FAIL", f"{job}.batch|NODE_FAIL"]
        shown = cluster.run("scontrol", "show", "job", str(job)).stdout
        assert "JobState=NODE_FAIL Reason=SystemFailure" in shown
        assert f"SystemComment={_SAID}" in shown
        asked = "squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T|%r"
        assert cluster.run(*asked).stdout == "NODE_FAIL|SystemFailure\n"
        found = json.loads(cluster.run("sacct", "--json", "-j", str(job)).stdout)["jobs"]
        assert [one["comment"]["system"] for one in found] == [_SAID]
        cluster.wait(lambda: mail.exists() and "NODE_FAIL, ExitCode unknown" in mail.read_text())
