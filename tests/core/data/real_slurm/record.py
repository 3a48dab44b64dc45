"""Record what a real Slurm does: carry out the scenarios of a text file and write Slurm's answers below each line.

    python record.py --run DIR [--only NAME] [--to OUT] limits.txt …

A file of scenarios is read, answers (lines that begin with `>`) that it already has are forgotten, every scenario is
carried out twice from an empty cluster, and the file is written again with the answers of those that agreed. README.md
describes the lines. DIR is the directory of a Slurm that runs as root on this machine only: it holds `slurm.conf`
(which /etc/slurm/slurm.conf links to; its paths, ports and hosts are kept, nodes and partitions are replaced),
`gres.conf`, and the process ids in `pids/`. slurmdbd must be running; slurmctld and slurmd are restarted from here.

Over 400 lines: the script runs by itself beside a real Slurm, without rota.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Columns of `look` that a file may ask for with a `columns:` line, and what squeue calls them.
COLUMNS = {"state": "%T", "reason": "%r", "nodes": "%N", "dependency": "%E", "priority": "%Q", "cpus": "%i"}
COLUMNS["reservation"] = "%v"
#: Where a command names a job: `scancel 1_2`, `jobid=1`, `after:1`.
COMMAND_JOB = re.compile(r"^(\d+)(?=_|$)")
OPTION_JOB = re.compile(r"(?<=jobid=)\d+|(?<=job=)\d+", re.IGNORECASE)
DEPENDENCY_JOB = re.compile(r"(?<=[a-z]:)\d+|(?<=:)\d+(?=[:,?_+(]|$)")
#: Where a complaint names a job: `for job 7`, `job id 7_1`, `7_1: Job has already finished`.
COMPLAINT_JOB = re.compile(r"(?<=job )\d+|(?<=job id )\d+|(?<=jobid=)\d+|^\d+(?=[_:])", re.IGNORECASE)
#: Words of squeue for a job that is about to leave its nodes.
PASSING = {"COMPLETING", "CONFIGURING"}
#: Scenarios in which earlier use of the machine would count, or which name a QOS in slurm.conf.
FRESH = re.compile(r"Mins|GrpWall|UsageThreshold|^conf: .*QOS=")
#: Lines that change what only a new slurmctld forgets.
MACHINE = re.compile(
    r"^(scontrol|user).*(nodename=|partitionname=|partition=\S+ .*state=|reconfigure)|Mins|GrpWall", re.IGNORECASE
)
#: Commands of sacctmgr whose effect stays when the QOS of the scenario are removed.
LASTING = re.compile(r"sacctmgr:? (?!.*qos ?\+=)(add|modify|delete|remove) (account|user)|qos \w*name=normal")


class SetUpError(Exception):
    """The cluster could not be brought to the state in which a scenario begins."""


@dataclasses.dataclass(kw_only=True)
class Scenario:
    """One scenario: its name and its lines without answers."""

    name: str
    lines: list[str]

    def settings(self, word: str) -> list[str]:
        """Return what stands behind `word:` (`conf`, `sacctmgr`) in the head of the scenario."""
        return [line.split(": ", 1)[1] for line in self.lines if line.startswith(word + ": ")]


@dataclasses.dataclass(kw_only=True)
class Topic:
    """A file of scenarios: the lines at its top, and the scenarios."""

    head: list[str]
    scenarios: list[Scenario]

    def settings(self, word: str) -> list[str]:
        """Return what stands behind `word:` (`base`, `base-sacctmgr`, `columns`) at the top of the file."""
        return [line.split(": ", 1)[1] for line in self.head if line.startswith(word + ": ")]


def read_topic(text: str) -> Topic:
    """Take a file apart; answers are left out."""
    topic = Topic(head=[], scenarios=[])
    lines: list[str] = topic.head
    for line in text.splitlines():
        if line.startswith("== "):
            topic.scenarios.append(Scenario(name=line[3:].strip(), lines=[]))
            lines = topic.scenarios[-1].lines
        elif line != "end" and not line.startswith(">") and (line.strip() or lines is topic.head):
            lines.append(line.rstrip())
    return topic


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/", timeout=120)


def complaints(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of standard error without the name of the command."""
    lines = [
        re.sub(r"^(sbatch|scontrol|scancel|sacctmgr|slurm_\w+): (error: )?", "", x) for x in result.stderr.splitlines()
    ]
    if result.returncode and not lines:
        lines = [line.strip() for line in result.stdout.splitlines()]
    return [line.strip() for line in lines if line.strip()]


