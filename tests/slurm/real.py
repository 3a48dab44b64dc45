"""A real Slurm whose clock stands still: slurmctld runs under libfaketime, and time passes when a scenario says so.

So nothing is decided while requests arrive, one main pass sees all of them, and seconds that nobody waits for cost
nothing. Nodes are slurmds on loopback, and jobs are processes that end when they are told to. It needs what
`jobmeta.real_slurm` needs, and Debian's faketime.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ClusterShell.NodeSet import NodeSet
from core.scenarios import GRES_LINE
from jobmeta.real_slurm import PATIENCE, PROGRAMS, SITE, accounting, ports, run_as, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Users that every Debian has; each has a group of the same name.
USERS = ("games", "mail", "news")
#: Unix seconds at which the clock stands when a scenario begins: 40 s after a full minute, and later than now, as
#: sbatch refuses deadlines that are over.
BEGIN = 1_820_000_020
#: Seconds from a main pass to the next, and from a backfill cycle to the next.
INTERVAL = 2
#: Lines for all scenarios, which those of a scenario follow.
_SITE = f"""\
ClusterName=cluster
{SITE}SlurmdTimeout=0
InactiveLimit=0
KillWait=5
MinJobAge=100000
MaxArraySize=10001
ReturnToService=2
FirstJobId={{first}}
SlurmctldDebug=debug
"""
_JOB = """#!/bin/sh
umask 0
mkfifo {run}/jobs/$SLURM_JOB_ID 2>/dev/null
read code <{run}/jobs/$SLURM_JOB_ID
exit $code
"""
#: Seconds in which slurmctld goes round once.
_ROUND = 1.2
#: What slurmctld logs of a main pass.
_WHOLE_PASS = "job scheduler for full queue"
#: A time in an option.
_NOW = re.compile(r"now\+(\d+)")
#: Ids that a scenario may use.
_IDS = 10_000


def missing() -> list[str]:
    """Name what a real Slurm of this kind needs and this machine does not have."""
    found = [program for program in PROGRAMS if shutil.which(program) is None]
    found += [] if _library("libfaketimeMT") else ["libfaketime"]
    return found + ([] if os.geteuid() == 0 else ["root"])


def _library(name: str) -> Path | None:
    return next(iter(sorted(Path("/usr/lib").glob(f"*/faketime/{name}.so.1"))), None)


class SetUpError(Exception):
    """Slurm has not come to where a scenario needs it."""


class RealSlurm:
    """A Slurm in a directory of its own, with a database of its own.

    Args:
        run: An empty directory that all users can reach.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._stack = ExitStack()
        self._numbers = dict(zip(("ctld", "dbd", "sql"), ports(3), strict=True))
        self._now = BEGIN
        self._first = 1
        #: The commands that made the accounts that there are.
        self._accounts: list[str] | None = None
        self._slurmds: list[subprocess.Popen[bytes]] = []
        self._ctld: subprocess.Popen[bytes] | None = None
        #: When the last main pass and the last backfill cycle were.
        self._last_pass = self._last_cycle = BEGIN
        #: How often slurmctld has logged something.
        self._logged: Counter[str] = Counter()
        self._job = run / "job.sh"

    def __enter__(self) -> Self:
        """Start the database."""
        for folder in ("state", "spool", "database", "jobs", "log"):
            (self._run / folder).mkdir()
        (self._run / "jobs").chmod(0o1777)
        self._job.write_text(_JOB.format(run=self._run))
        self._job.chmod(0o755)
        (self._run / "cgroup.conf").write_text("CgroupAutomount=no\n")
        self._write([], [])
        self._stack.enter_context(accounting(self._run, self._numbers))
        until("sh", "-c", "sacctmgr -i add cluster cluster; sacctmgr -n show cluster | grep .")
        self._stack.callback(self._stop)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop everything."""
        self._stack.close()

    # ---- bringing it to a machine -----------------------------------------------------------------------------

    def begin(self, conf: Sequence[str], accounts: Sequence[str]) -> None:
        """Start a cluster with nothing in its queue.

        Args:
            conf: Lines of slurm.conf, with nodes and partitions.
            accounts: Commands of sacctmgr without ``-i``, after which there is nothing else but the account root and
                the QOS normal.

        Raises:
            SetUpError: Slurm does not take this.
        """
        self._stop()
        self._first += _IDS
        self._now = BEGIN - 4
        nodes = [line for line in conf if line.startswith("NodeName=") and not GRES_LINE.search(line)]
        self._write(conf, nodes)
        self._set_accounts(accounts)
        self._set_clock()
        shutil.rmtree(self._run / "state")
        (self._run / "state").mkdir()
        for name in NodeSet(",".join(re.findall(r"NodeName=(\S+)", "\n".join(nodes)))):
            (self._run / "spool" / name).mkdir(exist_ok=True)
            # They are new each time, as they register when they start.
            self._slurmds.append(self._start("slurmd", "-D", "-N", name, log=name))
        self._ctld = self._start("slurmctld", "-D", "-c", env=self._environment("libfaketimeMT"))
        self._logged.clear()
        self._until(lambda: self._states() == {"idle"}, "the nodes are idle")
        # It comes to its rhythm: passes over the whole queue at odd seconds, backfill cycles at even ones.
        for seconds, what in ((2, "no jobs to backfill"), (1, "job scheduler for default depth"), (1, _WHOLE_PASS)):
            self._pass_time(seconds)
            self._until(partial(self._has_more, what), what)
            time.sleep(_ROUND)
        self._until(partial(self._has_more, "no jobs to backfill"), "a backfill cycle is made")
        self._logged[_WHOLE_PASS] = self._count(_WHOLE_PASS)
        self._last_pass, self._last_cycle = self._now - 1, self._now

    def _write(self, conf: Sequence[str], nodes: Sequence[str]) -> None:
        """Write the configuration files."""
        host = socket.gethostname()
        lines, gres = [], [line for line in conf if GRES_LINE.search(line)]
        devices = not gres
        for line in nodes:
            name = line.split()[0]
            count = len(NodeSet(name.removeprefix("NodeName=")))
            chosen = ",".join(map(str, ports(count)))
            where = f"NodeHostname={host} NodeAddr=127.0.0.1 Port={f'[{chosen}]' if count > 1 else chosen}"
            lines.append(f"{line} {where}")
            first = 0
            for kind, number in re.findall(r"gpu:(?:([a-z]\w*):)?(\d+)(?=[ ,]|$)", line) if devices else ():
                files = f"/dev/tty[{first}-{first + int(number) - 1}]" if int(number) > 1 else f"/dev/tty{first}"
                gres.append(f"{name} Name=gpu {f'Type={kind} ' if kind else ''}File={files}")
                first += int(number)
        site = _SITE.format(run=self._run, host=host, first=self._first, **self._numbers)
        others = ("NodeName=", "PartitionName=", "SwitchName=")
        rest = [line for line in conf if not (line.startswith(others) or GRES_LINE.search(line))]
        switches = [line for line in conf if line.startswith("SwitchName=")]
        parts = [line for line in conf if line.startswith("PartitionName=")]
        (self._run / "slurm.conf").write_text("\n".join([site, *rest, *lines, *parts]) + "\n")
        (self._run / "gres.conf").write_text("\n".join(gres) + "\n")
        (self._run / "topology.conf").write_text("\n".join(switches) + "\n")

    def _set_accounts(self, commands: Sequence[str]) -> None:
        """Make accounts, users and QOS anew."""
        if self._accounts == list(commands):
            return
        self._accounts = None
        undo = []
        for kind, keep in (("user", "root"), ("account", "root"), ("qos", "normal")):
            told = self.command("sacctmgr", "-nP", "show", kind, f"format={kind if kind != 'qos' else 'name'}").stdout
            if names := [name for name in told.split() if name != keep]:
                undo.append(f"delete {kind} where name={','.join(names)}")
        for words in [*undo, *commands]:
            done = self.command("sacctmgr", "-i", *shlex.split(words))
            if done.returncode:
                raise SetUpError(f"sacctmgr {words}: {done.stdout} {done.stderr}")
        self._accounts = list(commands)

    def _stop(self) -> None:
        """End the jobs, and stop the cluster."""
        if self._ctld is not None:
            self.command("sh", "-c", "squeue -h -o %A | xargs -r scancel")
            with suppress(SetUpError):
                self._until(lambda: not self.command("squeue", "-h", "-o", "%A").stdout, "the queue is empty")
            _end(self._ctld)
        self._ctld = None
        for process in self._slurmds:
            _end(process)
        self._slurmds = []

    def _start(self, *words: str, env: dict[str, str] | None = None, log: str = "") -> subprocess.Popen[bytes]:
        with (self._run / "log" / f"{log or words[0]}.log").open("wb") as out:
            return subprocess.Popen(words, stdout=out, stderr=out, env=env or self._environment())

    # ---- commands ---------------------------------------------------------------------------------------------

    def _environment(self, library: str = "") -> dict[str, str]:
        words = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "SLURM_CONF": f"{self._run}/slurm.conf"}
        if library:
            words |= {"FAKETIME_TIMESTAMP_FILE": f"{self._run}/clock", "FAKETIME_NO_CACHE": "1"}
            words["LD_PRELOAD"] = str(_library(library))
        return words

    def command(self, *words: str, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Run a command; those that tell times are on Slurm's clock."""
        env = self._environment("libfaketime" if words[0] in {"scontrol", "squeue"} and user == "root" else "")
        return run_as(user, *words, env=env)

    def submit(self, options: Sequence[str], user: str) -> subprocess.CompletedProcess[str]:
        """Submit a job, which runs until `end`."""
        options = [_NOW.sub(lambda found: _date(self._now + int(found[1])), option) for option in options]
        return self.command("sbatch", "-o", "/dev/null", *options, str(self._job), user=user)

    # ---- time and ends ----------------------------------------------------------------------------------------

    def wait(self, seconds: int) -> None:
        """Let time pass; return when Slurm has made the main pass and the backfill cycle that are due."""
        self._pass_time(seconds)
        if self._now >= self._last_pass + INTERVAL:
            self._until(partial(self._has_more, _WHOLE_PASS), "a main pass is made")
            self._last_pass = self._now
        if self._now >= self._last_cycle + INTERVAL:
            self._until(self._has_planned, "a backfill cycle is made")
            self._last_cycle = self._now
        self.settle()

    def _pass_time(self, seconds: int) -> None:
        # Otherwise there may be no backfill cycle, if nothing has changed.
        self.command("scontrol", "update", "nodename=ALL", f"comment={self._now}")
        self._now += seconds
        self._set_clock()

    def settle(self) -> None:
        """Wait until no job is just leaving its nodes."""
        self._until(lambda: not self.command("squeue", "-h", "-t", "CG", "-o", "%A").stdout, "no job is ending")

    def end(self, job: str, code: int) -> None:
        """Let a job end by itself, if it runs."""
        if not self.command("squeue", "-h", "-j", job, "-t", "R", "-o", "%A").stdout:
            return
        path = self._run / "jobs" / job
        self._until(path.exists, "the job runs")
        self.command("timeout", "20", "sh", "-c", f"echo {code} >{path}")
        self._until(
            lambda: self.command("squeue", "-h", "-j", job, "-t", "R,CG", "-o", "%A").stdout == "", "the job has ended"
        )

    def _set_clock(self) -> None:
        (self._run / "clock.new").write_text(_date(self._now).replace("T", " ") + "\n")
        (self._run / "clock.new").rename(self._run / "clock")

    def _has_planned(self) -> bool:
        """Whether a backfill cycle has been made at this time, which may have found no jobs."""
        found = re.search(r"Backfilling.*Last cycle when: .*?\((\d+)\)", self.command("sdiag").stdout, re.DOTALL)
        return (found is not None and int(found[1]) == self._now) or self._has_more("no jobs to backfill")

    def _has_more(self, line: str) -> bool:
        """Whether slurmctld has logged something since it was last asked."""
        count = self._count(line)
        more, self._logged[line] = count > self._logged[line], count
        return more

    def _count(self, line: str) -> int:
        return (self._run / "log" / "slurmctld.log").read_text(errors="replace").count(line)

    def _states(self) -> set[str]:
        return set(self.command("sinfo", "-h", "-N", "-o", "%T").stdout.split())

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE / 4
        while not is_so():
            if time.monotonic() > end:
                raise SetUpError(f"it has not happened that {what}")
            if self._ctld is not None and self._ctld.poll() is not None:
                raise SetUpError("slurmctld has ended")
            time.sleep(0.05)


def _date(time_: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time_))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # nobody needs what it would save
    process.wait()
    for left in Path("/dev/shm").glob(f"*faketime_*_{process.pid}"):  # noqa: S108 - libfaketime's own
        left.unlink()
