"""Scenarios that a real Slurm has carried out, and rota after it; data/real_slurm/README.md describes the files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.config import read_slurm_conf
from rota.config.hostlist import fold
from rota.model import JobState, RequestError
from rota.resources.nodeset import indices
from rota.sacctmgr import read_associations
from rota.testing import Harness
from rota.workload.sbatch import OptionError, parse_request, split_words

if TYPE_CHECKING:
    from pathlib import Path

    from rota.model import Job

#: The clock of all scenarios begins here, Unix seconds.
BEGIN = 1_000_000
_FAILED = "Batch job submission failed: "


@dataclass(kw_only=True)
class Scenario:
    """What is done, and what Slurm answered to each line of it."""

    name: str
    conf: list[str]
    accounts: list[str]
    #: Each line with its answers.
    steps: list[tuple[str, list[str]]] = field(default_factory=list)


def read_scenarios(path: Path) -> list[Scenario]:
    """Read a file of scenarios."""
    base: dict[str, list[str]] = {"base": [], "base-sacctmgr": []}
    found: list[Scenario] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        key, colon, value = line.partition(": ")
        if line.startswith("== "):
            found.append(Scenario(name=line[3:], conf=[*base["base"]], accounts=[*base["base-sacctmgr"]]))
        elif not found and key in base:
            base[key].append(value)
        elif not line or line.startswith("#") or line == "end" or not found:
            continue
        elif line.startswith("> "):
            found[-1].steps[-1][1].append(line[2:])
        elif key == "conf":
            found[-1].conf.append(value)
        elif key == "sacctmgr" and colon:
            found[-1].accounts.append(value)
        else:
            found[-1].steps.append((line, []))
    return found


class Player:
    """Carries out one scenario; `play` gives a line for each answer that is another than Slurm's."""

    def __init__(self, scenario: Scenario, directory: Path) -> None:
        self._scenario = scenario
        self._jobs: list[Job] = []
        lines = {line.partition("=")[0].lower(): line for line in scenario.conf if "=" in line.partition(" ")[0]}
        records = [line for line in scenario.conf if line.lower().startswith(("nodename", "partitionname"))]
        words = [line for key, line in lines.items() if key not in {"nodename", "partitionname"}]
        conf = directory / "slurm.conf"
        conf.write_text("\n".join(["ClusterName=cluster", *words, *records]) + "\n", encoding="utf-8")
        accounts = directory / "accounts.script"
        accounts.write_text("\n".join(["add cluster cluster", *scenario.accounts]) + "\n", encoding="utf-8")
        self._rota = Harness(
            read_slurm_conf(conf).config,
            sched="sched/backfill",
            priority="priority/multifactor",
            associations=read_associations([accounts]).tree,
            now=BEGIN,
        )

    def play(self) -> list[str]:
        """Carry it out."""
        wrong: list[str] = []
        with self._rota:
            for line, answers in self._scenario.steps:
                got = self._step(line, answers)
                if got != answers:
                    wrong += [f"{line}: Slurm {answers}, rota {got}"]
        return wrong

    def _step(self, line: str, answers: list[str]) -> list[str]:
        word, _, rest = line.partition(" ")
        if word == "wait":
            self._rota.wait(int(rest))
        elif word == "look":
            return [shown for one in self._jobs if (shown := self._shown(one, answers))]
        elif word == "user":
            return self._user(rest, answers)
        elif word == "show":
            return self._show(rest)
        elif word == "scancel":
            self._rota.cancel(self._jobs[int(rest) - 1])
        else:
            raise NotImplementedError(line)
        return answers

    def _user(self, rest: str, answers: list[str]) -> list[str]:
        user, _, command = rest.partition(": ")
        words = split_words(command)
        if words[0] != "sbatch":
            raise NotImplementedError(command)
        run = int(words.pop().removeprefix("run="))
        try:
            request = parse_request(words[1:])._replace(user=user)
            job = self._rota.submit(request, job_id=len(self._jobs) + 1, run=run)
        except (RequestError, OptionError) as error:
            told = [answer.removeprefix("error: ").removeprefix(_FAILED) for answer in answers]
            return answers if all(one in str(error) for one in told) else [f"error: {error}"]
        self._jobs.append(job)
        return [str(len(self._jobs))]

    def _show(self, rest: str) -> list[str]:
        """Answer `show job NUMBER KEY`, as ``scontrol show job`` does."""
        _, number, key = rest.split()
        job = self._jobs[int(number) - 1]
        if key != "TimeLimit":
            raise NotImplementedError(rest)
        hours, seconds = divmod(job.time_limit, 3600)
        return [f"{key}={hours:02}:{seconds // 60:02}:{seconds % 60:02}"]

    def _shown(self, job: Job, answers: list[str]) -> str:
        if job.state.finished and not any(re.match(rf"{job.job_id} ", answer) for answer in answers):
            return ""
        state = self._rota.engine.state
        last = next((one for one in reversed(self._rota.launches) if one.job_id == job.job_id), None)
        held = 0 if last is None or job.state is JobState.PENDING else state.pool.nodes_of(last.resources)
        names = [state.nodes[place].name for place in indices(held)]
        reason = self._rota.reason(job)
        return f"{job.job_id} {job.state} {reason} {fold(names) or '-'}"
