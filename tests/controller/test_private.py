"""``PrivateData``: who sees what, beside Slurm 22.05.8: ``recorded/private.txt``, made by ``recorded/private.sh``.

alice coordinates the account phys, where bob is too; carol is in chem. The users of the test are numbers that no user
of this machine has, and are named as in the recording.
"""

from __future__ import annotations

import os
import re
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

_PYTHON = f"/usr/bin/python3.{sys.version_info.minor}"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can run jobs as others"),
    pytest.mark.skipif(not Path(_PYTHON).exists(), reason=f"no {_PYTHON}, which all users can run"),
]
_UIDS = {"alice": "64801", "bob": "64802", "carol": "64803"}
_CONF = """
FirstJobId=1001
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 DefaultTime=60
"""
_RECORDED = (Path(__file__).parent / "recorded" / "private.txt").read_text()
_CASES: dict[tuple[str, str], list[tuple[str, list[str], int]]] = {}
for _head, *_lines in (block.splitlines() for block in re.split(r"(?m)^##### ", _RECORDED)[1:]):
    _kind, _user, _command = _head.split(" ", 2)
    _CASES.setdefault((_kind, _user), []).append((_command, _lines[:-1], int(_lines[-1].removeprefix("rc="))))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    folder = tmp_path_factory.mktemp("private")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    packages = [str(Path(module.__file__ or "").parents[1]) for module in (rota, click)]
    python = {"PYTHONPATH": ":".join(packages)}
    found = LiveCluster(folder, _CONF)
    (folder / "b.sh").write_text("#!/bin/bash\nsleep 600\n")
    found.run(_PYTHON, "-m", "rota", "up", "--config", str(found.conf), environment=python)
    try:
        _accounts(found)
        yield found
    finally:
        found.run(_PYTHON, "-m", "rota", "down", "--jobs", "cancel", environment=python)


def _as(cluster: LiveCluster, user: str, command: str) -> subprocess.CompletedProcess[str]:
    uid = _UIDS[user]
    words = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", "bash", "-c", command)
    return cluster.run(*words, check=False, environment={"HOME": "/"})


def _accounts(cluster: LiveCluster) -> None:
    alice, bob, carol = _UIDS.values()
    for command in (
        "add account phys,chem",
        f"add user {alice},{bob} account=phys",
        f"add user {carol} account=chem",
        f"add coordinator account=phys names={alice}",
        "add qos urgent",
    ):
        cluster.run("sacctmgr", "-i", *command.split())


@pytest.fixture(scope="module")
def jobs(cluster: LiveCluster) -> dict[str, str]:
    """The jobs of the recording, of which those that are not held run, by name."""
    found = {}
    for user in _UIDS:
        options = "--parsable -o /dev/null -n1 --mem=200"
        found[user.upper()] = _as(cluster, user, f"sbatch {options} -J {user} b.sh").stdout.strip()
        found[f"H{user.upper()}"] = _as(cluster, user, f"sbatch {options} -H -J held-{user} b.sh").stdout.strip()
    cluster.wait(lambda: len(cluster.run("squeue", "-h", "-t", "R").stdout.splitlines()) == len(_UIDS))
    for name, user, start in (("ra", "alice", 60), ("rc", "carol", 90)):
        when = f"starttime=now+{start}minutes"
        words = ("reservation", f"reservationname={name}", "nodes=n04", when, "duration=10", f"users={_UIDS[user]}")
        cluster.run("scontrol", "create", *words)
    return found


def _with_names(text: str, jobs: dict[str, str]) -> list[str]:
    for name, number in [*jobs.items(), *_UIDS.items()]:
        text = re.sub(rf"\b{number}\b", name, text)
    return sorted(set(text.splitlines()))


