"""A drawn scenario is carried out beside a real Slurm, and then with rota; what differs is counted by record."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ClusterShell.NodeSet import NodeSet
from core.scenarios import Player, parse_scenarios

from .draw import ACCOUNTS, BASE
from .real import BEGIN

if TYPE_CHECKING:
    from pathlib import Path

    from .draw import Drawn
    from .real import RealSlurm

COLUMNS = ("state", "reason", "nodes", "priority", "memory", "start", "planned", "cpus")
#: The columns by which a record is said to be equal.
MAIN = frozenset({"state", "reason", "nodes", "cpus"})


#: The lines at the top of a file of scenarios.
HEAD = "\n".join(
    [
        "# What Slurm 22.05.8 did. README.md describes the lines.\n",
        *(f"base: {line}" for line in BASE),
        *(f"base-sacctmgr: {line}" for line in ACCOUNTS),
        f"columns: {' '.join(COLUMNS)}\n\n",
    ]
)
#: Of a job in a drawn scenario.
_LABEL = re.compile(r"\bj\d+\b")


class Recorder:
    """One run of a scenario with a real Slurm.

    Args:
        slurm: It has begun with the scenario's machine.
    """

    def __init__(self, slurm: RealSlurm) -> None:
        self._slurm = slurm
        #: Number and real id of each job.
        self._numbers: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        #: The steps that were carried out.
        self.carried: list[tuple[str, str]] = []

    def play(self, drawn: Drawn) -> str:
        """Carry it out; give the lines with the answers. Lines about jobs that were refused are left out."""
        lines = [f"== {drawn.kind}-{drawn.seed}", f"clock: {BEGIN}"]
        lines += [f"conf: {line}" for line in drawn.conf]
        lines += [f"sacctmgr: {line}" for line in drawn.accounts]
        for label, line in drawn.steps:
            named = set(_LABEL.findall(line))
            if not named <= set(self._labels):
                continue
            self.carried.append((label, line))
            lines.append(_LABEL.sub(lambda found: self._labels[found[0]], line))
            real = _LABEL.sub(lambda found: self._ids[self._labels[found[0]]], line)
            lines += [f"> {answer}" for answer in self._answer(real, label)]
        return "\n".join([*lines, "end"]) + "\n"

    def _answer(self, line: str, label: str) -> list[str]:
        words = shlex.split(line)
        user = "root"
        if words[0] == "user":
            user = words[1].rstrip(":")
            words = words[2:]
        if words[0] == "wait":
            self._slurm.wait(int(words[1]))
            return []
        if words[0] == "look":
            return self._look()
        if words[0] == "end":
            self._slurm.end(words[1], int(words[2]))
            return []
        if words[0] == "sbatch":
            return self._submit(words[1:], user, label)
        if words[0] == "show":
            return self._show(words[1], words[2], words[3:])
        done = self._slurm.command(*words, user=user)
        if words[0] in {"squeue", "sprio", "sshare"}:
            return [self._numbered(text) for text in (done.stdout + done.stderr).splitlines()]
        self._slurm.settle()
        return [f"error: {self._numbered(text)}" for text in _complaints(done.stderr)]

    def _submit(self, options: list[str], user: str, label: str) -> list[str]:
        done = self._slurm.submit(options, user)
        found = re.search(r"Submitted batch job (\d+)", done.stdout)
        if found is None:
            return [f"error: {text}" for text in _complaints(done.stderr)]
        number = str(len(self._ids) + 1)
        self._ids[number] = found[1]
        self._numbers[found[1]] = number
        self._labels[label] = number
        return [number]

    def _show(self, kind: str, name: str, fields: list[str]) -> list[str]:
        text = self._slurm.command("scontrol", "-d", "show", kind, name).stdout
        found = dict(re.findall(r"(\S+?)=(.*?)(?=\s+\S+=|\s*\n|$)", text))
        return [f"{field}={found.get(field, '(none)')}" for field in fields]

    def _numbered(self, text: str) -> str:
        return re.sub(r"\b\d{5,}\b", lambda found: self._numbers.get(found[0], found[0]), text)

    def _look(self) -> list[str]:
        rows = self._slurm.command("squeue", "-h", "-a", "-t", "all", "-o", "%A|%T|%r|%N|%Q").stdout.splitlines()
        text = self._slurm.command("scontrol", "-d", "-o", "-a", "show", "job").stdout
        details = {found[1]: line for line in text.splitlines() if (found := re.match(r"JobId=(\d+)", line))}
        shown: dict[int, str] = {}
        for row in rows:
            job, state, reason, nodes, priority = row.split("|")
            more = _details(details.get(job, ""), state)
            fields = {"state": state, "reason": reason, "nodes": nodes or "-", "priority": priority, **more}
            number = self._numbers.get(job)
            if number is not None:
                shown[int(number)] = " ".join((number, *(fields[column] for column in COLUMNS)))
        return [shown[number] for number in sorted(shown)]


def _details(line: str, state: str) -> dict[str, str]:
    """Read what ``scontrol`` says of a job's nodes and times."""
    cpus: dict[str, str] = {}
    memory: dict[str, str] = {}
    if state != "PENDING":
        for nodes, ids, mem, gres in re.findall(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", line):
            gpus = ",".join(re.findall(r"IDX:([\d,-]+)\)", gres))
            for node in NodeSet(nodes):
                cpus[node] = f"{node}:{ids}" + (f"+gpu:{gpus}" if gpus else "")
                memory[node] = f"{node}:{mem}"
    start = re.search(r" StartTime=(\S+)", line)
    planned = re.search(r" SchedNodeList=(\S+)", line)
    return {
        "cpus": ";".join(cpus[node] for node in sorted(cpus)) or "-",
        "memory": ";".join(memory[node] for node in sorted(memory)) or "-",
        "start": _offset(start[1]) if start and state in {"RUNNING", "PENDING"} else "-",
        "planned": planned[1] if planned and state == "PENDING" else "-",
    }


def _offset(text: str) -> str:
    from datetime import UTC, datetime

    if text == "Unknown":
        return "-"
    return f"{datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() - BEGIN:+.0f}"


def _complaints(text: str) -> list[str]:
    return [re.sub(r"^(sbatch|scontrol|scancel|slurm_\w+): (error: )?", "", line) for line in text.splitlines() if line]


@dataclass
class Difference:
    """A record, or an answer, that is not the same."""

    line: str
    #: The columns that differ; of other answers their command, of refusals ``refusal`` and ``message``.
    fields: frozenset[str]
    slurm: str
    rota: str

    @property
    def counts(self) -> bool:
        """Whether it counts among the records that differ."""
        return bool(self.fields & {*MAIN, "refusal", "crash"})


@dataclass
class Outcome:
    """What came of a scenario."""

    #: Its lines with Slurm's answers.
    text: str
    records: int = 0
    differences: list[Difference] = field(default_factory=list)
    #: The steps of the drawn scenario that were carried out.
    carried: list[tuple[str, str]] = field(default_factory=list)

    @property
    def first(self) -> Difference | None:
        """The first difference that counts."""
        return next((one for one in self.differences if one.counts), None)


def _record(line: str) -> dict[str, str]:
    """Take a line of a look apart; the reason may hold spaces."""
    job, state, *rest = line.split(" ")
    tail = len(COLUMNS) - 2
    return {
        "job": job,
        "state": state,
        "reason": " ".join(rest[:-tail]),
        **dict(zip(COLUMNS[2:], rest[-tail:], strict=True)),
    }


def compare(text: str, directory: Path) -> Outcome:
    """Carry out a recorded scenario with rota, and compare."""
    (scenario,) = parse_scenarios(HEAD + text)
    outcome = Outcome(text)
    for line, answers in scenario.steps:
        outcome.records += len(answers) if line == "look" else int(": sbatch " in line)
    try:
        differing = Player(scenario, directory).play()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
        text = f"{type(error).__name__}: {error}"
        outcome.differences.append(Difference("all", frozenset({"crash"}), "goes on", text))
        return outcome
    for step, slurm, rota in differing:
        line = step.partition(": ")[2]
        if line == "look":
            outcome.differences += _looked(step, slurm, rota)
        elif ": sbatch " in line:
            refused = [bool(one) and one[0].startswith("error") for one in (slurm, rota)]
            what = "message" if all(refused) else "refusal"
            outcome.differences.append(Difference(step, frozenset({what}), " / ".join(slurm), " / ".join(rota)))
        else:
            name = line.split()[0]
            only = [one for one in slurm if one not in rota], [one for one in rota if one not in slurm]
            outcome.differences.append(Difference(step, frozenset({name}), *(" / ".join(one) for one in only)))
    return outcome


def _looked(step: str, slurm: list[str], rota: list[str]) -> list[Difference]:
    theirs = {_record(line)["job"]: line for line in slurm}
    ours = {_record(line)["job"]: line for line in rota}
    found = []
    for job in dict.fromkeys((*theirs, *ours)):
        one, other = theirs.get(job), ours.get(job)
        if one == other:
            continue
        if one is None or other is None:
            fields = frozenset({"state"})
        else:
            pair = _record(one), _record(other)
            # Of jobs that are over Slurm does not tell the GPUs.
            over = pair[0]["state"] not in {"PENDING", "RUNNING"} and pair[0]["state"] == pair[1]["state"]
            columns = [name for name in COLUMNS if not (over and name in {"cpus", "memory"})]
            fields = frozenset(name for name in columns if pair[0][name] != pair[1][name])
            if not fields:
                continue
        found.append(Difference(step, fields, one or "-", other or "-"))
    return found
