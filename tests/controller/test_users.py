"""Several users of one cluster, which root runs: who asks is what the kernel says."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import rota
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_NOBODY = 65534
_AS_NOBODY = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run jobs as others")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of root's, and a folder that others can write to."""
    folder = tmp_path_factory.mktemp("users")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    with LiveCluster(folder) as found:
        if found.run(*_AS_NOBODY, "sbatch", "--version", check=False).returncode:
            pytest.skip("another user cannot run this Python")
        yield found


def _as_nobody(cluster: LiveCluster, *words: str) -> subprocess.CompletedProcess[str]:
    return cluster.run(*_AS_NOBODY, *words, check=False, environment={"HOME": "/tmp"})  # noqa: S108


def _submit(cluster: LiveCluster, *words: str) -> str:
    done = _as_nobody(cluster, "sbatch", "--parsable", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_job_runs_as_the_user_who_has_submitted_it(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "--wait", "-o", "theirs", "--wrap", "id -u; id -g; id -G; umask; touch made")
    assert (cluster.directory / "theirs").read_text().split()[:3] == [str(_NOBODY)] * 3
    for name in ("theirs", "made"):
        assert (cluster.directory / name).stat().st_uid == _NOBODY
    shown = cluster.run("squeue", "-h", "-t", "all", "-j", job_id, "-o", "%u %U").stdout.split()
    assert shown == ["nobody", str(_NOBODY)]


def test_who_a_client_says_it_is_does_not_count(cluster: LiveCluster) -> None:
    environment = {"USER": "root", "LOGNAME": "root", "SUDO_UID": "0", "HOME": "/root"}
    words = ("sbatch", "--wait", "-o", "claimed", "--wrap", "id -u")
    cluster.run(*_AS_NOBODY, *words, environment=environment)
    assert (cluster.directory / "claimed").read_text().strip() == str(_NOBODY)


@pytest.mark.parametrize(
    "words",
    [
        "scancel {root}",
        "scancel -b -s USR1 {root}",
        "scontrol hold {root}",
        "scontrol requeue {root}",
        "scontrol update jobid={root} timelimit=1",
        "scontrol update jobid={own} priority=4294967290",
        "scontrol update jobid={own} nice=-100",
        "scontrol suspend {own}",
        "scontrol update nodename={node} state=down reason=x",
        "scontrol update partitionname=main state=down",
        "scontrol reconfigure",
        "scontrol create reservation reservationname=r starttime=now duration=1 nodes={node} users=root",
        "sbatch --uid=root --wrap true",
        "rota-call down",
        "rota-call down cancel",
    ],
)
def test_what_a_user_may_not_do(cluster: LiveCluster, words: str) -> None:
    root = cluster.submit("-H", "-t", "5", "--wrap", "true")
    own = _submit(cluster, "-H", "-t", "5", "--wrap", "true")
    before = cluster.run("scontrol", "show", "job").stdout
    node = cluster.run("sinfo", "-h", "-o", "%N").stdout.strip()
    done = _as_nobody(cluster, *words.format(root=root, own=own, node=node).split())
    assert done.returncode != 0
    assert done.stderr
    assert cluster.run("scontrol", "show", "job").stdout == before
    assert cluster.run("sinfo", "-h", "-o", "%a %t").stdout == "up idle\n"
    cluster.run("scancel", str(root), own)


def test_a_users_files_are_opened_with_their_rights(cluster: LiveCluster, tmp_path: Path) -> None:
    private = cluster.directory / "private.sh"
    private.write_text("#!/bin/sh\nid -u\n")
    private.chmod(0o600)
    assert "Unable to open file" in _as_nobody(cluster, "sbatch", "private.sh").stderr
    # The output file is root's: the job cannot write to it.
    target = cluster.directory / "roots"
    target.write_text("untouched")
    target.chmod(0o644)
    _as_nobody(cluster, "sbatch", "--wait", "-o", "roots", "--wrap", "echo overwritten")
    assert target.read_text() == "untouched"
    assert tmp_path.exists()


def test_what_others_cannot_read(cluster: LiveCluster) -> None:
    _submit(cluster, "-H", "--wrap", "echo secret")
    for path in ("rota.db", "controller.log", "supervisor.log", "lock"):
        assert _as_nobody(cluster, "cat", str(cluster.state / path)).returncode != 0, path
    cluster.run("scancel", "-u", "nobody")


_SYSTEM_PYTHON = f"/usr/bin/python3.{sys.version_info.minor}"


@pytest.mark.skipif(not Path(_SYSTEM_PYTHON).exists(), reason=f"no {_SYSTEM_PYTHON}, which all users can run")
def test_steps_and_allocations(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    packages = [str(Path(module.__file__ or "").parents[1]) for module in (rota, click)]
    python = {"PYTHONPATH": ":".join(packages)}
    cluster = LiveCluster(tmp_path)
    cluster.run(_SYSTEM_PYTHON, "-m", "rota", "up", environment=python)
    try:
        done = _as_nobody(cluster, "srun", "-D", "/", "bash", "-c", "id -u; touch /var/srun-was-here")
        assert (done.stdout.split(), "Permission denied" in done.stderr) == ([str(_NOBODY)], True), done.stderr
        job_id = int(cluster.run("salloc", "--no-shell", "-n1").stderr.split()[-1])
        refused = _as_nobody(cluster, "srun", f"--jobid={job_id}", "id")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "Access/permission denied" in refused.stderr
        assert cluster.run("srun", f"--jobid={job_id}", "id", "-u").stdout == "0\n"
        batch = cluster.submit("-n1", "-o", "/dev/null", "--wrap", "sleep 600")
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-j", str(batch)).stdout)
        refused = _as_nobody(cluster, "srun", f"--jobid={batch}", "id")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "Access/permission denied" in refused.stderr
        assert _as_nobody(cluster, "rota-call", "join", str(batch)).returncode
        cluster.run("scancel", "-u", "root")
        theirs = int(_as_nobody(cluster, "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 600").stdout)
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-j", str(theirs)).stdout)
        assert _as_nobody(cluster, "srun", f"--jobid={theirs}", "id", "-u").stdout == f"{_NOBODY}\n"
        refused = cluster.run("srun", f"--jobid={theirs}", "id", "-u", check=False)  # root, as in Slurm
        assert "Access/permission denied" in refused.stderr
        cluster.run("scancel", str(theirs))
        theirs = int(_as_nobody(cluster, "salloc", "--no-shell", "-n1").stderr.split()[-1])
        # Not even root's processes run as those of others, as in Slurm 22.05.
        assert "Access/permission denied" in cluster.run("srun", f"--jobid={theirs}", "id", check=False).stderr
    finally:
        cluster.run(_SYSTEM_PYTHON, "-m", "rota", "down", "--jobs", "cancel", environment=python)


def test_only_operators_reset_statistics(cluster: LiveCluster) -> None:
    """The answer is the one of Slurm 22.05.8."""
    done = _as_nobody(cluster, "sdiag", "--reset")
    assert (done.returncode, done.stdout) == (255, "")
    assert done.stderr == "slurm_reset_statistics: Access/permission denied\n"
