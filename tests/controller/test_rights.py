"""Who may change what, as Slurm 22.05.8 lets them: exit codes and messages were recorded from it, with these users."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from _pytest.mark import ParameterSet

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as others")

#: Some users of this machine. All but the stranger can do more than others with the owner's jobs.
_ROLES = ("owner", "stranger", "operator", "coordinator", "administrator")
_CONF = """
ClusterName=rights
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityWeightPartition=1000
NodeName=n[1-2] CPUs=64 RealMemory=64000 Feature=virt Gres=gpu:2
GresTypes=gpu
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=100
PartitionName=high Nodes=ALL MaxTime=60
PartitionName=closed Nodes=ALL AllowGroups=root
"""
_JOB = ("-t", "10", "-o", "/dev/null", "--wrap", "sleep 300")

_NO_USER = "Invalid user id"
_DENIED = "Access/permission denied"


class Attempt(NamedTuple):
    """A command about the owner's jobs, and those who must not succeed, with exit code and message.

    Jobs: ``{p}`` waits, ``{r}`` runs, ``{h}`` is held by root, ``{u}`` by its owner, ``{a}`` is an array, ``{s}`` is
    suspended.
    """

    words: str
    refused: dict[str, str]
    status: int = 1


def _of_jobs(words: str, message: str, status: int = 1, **more: str) -> Attempt:
    """What the owner may do, a coordinator of the job's account and all above them."""
    return Attempt(words, {"stranger": message, **more}, status)


def _of_operators(words: str, message: str = f"{_DENIED} for job {{}}", stranger: str = "") -> Attempt:
    return Attempt(words, {"owner": message, "coordinator": message, "stranger": stranger or message})


def _of_administrators(words: str, message: str) -> Attempt:
    return Attempt(words, dict.fromkeys(("owner", "coordinator", "stranger", "operator"), message))


