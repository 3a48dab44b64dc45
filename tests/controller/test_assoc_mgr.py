"""``scontrol show assoc_mgr`` beside Slurm 22.05.8: ``recorded/assoc_mgr.txt``, by ``recorded/assoc_mgr.sh``.

Not compared are what depends on when Slurm last computed fair-share and minutes left, users in the order in which they
were added, and what Slurm's cache does not know of users who were added since it started.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as others")

_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 Gres=gpu:2
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 DefMemPerCPU=100
"""
_BEFORE = (
    "add account phys fairshare=60",
    "add account chem fairshare=40",
    "modify qos normal set priority=0",
    "add qos urgent priority=100",
    "add user alice,bob account=phys",  # there were such users, whose ids are not given again
    "add user carol account=chem",
    "delete user alice,bob,carol",
)
_RECORDED = (Path(__file__).parent / "recorded" / "assoc_mgr.txt").read_text()
_VARYING = re.compile(
    r"(?<=Factor=)\S+|(?<=Efctv=)\S+|(?<=DefWckey=)\S*(?= AdminLevel=)|(?<=AdminLevel=)(None|Not Set|Administrator)$",
    re.MULTILINE,
)
_RUN_MINUTES = re.compile(r"GrpTRESRunMins=\S*")
_USED = re.compile(r"(?<=\()\d+(?=\))")


class _Case(NamedTuple):
    private: str
    command: str
    code: int
    lines: list[str]


def _cases() -> list[_Case]:
    found, private = [], ""
    for block in re.split(r"(?m)^(?=[$#] )", _RECORDED)[1:]:
        first, *lines = block.splitlines()
        if first.startswith("#"):
            private = first.removeprefix("# PrivateData=")
        else:
            found.append(_Case(private, first[2:], int(lines[-1].removeprefix("rc=")), lines[:-1]))
    return found


CASES = _cases()


def _as(user: str) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    folder = tmp_path_factory.mktemp("assoc-mgr")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    with LiveCluster(folder, _CONF) as cluster:
        if cluster.run(*_as("games"), "sbatch", "--version", check=False).returncode:
            pytest.skip("there is no user games, or another user cannot run this Python")
        for words in _BEFORE:
            cluster.run("sacctmgr", "-i", *words.split())
        for line in _RECORDED.split("$ ", 1)[0].splitlines():
            if line.startswith("+ "):
                cluster.run(*shlex.split(line[2:]))
            else:
                user, command = line[1:].split(" ", 1)
                cluster.run(*_as(user), *shlex.split(command))
        cluster.wait(lambda: len(cluster.run("squeue", "-h", "-t", "R").stdout.splitlines()) == 4)
        yield cluster


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [*done.stdout.splitlines(), *(f"! {line}" for line in done.stderr.splitlines())]


def _compared(lines: list[str]) -> list[str]:
    """Give the lines without what differs, and those of users in the order of their names."""
    plain = [_RUN_MINUTES.sub("", _VARYING.sub("", line)) for line in lines]
    users = iter(sorted(line for line in plain if line.startswith("UserName=")))
    return [next(users) if line.startswith("UserName=") else line for line in plain]


def _run_minutes(lines: list[str]) -> list[int]:
    return [int(used) for line in lines for part in _RUN_MINUTES.findall(line) for used in _USED.findall(part)]


@pytest.mark.parametrize("case", [case for case in CASES if not case.private], ids=lambda case: case.command)
def test_answer_is_slurms(case: _Case, cluster: LiveCluster) -> None:
    done = cluster.run(*shlex.split(case.command), check=False)
    assert done.returncode == case.code
    assert _compared(_lines(done)) == _compared(case.lines)
    # Slurm takes off minutes once in PriorityCalcPeriod.
    assert _run_minutes(_lines(done)) == pytest.approx(_run_minutes(case.lines), rel=0.1)


@pytest.mark.parametrize("private", dict.fromkeys(case.private for case in CASES if case.private))
def test_users_see_what_they_see_in_slurm(private: str, cluster: LiveCluster) -> None:
    cluster.conf.write_text(f"{_CONF}PrivateData={private}\n")
    cluster.run("scontrol", "reconfigure")
    for case in CASES:
        if case.private == private:
            user, command = case.command[1:].split(" ", 1)
            done = cluster.run(*_as(user), *shlex.split(command), check=False)
            assert done.returncode == case.code
            assert _compared([line for line in _lines(done) if not line.startswith(" ")]) == _compared(case.lines)


def test_jobs_that_are_private_count(cluster: LiveCluster) -> None:
    # Slurm hides no sums with PrivateData=jobs.
    cluster.conf.write_text(f"{_CONF}PrivateData=jobs\n")
    cluster.run("scontrol", "reconfigure")
    shown = cluster.run(*_as("sys"), "scontrol", "-o", "show", "assoc_mgr", "accounts=phys", "users=sys").stdout
    assert " GrpJobs=5(3) " in shown
    assert " GrpSubmitJobs=20(6) " in shown