class Cluster:
    """The Slurm on this machine: brought to a known state, and asked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: slurm.conf as found, the source of paths and ports.
        self.site = (directory / "slurm.conf.site").read_text()
        #: Lines of slurm.conf that the running slurmctld was started with, and node lines of the running slurmds.
        self.conf: list[str] = []
        self.nodes: list[str] = []
        #: Commands that made the accounts and QOS that are there now; None: something else happened to them since.
        self.accounts: list[str] | None = None
        #: Whether accounts and users are as the base left them, so that only QOS need to be made anew.
        self.based_on: list[str] = []

    def prepare(self, topic: Topic, scenario: Scenario) -> None:
        """Empty the cluster and set it up as a scenario wants it."""
        self.empty()
        base, conf = topic.settings("base"), scenario.settings("conf")
        if any(line.startswith("NodeName=") for line in conf):
            base = [line for line in base if not line.startswith("NodeName=")]
        conf = [*base, *conf]
        self.set_accounts(topic.settings("base-sacctmgr"), scenario.settings("sacctmgr"))
        if conf != self.conf or any(FRESH.search(line) for line in scenario.lines):
            self.restart(conf)
        if any(MACHINE.search(line) for line in scenario.lines):
            self.conf = []
        if any(line.startswith("sacctmgr ") for line in scenario.lines):
            self.accounts = None
        if any(LASTING.search(line) for line in scenario.lines):
            self.based_on = []
        self.wait_for_nodes()

    def set_accounts(self, base: list[str], commands: list[str]) -> None:
        """Carry out the commands for accounts and QOS, after taking back what the last scenario did."""
        if self.accounts == [*base, *commands]:
            return
        undo = []
        names = listed("qos", "name", except_for="normal")
        if names:
            undo.append(f"delete qos where name={names}")
        if base != self.based_on:
            for kind, field in (("user", "user"), ("account", "account")):
                names = listed(kind, field, except_for="root")
                if names:
                    undo.append(f"delete {kind} where name={names}")
            undo += base
        for command in [*undo, *commands]:
            result = run("sacctmgr", "-i", *shlex.split(command))
            if result.returncode:
                self.accounts, self.based_on = None, []
                raise SetUpError(f"sacctmgr {command}: {' '.join(complaints(result))}")
        self.based_on, self.accounts = base, [*base, *commands]
        time.sleep(0.4)

    def restart(self, conf: list[str]) -> None:
        """Start slurmctld without memory of the past, and slurmds if other nodes are wanted."""
        self.stop("slurmctld.pid")
        nodes = self.write_conf(conf)
        if nodes != self.nodes:
            # Before slurmctld starts: a node that still reports the GPUs of its last life would be drained.
            for pid in (self.directory / "pids").glob("slurmd-*.pid"):
                self.stop(pid.name)
        run("sh", "-c", f"rm -rf {shlex.quote(str(self.directory / 'state'))}/*")
        run("slurmctld", "-c")
        if nodes != self.nodes:
            for name in names_of(nodes):
                (self.directory / "spool" / name).mkdir(parents=True, exist_ok=True)
                run("slurmd", "-N", name)
        self.nodes, self.conf = nodes, conf

    def wait_for_nodes(self) -> None:
        """Wait until every node is idle."""
        names = set(names_of(self.nodes))
        for _ in range(300):
            found = run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N %t").stdout.splitlines()
            if names == {line.split()[0] for line in found if line.endswith(" idle")}:
                return
            time.sleep(0.1)
        self.conf, self.nodes = [], []
        raise SetUpError(f"the nodes did not come up: {' '.join(run('sinfo', '-N').stdout.split())}")

    def empty(self) -> None:
        """Cancel every job, wait until the nodes are free of them, and remove reservations."""
        for _ in range(100):
            names = run("squeue", "-h", "-o", "%A").stdout.split()
            if not names:
                break
            run("scancel", *names)
            time.sleep(0.1)
        for name in re.findall(r"ReservationName=(\S+)", run("scontrol", "show", "reservation").stdout):
            run("scontrol", "delete", f"reservation={name}")

    def stop(self, pid_file: str) -> None:
        """End the process whose id is in a file and wait for it."""
        path = self.directory / "pids" / pid_file
        try:
            pid = int(path.read_text())
            os.kill(pid, signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return
        for _ in range(200):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.05)
        path.unlink(missing_ok=True)

    def write_conf(self, lines: list[str]) -> list[str]:
        """Write slurm.conf: paths and ports as found, `lines` instead of the rest; return the node lines."""
        given = {line.split("=", 1)[0].lower() for line in lines}
        kept = [line for line in self.site.splitlines() if line.split("=", 1)[0].lower() not in given]
        nodes, port, host = [], 17001, os.uname().nodename.split(".")[0]
        gres = []
        for line in lines:
            if line.startswith("NodeName="):
                names = names_of([line])
                nodes.append(f"{line} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{port}-{port + len(names) - 1}]")
                port += len(names)
                where = line.split()[0]
                for kind, number in re.findall(r"gpu:(?:(\w+):)?(\d+)(?=[ ,]|$)", line):
                    files = "/dev/tty0" if number == "1" else f"/dev/tty[0-{int(number) - 1}]"
                    gres.append(f"{where} Name=gpu {f'Type={kind} ' if kind else ''}File={files}")
        # A later value of a key replaces an earlier one, except for the lines of which there may be many.
        last: dict[str, str] = {}
        for line in lines:
            key = line.split("=", 1)[0]
            if key in {"PartitionName", "NodeName", "SwitchName"}:
                key = line.split()[0]
            last[key.lower()] = line
        rest = [line for line in last.values() if not line.startswith(("NodeName=", "SwitchName="))]
        switches = [line for line in last.values() if line.startswith("SwitchName=")]
        parts = [line for line in rest if line.startswith("PartitionName=")]
        rest = [line for line in rest if not line.startswith("PartitionName=")]
        (self.directory / "slurm.conf").write_text("\n".join([*kept, *rest, *nodes, *parts]) + "\n")
        (self.directory / "gres.conf").write_text("\n".join(gres) + "\n")
        (self.directory / "topology.conf").write_text("\n".join(switches) + "\n")
        return nodes


def cpus_of(job: str) -> str:
    """Return the CPUs of a job by node, as scontrol numbers them, and its GPUs: `n1:0-1;n[2-3]:0+gpu:0`."""
    text = run("scontrol", "-d", "show", "job", job).stdout
    found = re.findall(r"^ +Nodes=(\S+) CPU_IDs=(\S+) Mem=\d+ GRES=(\S*)", text, flags=re.MULTILINE)
    parts = []
    for nodes, cpus, gres in found:
        devices = re.search(r"IDX:([\d,-]+)", gres)
        parts.append(f"{nodes}:{cpus}" + (f"+gpu:{devices[1]}" if devices else ""))
    return ";".join(parts)


def listed(kind: str, field: str, *, except_for: str) -> str:
    """Return the names that sacctmgr knows, with commas between."""
    names = run("sacctmgr", "-nP", "show", kind, f"format={field}").stdout.split()
    return ",".join(name for name in names if name != except_for)


def names_of(lines: list[str]) -> list[str]:
    """Return the names of the nodes of node lines, which are `n1` or `n[1-4]`."""
    names = []
    for line in lines:
        name = line.split()[0].removeprefix("NodeName=")
        found = re.fullmatch(r"(\w+)\[(\d+)-(\d+)\]", name)
        names += [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)] if found else [name]
    return names


class Recording:
    """One run of one scenario: numbers of jobs against real ids, and the answers."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns
        #: Real id of each job, by its number in the scenario.
        self.ids: dict[str, str] = {}

    def answer(self, line: str) -> list[str]:
        """Carry out one line; return the answers without their mark."""
        words = line.split()
        if words[0] in {"#", "conf:", "sacctmgr:"}:
            return []
        if words[0] == "wait":
            time.sleep(float(words[1]))
            return []
        if words[0] == "look":
            return self.look(words[1:])
        if words[0] == "show":
            return self.show(words[1], words[2], words[3:])
        prefix: list[str] = []
        if words[0] == "user":
            user, rest = line[len("user ") :].split(": ", 1)
            prefix = ["runuser", "-u", user, "--"]
            line = rest
        command = shlex.split(line)
        if command[0] == "sbatch":
            return self.submit(prefix, command[1:])
        if command[0] == "sacctmgr":
            command.insert(1, "-i")
        else:
            command = [self.real(word) for word in command]
        result = run(*prefix, *command)
        return [f"error: {self.numbered(text)}" for text in complaints(result)]

    def submit(self, prefix: list[str], options: list[str]) -> list[str]:
        """Submit a job that sleeps."""
        seconds, code = "600", ""
        options = list(options)
        while options and re.match(r"(run|exit)=\d+$", options[-1]):
            key, value = options.pop().split("=")
            seconds, code = (value, code) if key == "run" else (seconds, f"; exit {value}")
        options = [self.real(option) for option in options]
        result = run(*prefix, "sbatch", "-o", "/dev/null", *options, f"--wrap=sleep {seconds}{code}")
        found = re.search(r"Submitted batch job (\d+)", result.stdout)
        if not found:
            return [f"error: {self.numbered(text)}" for text in complaints(result)]
        number = str(len(self.ids) + 1)
        self.ids[number] = found[1]
        return [number, *(f"note: {text}" for text in complaints(result))]

    def real(self, word: str) -> str:
        """Put real ids where a word of a command names jobs by number."""

        def swap(match: re.Match[str]) -> str:
            return self.ids.get(match[0], match[0])

        if re.match(r"\d", word):
            return ",".join(COMMAND_JOB.sub(swap, part) for part in word.split(","))
        if re.search(r"after\w*:|dependency=", word):
            return DEPENDENCY_JOB.sub(swap, word)
        return OPTION_JOB.sub(swap, word)

    def numbered(self, text: str) -> str:
        """Put numbers where a complaint of Slurm names jobs by real id."""
        numbers = {real: number for number, real in self.ids.items()}
        return COMPLAINT_JOB.sub(lambda match: numbers.get(match[0], match[0]), text)

    def look(self, options: list[str]) -> list[str]:
        """Return what squeue shows, jobs that ended included, in order of number and task."""
        form = "%i|" + "|".join(COLUMNS.get(column, "") for column in self.columns)
        rows: list[list[str]] = []
        for _ in range(60):
            text = run("squeue", "-h", "-t", "all", "-o", form, *options).stdout
            rows = [line.split("|") for line in text.splitlines()]
            if not any(set(row) & PASSING for row in rows):
                break
            time.sleep(0.25)
        numbers = {real: number for number, real in self.ids.items()}
        shown = []
        for job, *values in rows:
            base, mark, task = job.partition("_")
            if base not in numbers:
                continue  # of an earlier scenario
            number = numbers[base]
            fields = dict(zip(self.columns, values, strict=True))
            if "dependency" in fields:
                fields["dependency"] = re.sub(
                    r"(?<=:)\d+", lambda match: numbers.get(match[0], match[0]), fields["dependency"]
                ).replace("(null)", "")
            if "cpus" in fields:
                fields["cpus"] = cpus_of(job)
            first = re.search(r"\d+", task)
            order = (int(number), task.startswith("["), int(first[0]) if first else 0)
            shown.append((order, " ".join([number + mark + task, *(fields[x] or "-" for x in self.columns)])))
        return [text for _, text in sorted(shown)]

    def show(self, kind: str, name: str, fields: list[str]) -> list[str]:
        """Return fields of `scontrol show`."""
        text = run("scontrol", "-d", "show", kind, self.real(name)).stdout
        found = dict(re.findall(r"(\S+?)=(.*?)(?=\s+\S+=|\s*\n|$)", text))
        if not fields:
            return [f"error: {line}" for line in text.splitlines()]
        return [f"{field}={found.get(field, '(none)')}" for field in fields]


