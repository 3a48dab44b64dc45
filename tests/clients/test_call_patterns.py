"""Programs that PyPI has not, or not without a gigabyte beside them: what they call and read."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from getpass import getuser
from typing import TYPE_CHECKING

from .conftest import PROGRAMS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

_COMMAND_RUN = """#!/bin/bash
#SBATCH -J nf-square_(1)
#SBATCH -o {log}
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 2
#SBATCH -t 00:03:00
#SBATCH --mem 100M
#SBATCH -p debug
set -e
set -u
on_exit() {{ exit_status=$?; printf -- $exit_status > .exitcode; exit $exit_status; }}
trap 'on_exit' EXIT
trap 'exit 143' TERM
echo square
{work} & wait $!
"""


def _states(cluster: LiveCluster) -> dict[int, str]:
    """Ask as nextflow does, and read as it does: two columns."""
    listed = cluster.run("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-p", "debug", "-u", getuser()).stdout
    return {int(number): state for number, state in (line.split() for line in listed.splitlines())}


def test_nextflow(cluster: LiveCluster) -> None:
    for folder, work in (("one", "true"), ("two", "sleep 1000"), ("three", "false")):
        (cluster.directory / folder).mkdir()
        log = cluster.directory / folder / ".command.log"
        (cluster.directory / folder / ".command.run").write_text(_COMMAND_RUN.format(log=log, work=work))
        submitted = cluster.run("sh", "-c", f"cd {folder}; sbatch .command.run").stdout
        assert submitted.startswith("Submitted batch job ")
    cluster.wait(lambda: _states(cluster) == {1: "CD", 2: "R", 3: "F"})
    cluster.wait((cluster.directory / "two" / ".command.log").exists)
    cluster.run("scancel", "2")
    cluster.wait(lambda: _states(cluster)[2] == "CA")
    codes = [(cluster.directory / folder / ".exitcode").read_text() for folder in ("one", "two", "three")]
    assert codes == ["0", "143", "1"]


def test_lightning(cluster: LiveCluster) -> None:
    step = f"srun {sys.executable} {PROGRAMS / 'lightning_step.py'} wait"
    options = ["-a", "3", "-N2", "--ntasks-per-node=2", "--signal=SIGUSR1@600", "-t", "20", "-o", "out-%A_%a"]
    cluster.submit(*options, "--open-mode=append", stdin=f"#!/bin/bash\n{step}\n")
    cluster.wait(lambda: len(list(cluster.directory.glob("ready-*"))) == 4)
    cluster.run("scancel", "--signal=USR1", "1_3")
    cluster.idle()
    [record] = cluster.records()
    assert (record["base_state"], record["restart_count"]) == ("COMPLETED", 1)
    said = sorted((cluster.directory / "out-1_3").read_text().splitlines())
    lines = [f"n1 4 {rank} {rank % 2} {rank // 2} 2 2" for rank in range(4)]
    assert [line for line in said if line.startswith("n1")] == sorted([*lines, *lines])


#: The columns that Open OnDemand's adapter (ood_core) asks `squeue` for, in its order.
_COLUMNS = (
    "Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature ArrayJobID GroupName "
    "GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID TimeLimit TimeLeft MinMemory "
    "TimeUsed ReqNodes NodeList Command Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State "
    "UserName UserID Reservation SubmitTime WCKey Licenses ExcNodes CoreSpec Nice SchedNodes SCT WorkDir tres-alloc "
    "tres-per-node"
)
_ONDEMAND = _COLUMNS.split()
_UNIT = "\x1f"


def test_open_ondemand(cluster: LiveCluster) -> None:
    """Its adapter for Slurm: jobs from standard input, `squeue` with a separator of its own, and what a cluster has."""
    times = {"SLURM_TIME_FORMAT": "%Y-%m-%dT%H:%M:%S%z"}
    here = ("-M", "cluster")

    def jobs(*words: str) -> list[dict[str, str]]:
        columns = "".join(f"{name}:{_UNIT}," for name in _ONDEMAND)
        words = ("--all", "--states=all", "--noconvert", "-O", columns, "-u", getuser(), *words, *here)
        _, lines = cluster.run("squeue", *words, environment=times).stdout.split(f"{_UNIT}\n", 1)
        return [dict(zip(_ONDEMAND, line.split(_UNIT), strict=False)) for line in lines.splitlines()]

    options = ["-H", "--no-requeue", "-D", str(cluster.directory), "--mail-type", "NONE", "-J", "sys/dashboard", "-o"]
    options += ["output.log", "-p", "debug", "--begin", "now", "-t", "01:00:00", "-n", "2", "-x", "n1", "-d"]
    first = cluster.run("sbatch", "-H", "--parsable", *here, stdin="#!/bin/bash\ntrue\n").stdout.strip().split(";")[0]
    options += [f"afterany:{first}", "--export", "NONE", "--parsable", *here]
    number = cluster.run("sbatch", *options, stdin="#!/bin/bash\nsleep 600\n").stdout.strip().split(";")[0]
    [job] = jobs("-j", number)
    shown = [job[name] for name in ("JobID", "StateCompact", "Name", "UserName", "NumCPUs", "ExcNodes", "TimeLimit")]
    assert shown == [number, "PD", "sys/dashboard", getuser(), "2", "n1", "1:00:00"]
    assert (job["Dependency"], job["WorkDir"]) == (f"afterany:{first}(unfulfilled)", str(cluster.directory))
    ago = datetime.now().astimezone() - datetime.strptime(job["SubmitTime"], "%Y-%m-%dT%H:%M:%S%z")
    assert timedelta(0) <= ago < timedelta(minutes=5)
    for one in (first, number):
        cluster.run("scontrol", "release", one, *here)
    cluster.wait(lambda: [job["StateCompact"] for job in jobs("-j", number)] == ["R"])

    nodes_and_cpus = cluster.run("sinfo", "-aho %F/%C").stdout.strip().split("/")
    assert [int(count) for count in nodes_and_cpus] == [1, 3, 0, 4, 2, 14, 0, 16]
    described = cluster.run("sinfo", "-ahNO", "nodehost:100,gres:512,gresused:512,statelong", environment=times)
    assert [line.split()[1:] for line in described.stdout.splitlines()].count(["(null)", "(null)", "idle"]) == 3
    assert cluster.run("sinfo", "-ho", "\x1e%c\x1f%n\x1f%f", *here).stdout.partition("\x1e")[2].startswith("4\x1f")
    for line in cluster.run("scontrol", "show", "part", "-o", *here).stdout.splitlines():
        assert all(re.fullmatch(r"\w+=.+", word) for word in line.split() if "=" in word)
    associations = ("show", "users", "withassoc", "format=account,qos", "where", "user=root", "cluster=cluster")
    assert cluster.run("sacctmgr", "-nP", *associations).stdout == "root|normal\n"
    fields = "User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,TotalCPU,MaxRSS,Partition"
    past = ("-P", "--delimiter", _UNIT, "-n", "--units", "G", "--allocations", "-o", f"{fields},Submit,Start,End")
    done = cluster.run("sacct", *past, "--state", "RUNNING,COMPLETED", "-S", "now-3600", "-E", "now", *here)
    assert {tuple(line.split(_UNIT)[2:4]) for line in done.stdout.splitlines()} == {
        (first, "sbatch"),
        (number, "sys/dashboard"),
    }
    cluster.run("scancel", number, *here)
    cluster.wait(lambda: [job["StateCompact"] for job in jobs("-j", number)] == ["CA"])