_CANCEL = f"scancel: error: Kill job error on job id {{}}: {_DENIED}"
_UPDATE = f"{_NO_USER} for job {{}}"
_CLOSED = "Requested partition configuration not available now for job {}"
_HOLD = f"slurm_suspend error: {_NO_USER}"
ATTEMPTS = [
    _of_jobs("scancel {p}", _CANCEL, 210),
    _of_jobs("scancel {r}", _CANCEL, 210),
    _of_jobs("scancel -s USR1 {r}", _CANCEL, 210),
    _of_jobs("scancel -b -s USR1 {r}", _CANCEL, 210),
    _of_jobs("scancel -f -s USR1 {r}", _CANCEL, 210),
    _of_jobs("scancel {a}_3", f"scancel: error: Kill job error on job id {{}}_3: {_DENIED}", 210),
    _of_jobs("scancel {a}", _CANCEL, 210),
    _of_jobs("scancel -u {owner}", _CANCEL, 210),
    _of_jobs("scancel -n wrap -t PENDING", _CANCEL, 210),
    _of_jobs("scancel 999999 {p}", _CANCEL, 210),
    _of_jobs("scontrol hold {p}", _HOLD),
    _of_jobs("scontrol uhold {p}", _HOLD),
    _of_jobs("scontrol release {u}", _HOLD),
    Attempt(
        "scontrol release {h}",
        {
            "owner": f"slurm_suspend error: {_DENIED}",
            "coordinator": f"slurm_suspend error: {_DENIED}",
            "stranger": _HOLD,
        },
    ),
    _of_jobs("scontrol requeue {r}", f"{_DENIED} for job {{}}"),
    _of_jobs("scontrol requeuehold {r}", f"{_DENIED} for job {{}}"),
    _of_operators("scontrol suspend {r}"),
    _of_operators("scontrol resume {s}"),
    _of_jobs("scontrol update jobid={p} timelimit=5", _UPDATE),
    _of_jobs("scontrol update jobid={p} timelimit=20", _UPDATE),
    _of_jobs("scontrol update jobid={r} timelimit=5", _UPDATE),
    _of_operators("scontrol update jobid={r} timelimit=20", stranger=_UPDATE),
    _of_operators("scontrol update jobid={p} priority=4294967290", stranger=_UPDATE),
    _of_operators(
        "scontrol update jobid={p} priority=1",
        "Changes to job priority are not persistent, change nice instead for job {}",
        stranger=_UPDATE,
    ),
    _of_jobs("scontrol update jobid={p} priority=0", _UPDATE),
    _of_operators("scontrol update jobid={p} nice=-10", stranger=_UPDATE),
    _of_jobs("scontrol update jobid={p} nice=0", _UPDATE),
    _of_jobs("scontrol update jobid={p} nice=100", _UPDATE),
    _of_jobs("scontrol update jobid={p} partition=high", _UPDATE),
    _of_jobs("scontrol update jobid={p} name=x", _UPDATE),
    _of_jobs("scontrol update jobid={p} dependency=afterok:1", _UPDATE),
    _of_jobs("scontrol update jobid={r} name=x", _UPDATE),
    _of_jobs("scontrol update jobid={r} comment=x", _UPDATE),
    _of_operators("scontrol update jobid={r} admincomment=x", stranger=_UPDATE),
    _of_jobs("scontrol update jobid={p} features=virt", _UPDATE),
    _of_jobs("scontrol update jobid={p} gres=gpu:1", _UPDATE),
    _of_jobs("scontrol update jobid={p} numcpus=2", _UPDATE),
    _of_jobs("scontrol update jobid={p} reqnodelist=n1", _UPDATE),
    _of_jobs("scontrol update jobid={p} starttime=now+2hours", _UPDATE),
    _of_jobs("scontrol update jobid={p} minmemorynode=100", _UPDATE),
    _of_operators("scontrol update jobid={p} contiguous=1", stranger=_UPDATE),
    _of_operators("scontrol update jobid={p} oversubscribe=yes", stranger=_UPDATE),
    _of_administrators("scontrol update nodename=n1 state=drain reason=x", f"slurm_update error: {_NO_USER}"),
    _of_administrators("scontrol update partitionname=high state=down", f"slurm_update error: {_NO_USER}"),
    _of_administrators("scontrol create partitionname=new nodes=n1", f"Error creating the partition: {_NO_USER}"),
    _of_administrators("scontrol update partitionname=high maxtime=9", f"slurm_update error: {_NO_USER}"),
    _of_administrators("scontrol delete partitionname=high", f"delete_partition partitionname=high: {_NO_USER}"),
    _of_administrators("scontrol reconfigure", f"slurm_reconfigure error: {_NO_USER}"),
    _of_operators(
        "scontrol create reservation reservationname=rr starttime=now duration=1 nodes=n2 users=root",
        f"Error creating the reservation: {_NO_USER}",
    ),
    Attempt(
        "sbatch --uid=root --wrap true",
        dict.fromkeys(_ROLES, "sbatch: error: --uid only permitted by root user"),
        255,
    ),
    *(
        Attempt(words, dict.fromkeys(_ROLES, f"{words.split()[0]}: error: --{option} only permitted by root user"), 255)
        for option in ("uid", "gid")
        for words in (f"srun --{option}=root id", f"salloc --{option}=root id")
    ),
    Attempt(
        "sbatch --gid=root --wrap true", dict.fromkeys(_ROLES, "sbatch: error: --gid only permitted by root user"), 255
    ),
    Attempt(
        "scontrol update jobid={p} partition=closed",
        {**dict.fromkeys(_ROLES, _CLOSED), "stranger": _UPDATE},
    ),
    Attempt(
        "scontrol update jobid={p} partition=high,closed",
        {**dict.fromkeys(_ROLES, _CLOSED), "stranger": _UPDATE},
    ),
    _of_operators(
        "sbatch --nice=-5 -H --wrap true", "sbatch: error: Batch job submission failed: Invalid --nice value"
    ),
]


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    """The users by role."""
    found = sorted((one.pw_uid, one.pw_name) for one in pwd.getpwall() if one.pw_uid)
    return dict(zip(_ROLES, (name for _, name in found), strict=False))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, names: dict[str, str]) -> Iterator[LiveCluster]:
    """A cluster of root's, with users of all levels."""
    folder = tmp_path_factory.mktemp("rights")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    with LiveCluster(folder, _CONF) as found:
        if len(names) < len(_ROLES) or _ask(found, names["owner"], "sbatch", "--version").returncode:
            pytest.skip("this machine has too few users, or others than root cannot run this Python")
        found.run("sacctmgr", "-i", "add", "account", "lab")
        found.run("sacctmgr", "-i", "add", "user", ",".join(names.values()), "account=lab")
        for role in ("operator", "administrator"):
            found.run("sacctmgr", "-i", "modify", "user", names[role], "set", f"adminlevel={role}")
        found.run("sacctmgr", "-i", "add", "coordinator", "account=lab", f"names={names['coordinator']}")
        yield found


