"""A real Slurm with accounting, started for a test and stopped after it, on ports and in a directory of its own.

It needs Debian's slurmctld, slurmd, slurmdbd, slurm-client and mariadb-server, and root. Nothing in /etc is touched:
its commands find it by ``SLURM_CONF``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sacct", "sbatch", "mariadbd", "mariadb-install-db")
#: Seconds for each step.
PATIENCE = 60.0

#: Lines of slurm.conf for all who start one: who it is, where it writes, and that it runs processes and no more.
SITE = """\
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ctld}
StateSaveLocation={run}/state
SlurmdSpoolDir={run}/spool/%n
SlurmctldPidFile={run}/slurmctld.pid
SlurmdPidFile={run}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
"""
SLURM_CONF = f"""\
ClusterName=test
{SITE}SelectType=select/linear
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName={{host}} NodeAddr=127.0.0.1 Port={{d}} CPUs=4 RealMemory=1000
PartitionName=debug Nodes=ALL Default=YES OverSubscribe=FORCE:20 State=UP
"""
SLURMDBD_CONF = """\
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=slurm
StoragePass=x
PidFile={run}/slurmdbd.pid
"""
SQL = "create database slurm_acct_db; create user slurm@'127.0.0.1' identified by 'x'; \
grant all on slurm_acct_db.* to slurm@'127.0.0.1'; create user slurm@localhost identified by 'x'; \
grant all on slurm_acct_db.* to slurm@localhost"


#: What is added to the database, and how it is shown there.
ADDED = {
    "cluster test": "cluster test",
    "account phys": "account phys",
    "user root account=phys": "association user=root account=phys",
    "user nobody account=phys": "association user=nobody account=phys",
}


def skip_unless_there() -> None:
    """Skip the test where a real Slurm cannot be started."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"a real Slurm is not there: {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("a real Slurm needs root")


@contextmanager
def real_slurm(run: Path) -> Iterator[None]:
    """Give a context in which this process and those that it starts find a real Slurm."""
    numbers = dict(zip(("ctld", "d", "dbd", "sql"), ports(4), strict=True))
    (run / "state").mkdir()
    (run / "spool" / socket.gethostname()).mkdir(parents=True)
    (run / "database").mkdir()
    (run / "slurm.conf").write_text(SLURM_CONF.format(run=run, host=socket.gethostname(), **numbers))
    (run / "cgroup.conf").write_text("CgroupAutomount=no\n")
    with ExitStack() as stack:
        stack.enter_context(accounting(run, numbers))
        for words, shown in ADDED.items():
            # It is asked afterwards: on a busy machine adding may have succeeded although its answer was late.
            until("sh", "-c", f"sacctmgr -i add {words}; sacctmgr -n show {shown} | grep .")
        start(stack, run, "slurmctld", "-D", "-i")
        until("sinfo", "-h")
        start(stack, run, "slurmd", "-D")
        until("sh", "-c", "sinfo -h -o %T | grep -q idle")
        try:
            yield
        finally:
            subprocess.run(["scancel", "--partition=debug"], check=False)
            until("sh", "-c", "! squeue -h | grep .")


@contextmanager
def accounting(run: Path, numbers: Mapping[str, int]) -> Iterator[None]:
    """Give a context with a database and slurmdbd, which this process and those that it starts find by ``SLURM_CONF``.

    Args:
        run: Directory with slurm.conf and an empty ``database``.
        numbers: The ports: ``dbd`` and ``sql``.
    """
    (run / "slurmdbd.conf").write_text(SLURMDBD_CONF.format(run=run, dbd=numbers["dbd"], sql=numbers["sql"]))
    (run / "slurmdbd.conf").chmod(0o600)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SLURM_CONF", str(run / "slurm.conf"))
        # A live cluster's commands of the same names may be on the path, for other tests.
        patch.setenv("PATH", f"/usr/sbin:/usr/bin:{os.environ['PATH']}")
        database = (f"--datadir={run}/database", "--user=root")
        make = ("mariadb-install-db", "--no-defaults", *database, "--auth-root-authentication-method=normal")
        # Several at once would be in each other's way in /tmp.
        subprocess.run([*make, "--skip-test-db", f"--tmpdir={run}"], stdout=subprocess.DEVNULL, check=True)
        options = (f"--port={numbers['sql']}", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=64M")
        start(stack, run, "mariadbd", "--no-defaults", *database, f"--socket={run}/socket", *options)
        until("mariadb-admin", "--no-defaults", "-S", f"{run}/socket", "ping")
        subprocess.run(["mariadb", "--no-defaults", "-S", f"{run}/socket", "-e", SQL], check=True)
        start(stack, run, "slurmdbd", "-D")
        until("sacctmgr", "-n", "show", "cluster")
        yield


def open_to_all(folder: Path) -> None:
    """Let other users reach a directory of pytest's."""
    for one in (folder, *folder.parents):
        if "pytest" in one.as_posix():
            one.chmod(one.stat().st_mode | 0o011)
    folder.chmod(0o755)


def ports(number: int) -> list[int]:
    """Give ports that nobody uses."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def start(stack: ExitStack, run: Path, *words: str) -> None:
    """Start a server, whose log is in a directory and which is stopped at the end of a context."""
    log = stack.enter_context((run / f"{words[0]}.log").open("wb"))
    process = subprocess.Popen(words, stdout=log, stderr=log)
    stack.callback(_stop, process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # nobody needs what it would save
    process.wait()


def run_as(user: str, *words: str, env: Mapping[str, str], script: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as somebody, in an environment that this user's names are added to, with a text to read."""
    who = pwd.getpwnam(user)
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        env={**env, "USER": user, "LOGNAME": user},
        cwd="/",
        input=script,
        timeout=PATIENCE,
        user=who.pw_uid,
        group=who.pw_gid,
        extra_groups=[],
    )


def until(*words: str) -> None:
    """Run a command until it succeeds."""
    end = time.monotonic() + PATIENCE
    while (done := subprocess.run(words, capture_output=True, text=True, check=False)).returncode:
        assert time.monotonic() < end, done
        time.sleep(0.1)