@pytest.mark.parametrize(("kind", "user"), _CASES, ids=lambda one: one)
def test_as_recorded(cluster: LiveCluster, jobs: dict[str, str], kind: str, user: str) -> None:
    login, operator, _ = user.partition("-as-operator")
    cluster.conf.write_text(f"{_CONF}PrivateData={kind}\n")
    cluster.run("scontrol", "reconfigure")
    level = "operator" if operator else "none"
    cluster.run("sacctmgr", "-i", "modify", "user", _UIDS["bob"], "set", f"adminlevel={level}", check=False)
    problems = []
    for command, lines, status in _CASES[kind, user]:
        asked = command
        for name in sorted(jobs, key=len, reverse=True):
            asked = asked.replace(name, jobs[name])
        done = _as(cluster, login, asked)
        wanted = sorted({line[3:] for line in lines})
        if command.startswith("squeue"):  # Slurm sorts by partitions, and says so if it may not see them
            wanted = [line for line in wanted if not line.startswith("slurm_load_partitions")]
        found = _with_names(done.stdout + done.stderr, jobs)
        if (found, done.returncode) != (wanted, status):
            problems.append((command, found, wanted, done.returncode, status))
    assert problems == []


def test_the_queue_as_a_whole_is_for_operators(cluster: LiveCluster, jobs: dict[str, str]) -> None:
    cluster.conf.write_text(f"{_CONF}PrivateData=jobs\n")
    cluster.run("scontrol", "reconfigure")
    for command in ("plan", "present", f"explain {jobs['HBOB']} json"):
        done = _as(cluster, "carol", f"rota-call {command}")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Access/permission denied" in done.stderr
        assert cluster.run("rota-call", *command.split()).stdout


_NONE = "scancel: error: No active jobs match ALL job filters, including:"


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("scancel -n bob", ("", "", 0)),
        ("scancel -v -t running -p debug -A phys", ("", f"{_NONE} account=phys partition=debug state=RUNNING \n", 0)),
        (
            "scancel -w n01 -n bob BOB",
            ("", "scancel: error: Kill job error on job id BOB: Invalid job id specified\n", 1),
        ),
        ("scontrol hold jobname=bob", ("", "", 0)),
        ("scontrol update jobname=bob timelimit=1", ("", "scontrol: error: No jobs with name 'bob'\n", 1)),
    ],
)
def test_filters_and_names_find_no_hidden_jobs(
    cluster: LiveCluster, jobs: dict[str, str], command: str, answer: tuple[str, str, int]
) -> None:
    """As Slurm 22.05.8."""
    cluster.conf.write_text(f"{_CONF}PrivateData=jobs\n")
    cluster.run("scontrol", "reconfigure")
    done = _as(cluster, "carol", command.replace("BOB", jobs["BOB"]))
    assert (done.stdout, done.stderr.replace(jobs["BOB"], "BOB"), done.returncode) == answer
    refused = _as(cluster, "carol", f"scancel {jobs['BOB']}")  # whose id they know
    assert (refused.returncode, "Access/permission denied" in refused.stderr) == (210, True)


def test_a_script_is_shown_to_its_owner_and_to_operators(cluster: LiveCluster, jobs: dict[str, str]) -> None:
    """Slurm 22.05.8 does not show it to coordinators of the account either, as whom alice may hold the job."""
    cluster.conf.write_text(_CONF)
    cluster.run("scontrol", "reconfigure")
    for user in ("alice", "carol"):
        done = _as(cluster, user, f"scontrol write batch_script {jobs['HBOB']} -")
        assert (done.stdout, done.stderr) == ("", "job script retrieval failed: Invalid user id\n"), user
    assert "sleep 600" in _as(cluster, "bob", f"scontrol write batch_script {jobs['HBOB']} -").stdout
    cluster.run("sacctmgr", "-i", "modify", "user", _UIDS["carol"], "set", "adminlevel=operator")
    assert "sleep 600" in _as(cluster, "carol", f"scontrol write batch_script {jobs['HBOB']} -").stdout
    cluster.run("sacctmgr", "-i", "modify", "user", _UIDS["carol"], "set", "adminlevel=none")
