"""Records what sbatch, salloc and srun of a real Slurm say to values of their options, and what comes of these.

As root, with the nodes and partitions of ``test_option_values.py``, an account phys and a QOS urgent::

    python options.py record sbatch >sbatch.jsonl    # the others too; srun in parts: record srun a d
    python options.py fold *.jsonl >options.txt

``options.txt`` is what Slurm 22.05.8 did. A paragraph is one outcome of an option, variable or directive, with ``{}``
for the value: the exit status (``waits``: it had not ended in two seconds), the commands, after ``|`` the values for
which that was so, quoted as in a shell, and the lines that were printed, with ``@`` for the name of the command and
``FAILED`` for what it says when the controller refuses its request. ``->``: how `scontrol show job` differs from a job
without the option.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FAILED = {
    "salloc": "Job submit/allocate failed",
    "sbatch": "Batch job submission failed",
    "srun": "Unable to allocate resources",
}
#: What is asked: values for every option that takes one, and for some of them; whole lines, that is options without
#: values or with too much, letters, repeated options, and what contradicts itself; directives; variables.
_ASKED: dict[str, list[str]] = {
    section.partition("]")[0]: section.partition("\n")[2].rstrip("\n").split("\n")
    for section in (Path(__file__).parent / "options-asked.txt").read_text().removeprefix("[").split("\n[")
}
_PREFIX = {"salloc": "SALLOC_", "sbatch": "SBATCH_", "srun": "SLURM_"}
#: What follows an abbreviation: nothing of it is carried out.
_ABBREVIATED = "=1 -Nx"
#: Options that print much, or whose values are whatever is to be run.
_ASIDE = {"help", "usage", "version", "verbose", "wrap", "debugger-test", "test-only", "slurmd-debug"}
#: What differs from job to job, whatever its options are.
_FIELDS_ASIDE = re.compile(
    r"JobId|Priority|Reason|(?!DelayBoot).*Time|LastSchedEval|Scheduler|UserId|GroupId|MCS_label|AllocNode:Sid|Restarts|"
    r"Requeue|BatchHost|NodeList|JobState|Array\w+Id|SubmitLine|SecsPreSuspend|Deadline|"
)
_KEPT = frozenset({"TimeMin", "TimeLimit"})
#: Lines about how an allocation goes.
_PROGRESS = re.compile(
    r"Submitted batch job \d+|\d+|salloc: (?:Granted|Pending|Relinquishing|Waiting) .*|salloc: Nodes .*|"
    r"\w+: job \d+ (?:queued and waiting for|has been allocated) resources"
)


class Case(dict[str, str]):
    """A call: the command, the paragraph that it is in, and the value."""

    def call(self) -> tuple[list[str], dict[str, str], str | None]:
        """Give its words, variables for it, and a script for standard input."""
        command, about, value = self["command"], self["about"], self["value"]
        words: list[str] = []
        variables: dict[str, str] = {}
        script = None
        if about.startswith("$"):
            variables = {about[1:].removesuffix("={}"): value}
        elif about == "directive {}":
            script = f"#!/bin/sh\n{value}\ntrue\n"
        elif about == "{}":
            words = shlex.split(value)
        else:
            words = [about.replace("{}", value)]
        if command == "sbatch":
            wrapped = [] if script else ["--wrap", "true"]
            before, after = (wrapped, []) if self.is_last else ([], wrapped)
            return ["sbatch", "-b", "now+1hour", *before, *words, *after], variables, script
        words = [*words, *([] if self.is_last else ["true"])]
        return [command, *(["--no-shell"] if command == "salloc" else []), *words], variables, script

    @property
    def is_last(self) -> bool:
        """Whether nothing follows the option, whose value is missing if it needs one."""
        return "{}" not in self["about"]


def fields(text: str, job: str, directory: str) -> dict[str, str]:
    """Read what ``scontrol show job`` prints of a job."""
    found = {}
    for line in text.splitlines():
        for word in re.split(r"\s+(?=[A-Za-z_/:]+=)", line.strip()):
            name, _, value = word.partition("=")
            if not _FIELDS_ASIDE.fullmatch(name) or name in _KEPT:
                found[name] = value.replace(directory, "$PWD").replace(f"slurm-{job}", "slurm-JOB")
    return found


def outcome(case: Case, said: str, shown: dict[str, str], usual: dict[str, str], directory: str) -> list[str]:
    """Give the lines that were printed, and that about the job, without what differs from call to call."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip() and not _PROGRESS.fullmatch(line)]
    told = " ".join(f"{name}={value}" for name, value in shown.items() if usual.get(name) != value)
    lines += [f"-> {told}"] if told else []
    command, value = case["command"], case["value"]
    found = []
    for line in lines:
        text = re.sub(rf"\b{command}\b", "@", line.replace(FAILED[command], "FAILED").replace(directory, "$PWD"))
        text = re.sub(r"\bjob \d+\b", "job N", text)
        if value and case["about"] != "{}":
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "{}", text)
        found.append(text)
    return found