def record(cluster: Cluster, topic: Topic, scenario: Scenario) -> list[str]:
    """Carry out one scenario; return its lines with the answers."""
    cluster.prepare(topic, scenario)
    columns = [name for line in topic.settings("columns") for name in line.split()] or ["state", "reason", "nodes"]
    recording = Recording(columns)
    lines = []
    for line in scenario.lines:
        lines += [line, *("> " + answer for answer in recording.answer(line))]
    return lines


def write_topic(path: Path, topic: Topic, recorded: dict[str, list[str]]) -> None:
    """Write a file with the scenarios recorded so far."""
    parts = ["\n".join(topic.head).rstrip()]
    parts += ["\n".join([f"== {x.name}", *recorded[x.name], "end"]) for x in topic.scenarios if x.name in recorded]
    path.write_text("\n\n".join(parts) + "\n")


def read_answers(text: str, topic: Topic) -> dict[str, list[str]]:
    """Return the scenarios of a file with their answers, as far as their lines are still those of `topic`."""
    answered = {}
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, *lines = [line for line in part.splitlines() if line.strip() and line != "end"]
        answered[name] = lines
    wanted = {scenario.name: scenario.lines for scenario in topic.scenarios}
    return {
        name: lines
        for name, lines in answered.items()
        if wanted.get(name) == [line for line in lines if not line.startswith(">")]
    }