def _ask(cluster: LiveCluster, user: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command as another user."""
    who = pwd.getpwnam(user)
    become = ("setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups", "--")
    return cluster.run(*become, *words, check=False)


def _submit(cluster: LiveCluster, names: dict[str, str], *words: str) -> str:
    done = _ask(cluster, names["owner"], "sbatch", "--parsable", *words, *_JOB)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _job_for(cluster: LiveCluster, names: dict[str, str], words: str) -> dict[str, str]:
    """Submit the job that a command names."""
    letter = next((letter for letter in "phuars" if f"{{{letter}}}" in words), "p")
    if letter in "rs":
        job_id = _submit(cluster, names)
        cluster.wait(lambda: cluster.run("squeue", "-h", "-j", job_id, "-o", "%T").stdout == "RUNNING\n")
    else:
        more = {"u": ["-H"], "a": ["-a", "0-5"]}.get(letter, [])
        job_id = _submit(cluster, names, "--begin=now+1hour", "--nice=10", *more)
    if letter in "hs":
        cluster.run("scontrol", "hold" if letter == "h" else "suspend", job_id)
    return {letter: job_id}


def _everything(cluster: LiveCluster) -> str:
    """Give all that the attempts could change, without what changes by itself."""
    shown = cluster.run("squeue", "-h", "-t", "all", "-o", "%i %T %r %l %y %P %j %E %f %b %C %m %h %c %n %S %k").stdout
    nodes = cluster.run("sinfo", "-h", "-N", "-o", "%N %a %P %t").stdout
    return shown + nodes + "".join(cluster.run("scontrol", "show", one).stdout for one in ("partition", "reservation"))


def _cases() -> Iterator[ParameterSet]:
    """Give the attempts; those are slow that differ from one before in no more than what is changed."""
    seen = set()
    for one in ATTEMPTS:
        kind = (*one.words.split()[:2], *one.refused)
        yield pytest.param(one, id=one.words, marks=pytest.mark.slow if kind in seen else ())
        seen.add(kind)


@pytest.mark.parametrize("attempt", list(_cases()))
def test_who_may(cluster: LiveCluster, names: dict[str, str], attempt: Attempt) -> None:
    jobs = _job_for(cluster, names, attempt.words)
    job_id = next(iter(jobs.values()))
    words = attempt.words.format(**jobs, **names).split()
    before = _everything(cluster)
    for role, message in attempt.refused.items():
        done = _ask(cluster, names[role], *words)
        assert done.returncode == attempt.status, role
        assert message.format(job_id) in done.stderr.splitlines(), role
    assert _everything(cluster) == before
    # Slurm lets the others: the one with the fewest rights shows that it is the right that was missing.
    if others := [
        role for role in ("stranger", "coordinator", "operator", "administrator") if role not in attempt.refused
    ]:
        done = _ask(cluster, names[others[0]], *words)
        assert done.returncode == 0, done.stderr
    cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=False)
    cluster.run("scontrol", "reconfigure")
    cluster.run("scontrol", "delete", "reservationname=rr", check=False)
    for name in names.values():
        cluster.run("scancel", "-u", name)
    cluster.idle()
