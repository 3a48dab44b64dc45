"""``make record-month``: play a month through the daemons of a real Slurm 22.05, and write what its accounting says.

Slurm's clock is moved (`month.clock`): slurmctld, a slurmd for each node and the jobs have it, while slurmdbd, which
only writes down what it is told, has ours. It takes half an hour, root, Debian's Slurm, and one processor.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ClusterShell.NodeSet import NodeSet
from jobmeta.real_slurm import SITE, accounting, ports, run_as, start, until

from month.clock import MovedClock
from month.site import BEGIN, CONF, DAY, DAYS, accounts, month

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA = Path(__file__).parents[1] / "replay" / "data" / "month-22.05"
_SITE = f"""\
ClusterName=month
{SITE}SlurmdTimeout=0
InactiveLimit=0
MaxArraySize=10001
ReturnToService=2
SlurmctldDebug=info
"""
_JOB = """#!/bin/sh
set -- {lengths}
shift $((${{SLURM_ARRAY_TASK_ID:-1}} - 1))
{clock} sleep $1
exit {code}
"""
#: A time in an option.
_NOW = re.compile(r"now\+(\d+)")
#: Seconds before the month in which the daemons start.
_BEFORE = 60
#: What docs/workloads.md asks administrators for.
_FIELDS = (
    "JobID,JobIDRaw,Cluster,User,UID,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,Timelimit"
    ",ReqCPUS,ReqMem,ReqTRES,AllocTRES,NodeList,Constraints,Reservation"
)


class _Month:
    """A month that is played."""

    def __init__(self, run: Path, seed: int, days: int) -> None:
        self._run = run
        self._days = days
        self._submissions, self._outages = month(seed)
        self._numbers = dict(zip(("ctld", "dbd", "sql"), ports(3), strict=True))
        self._stack = ExitStack()
        #: Job ids of the submissions made.
        self._ids: dict[int, str] = {}
        #: Of commands, which have our clock.
        self._environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "TZ": "UTC",
            "SLURM_CONF": f"{run}/slurm.conf",
            "SLURM_TIME_FORMAT": "%s",
        }

    def play(self) -> None:
        """Play it, and write what accounting says of it."""
        for folder in ("state", "spool", "database", "log"):
            (self._run / folder).mkdir()
        (self._run / "cgroup.conf").write_text("CgroupAutomount=no\n")
        nodes = self._write_conf()
        with self._stack as stack:
            self._clock = stack.enter_context(MovedClock(self._run, BEGIN - _BEFORE))
            os.environ["LD_PRELOAD"] = self._clock.environment()["LD_PRELOAD"]  # for its quick messages
            with self._clock.first():
                stack.enter_context(accounting(self._run, self._numbers))
            del os.environ["LD_PRELOAD"]
            until("sh", "-c", "sacctmgr -i add cluster month; sacctmgr -n show cluster | grep .")
            for words in accounts():
                subprocess.run(["sacctmgr", "-i", *words.split()], check=True, stdout=subprocess.DEVNULL)
            for name in nodes:
                (self._run / "spool" / name).mkdir()
                self._start("slurmd", "-D", "-N", name, log=name)
            self._start("slurmctld", "-D", "-c", log="slurmctld")
            self._until_ready()
            self._clock.go_to(BEGIN)
            self._live()
            self._write_out()

    def _write_conf(self) -> NodeSet:
        host, nodes = socket.gethostname(), NodeSet()
        lines = []
        for line in CONF.splitlines():
            where = ""
            if found := re.match(r"NodeName=(\S+)", line):
                names = NodeSet(found[1])
                nodes.update(names)
                where = f" NodeHostname={host} NodeAddr=127.0.0.1 Port=[{','.join(map(str, ports(len(names))))}]"
            lines.append(line + where)
        site = _SITE.format(run=self._run, host=host, **self._numbers)
        (self._run / "slurm.conf").write_text(site + "\n".join(lines) + "\n")
        (self._run / "gres.conf").write_text("NodeName=g[01-03] Name=gpu File=/dev/tty[0-3]\n")
        return nodes

    def _start(self, *words: str, log: str) -> None:
        with (self._run / "log" / f"{log}.log").open("wb") as out:
            environment = self._environment | self._clock.environment("late" if words[0] == "slurmd" else "")
            with self._clock.first():
                process = subprocess.Popen(words, stdout=out, stderr=out, env=environment)
        self._clock.add(process.pid, awaited=words[0] == "slurmctld")

    def _command(self, *words: str, user: str = "root", script: str = "") -> subprocess.CompletedProcess[str]:
        return run_as(user, *words, env=self._environment, script=script)

    def _until_ready(self) -> None:
        for _ in range(300):
            self._clock.go_slowly(1)
            time.sleep(0.1)
            if set(self._command("sinfo", "-h", "-N", "-o", "%T").stdout.split()) == {"idle"}:
                return
        sys.exit(f"its nodes do not come up: see {self._run}/log")

    # ---- what happens in it ---------------------------------------------------------------------------------------

    def _live(self) -> None:
        told, began = 0, time.monotonic()
        for begin, action in self._events():
            self._clock.go_to(BEGIN + begin)
            action()
            self._clock.settle()
            self._clock.happen()
            if (self._clock.now - BEGIN) // DAY > told:
                told = (self._clock.now - BEGIN) // DAY
                waiting = len(self._command("squeue", "-h", "-r", "-t", "PD").stdout.splitlines())
                seconds = time.monotonic() - began
                _say(f"day {told}: {seconds:.0f} s, {self._clock.moves:,} moves, {waiting} jobs wait")
        self._clock.go_to(BEGIN + self._days * DAY)

    def _events(self) -> list[tuple[int, Callable[[], None]]]:
        """Give what people do, with the seconds from the begin of the month, in order."""
        events: list[tuple[int, Callable[[], None]]] = []
        for index, one in enumerate(self._submissions):
            events.append((one.time, partial(self._submit, index)))
            if one.cancelled is not None:
                events.append((one.cancelled, partial(self._withdraw, index)))
            if one.requeued is not None:
                events.append((one.requeued, partial(self._requeue, index)))
        for out in self._outages:
            events.append((out.begin, partial(self._update, out.node, "state=down", "reason=broken")))
            events.append((out.end, partial(self._update, out.node, "state=resume")))
        return sorted((one for one in events if one[0] < self._days * DAY), key=itemgetter(0))

    def _submit(self, index: int) -> None:
        one = self._submissions[index]
        options = [_NOW.sub(lambda found: _date(self._clock.now + int(found[1])), option) for option in one.options]
        if one.after is not None and one.after[1] in self._ids:
            how, other = one.after
            options.append("--dependency=singleton" if how == "singleton" else f"--dependency={how}:{self._ids[other]}")
        lengths = " ".join(map(str, one.lengths))
        clock = " ".join(f"{name}={value}" for name, value in self._clock.environment("event").items())
        script = _JOB.format(lengths=lengths, clock=clock, code=one.exit_code)
        done = self._command("sbatch", "--parsable", "-o", "/dev/null", *options, user=one.user, script=script)
        if done.returncode:
            _say(f"{one.user}: sbatch {' '.join(options)}: {done.stderr.strip()}")
        else:
            self._ids[index] = done.stdout.strip()

    def _withdraw(self, index: int) -> None:
        if index in self._ids:
            self._command("scancel", self._ids[index], user=self._submissions[index].user)

    def _requeue(self, index: int) -> None:
        if index in self._ids:
            self._command("scontrol", "requeue", self._ids[index])

    def _update(self, node: str, *words: str) -> None:
        self._command("scontrol", "update", f"nodename={node}", *words)

    # ---- what accounting says ---------------------------------------------------------------------------------------

    def _write_out(self) -> None:
        while "DBD Agent queue size: 0" not in self._command("sdiag").stdout:
            self._clock.go_slowly(1)
        month_ = _date(BEGIN), _date(BEGIN + self._days * DAY)
        said = {
            "sacct.txt.gz": self._said("sacct", "-aXDP", "-S", month_[0], "-E", month_[1], "-o", _FIELDS),
            "qos.txt": self._said("sacctmgr", "-P", "show", "qos"),
            "slurm.conf": f"ClusterName=month\n{CONF}",
            "failures.txt": self._failures(),
        }
        self._said("sacctmgr", "dump", "month", f"file={self._run}/dump")
        said["sacctmgr.dump"] = (self._run / "dump").read_text()
        self._add_up()
        used = (
            "-P",
            "-t",
            "seconds",
            "cluster",
            "AccountUtilizationByUser",
            *(f"{w}={t}" for w, t in zip(("start", "end"), month_, strict=True)),
        )
        said["sreport.txt"] = self._said("sreport", *used)
        _DATA.mkdir(exist_ok=True)
        for name, text in said.items():
            data = text.encode()
            (_DATA / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)

    def _failures(self) -> str:
        """Tell of the nodes that broke, as rota reads it. The jobs that were lost have ended then."""
        first = self._submissions[0].time
        return "".join(f"{out.begin - first} {out.node} {out.end - out.begin} drain\n" for out in self._outages)

    def _add_up(self) -> None:
        """Have slurmdbd add up what was used, which it does by its own clock when it starts."""
        process = int((self._run / "slurmdbd.pid").read_text())
        os.kill(process, signal.SIGTERM)
        while Path(f"/proc/{process}/exe").exists():
            time.sleep(0.1)
        start(self._stack, self._run, "slurmdbd", "-D")
        query = "select hourly_rollup from slurm_acct_db.month_last_ran_table"
        sql = ("mariadb", "--no-defaults", "-S", f"{self._run}/socket", "-N", "-e", query)
        while int(self._command(*sql).stdout or 0) < BEGIN + self._days * DAY:
            time.sleep(0.5)

    def _said(self, *words: str) -> str:
        done = self._command(*words)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _date(time_: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time_))


def main() -> None:
    """Play a month."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--run", type=Path, default=None, help="a directory in memory (default: a new one)")
    given = parser.parse_args()
    run = given.run or Path(tempfile.mkdtemp(prefix="month-", dir="/dev/shm"))
    run.mkdir(exist_ok=True)
    run.chmod(0o755)
    _Month(run, given.seed, given.days).play()


if __name__ == "__main__":
    main()