def main() -> None:
    """Record the files named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, required=True, help="directory of the Slurm to use")
    parser.add_argument("--only", action="append", help="name of a scenario; its answers go to standard output")
    parser.add_argument("--to", type=Path, help="directory to write to instead of in place")
    parser.add_argument("--resume", action="store_true", help="keep what the file that is written to has already")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    site = options.run / "slurm.conf.site"
    if not site.exists():
        text = (options.run / "slurm.conf").read_text()
        lines = [line for line in text.splitlines() if not line.startswith(("NodeName=", "PartitionName="))]
        site.write_text("\n".join(lines) + "\n")
    cluster = Cluster(options.run)
    for path in options.files:
        topic = read_topic(path.read_text())
        target = options.to / path.name if options.to else path
        recorded = read_answers(target.read_text(), topic) if options.resume and target.exists() else {}
        for scenario in topic.scenarios:
            if scenario.name in recorded or (options.only and scenario.name not in options.only):
                continue
            try:
                first, second = (record(cluster, topic, scenario) for _ in range(2))
            except SetUpError as error:
                sys.stderr.write(f"{path.name}: {scenario.name}: {error}\n")
                continue
            if options.only:
                sys.stdout.write("\n".join(first) + "\n")
            if first == second:
                recorded[scenario.name] = first
                if not options.only:
                    write_topic(target, topic, recorded)
            else:
                sys.stderr.write(f"{path.name}: {scenario.name}: two runs differ\n")
                for one, two in zip(first, second, strict=False):
                    if one != two:
                        sys.stderr.write(f"  {one}\n  {two}\n")
    cluster.empty()


if __name__ == "__main__":
    main()