def _options(command: str) -> list[str]:
    done = subprocess.run([command, "--=x"], check=False, capture_output=True, text=True)
    return re.findall(r"'--([\w-]+)'", done.stderr)


def _cases(command: str, first: str, last: str) -> list[Case]:
    def cases(about: str, values: Iterable[str]) -> Iterable[Case]:
        return (Case(command=command, about=about, value=value) for value in dict.fromkeys(values))

    names = _options(command)
    common = shlex.split(_ASKED["values"][0])
    more = dict(line.split(": ", 1) for line in _ASKED["values of some"])
    found: list[Case] = []
    for name in (one for one in dict.fromkeys(names) if first <= one < last and one not in _ASIDE):
        found += cases(f"--{name}", [""])
        found += cases(f"--{name}={{}}", ["x", *common, *shlex.split(more.get(name, ""))])
    if first < "others" <= last:
        found += cases("{}", _ASKED["lines"])
        of_variables = shlex.split(_ASKED["values of variables"][0])
        for name in _ASKED[f"variables of {command}"][0].split():
            found += cases(f"${_PREFIX[command]}{name}={{}}", of_variables)
        short = sorted({name[:end] for name in names for end in range(1, len(name))} - {*names})
        found += cases("{}", (f"--{one}{_ABBREVIATED}" for one in short))
        found += cases("directive {}", _ASKED["directives"] if command == "sbatch" else [])
    return found


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def record(command: str, first: str = "", last: str = "~") -> None:
    """Make the calls; print a line of JSON for each."""
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    outer = {name: value for name, value in os.environ.items() if not re.match("SLURM|SBATCH|SALLOC|SRUN", name)}
    usual: dict[str, str] = {}
    flags = set()
    for case in [Case(command="sbatch", about="{}", value=""), *_cases(command, first, last)]:
        if case["about"].removesuffix("={}") in flags:
            continue
        words, variables, script = case.call()
        given = {"input": script} if script else {"stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(
                words, check=False, capture_output=True, text=True, timeout=2, env={**outer, **variables}, **given
            )
            status, said = str(done.returncode), done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            status, said = "waits", ((error.stdout or b"") + (error.stderr or b"")).decode()
        job = re.search(r"(?:Submitted batch job|(?:Granted|Pending) job allocation|\bjob) (\d+)", said)
        shown: dict[str, str] = {}
        if job is not None:
            if words[0] == "sbatch":
                text = subprocess.run(["scontrol", "show", "job", job[1]], check=False, capture_output=True, text=True)
                shown = fields(text.stdout, job[1], directory)
                usual = usual or shown
            subprocess.run(["scancel", job[1]], check=False, capture_output=True)
        lines = outcome(case, said, shown, usual, directory)
        if case["about"].endswith("={}") and any("doesn't allow an argument" in line for line in lines):
            flags.add(case["about"].removesuffix("={}"))
        if not (case["value"].endswith(_ABBREVIATED) and not any("ambiguous" in line for line in lines)):
            _say(json.dumps({**case, "status": status, "lines": lines}))


def fold(paths: list[str]) -> None:
    """Print what was recorded as paragraphs."""
    whole: dict[str, dict[tuple[str, ...], dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        for one in map(json.loads, Path(path).read_text().splitlines()):
            group = whole[one["about"]][(one["status"], *one["lines"])]
            group.setdefault(one["value"], []).append(one["command"])
    for about, groups in whole.items():
        if about.strip("-").removesuffix("={}") in _ASIDE:
            continue
        _say(f"##### {about}")
        for (status, *lines), values in groups.items():
            by_commands = defaultdict(list)
            for value, commands in values.items():
                by_commands[" ".join(dict.fromkeys(sorted(commands)))].append(shlex.quote(value))
            for who, listed in by_commands.items():
                _say(f"= {status} {who} | {' '.join(listed)}")
            _say(*lines, "")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        record(*sys.argv[2:]) if sys.argv[1] == "record" else fold(sys.argv[2:])
