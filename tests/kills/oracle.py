"""What has become of jobs, as jobs themselves and their clients say it, beside what the cluster says."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .ledger import SCRIPT, Ledger, Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.testing.live import LiveCluster

    from .killer import Gap
    from .users import Command

_FIELDS = "JobIDRaw,JobID,JobName,State,ExitCode"
#: Job ids of one question to ``sacct``.
_MANY = 500
#: Seconds after which an order that was acknowledged has reached the processes: all daemons were there by then.
_GRACE = 2.0


@dataclass
class Run:
    """A run of a job, as the cluster says."""

    job_id: int
    array_id: int
    task: str
    name: str
    state: str
    code: int
    signal: int
    #: Whether it is said that nobody knows how it ended.
    is_unknown: bool = False
    #: States and exit codes of steps, by their names; below zero the signal.
    steps: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself."""
        return self.state in {"COMPLETED", "FAILED"}

    @property
    def status(self) -> int:
        """How it ended: the exit code; below zero the signal."""
        return -self.signal or self.code


class Found(NamedTuple):
    """What was found."""

    findings: list[str]
    #: States of runs, and how many were said to be unknown.
    states: Counter[str]


class Away(NamedTuple):
    """When daemons were away: those that were killed."""

    gaps: Sequence[Gap]
    #: When all were there again, each time.
    whole: Sequence[float]


def examine(cluster: LiveCluster, ledger: Ledger, commands: Sequence[Command], away: Away) -> Found:
    """Compare all that is known after a play; nothing runs any more."""
    runs = _runs(cluster)
    findings = [*_unlike(cluster, runs), *_left(cluster), *_reused(runs, {command.tag for command in commands})]
    by_name: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_name[run.name].append(run)
    for command in commands:
        findings += OfCommand(command, by_name[command.tag], ledger.lines(command.tag), away).findings()
    states = Counter("unknown" if run.is_unknown else run.state for run in runs)
    return Found(findings, states)


# ---- the cluster ----------------------------------------------------------------------------------------------------


def _runs(cluster: LiveCluster) -> list[Run]:
    """Give all runs that ``sacct`` tells of, each job's in their order, with their steps."""
    ended = cluster.ended()
    ids, runs = sorted(ended), list[Run]()
    for start in range(0, len(ids), _MANY):
        asked = ids[start : start + _MANY]
        said = cluster.run("sacct", "-nPDj", ",".join(map(str, asked)), "-o", _FIELDS).stdout
        for text in said.splitlines():
            raw, shown, name, state, codes = text.split("|")
            job_id, _, step = raw.partition(".")
            array_id, _, task = shown.partition("_")
            code, signal = map(int, codes.split(":"))
            if int(job_id) not in asked:
                continue  # a task of an array whose id was asked for: it has an id of its own
            if not step:
                runs.append(Run(int(job_id), int(array_id), task or "-", name, state.split()[0], code, signal))
            elif step != "batch":
                runs[-1].steps[name] = state.split()[0], -signal or code
    for run in {run.job_id: run for run in runs}.values():
        run.is_unknown = ended[run.job_id].get("reason") == "SystemFailure"
    return runs


def _unlike(cluster: LiveCluster, runs: list[Run]) -> Iterator[str]:
    """Name jobs that ``sacct`` shows otherwise than they are on record."""
    last = {run.job_id: run for run in runs}
    for job_id, one in cluster.ended().items():
        # As Slurm's, it takes 128 from codes of signals.
        run, code = last.get(job_id), (one.get("exit_code", 0) % 128, one.get("signal", 0))
        if run is None or run.state != one["state"] or (run.has_ended and (run.code, run.signal) != code):
            yield f"{one['name']}: on record is of job {job_id} {one['state']} {code}, sacct says {run}"


def _left(cluster: LiveCluster) -> Iterator[str]:
    """Name what is still there although nothing runs."""
    if queued := cluster.run("squeue", "-h", "-o", "%i %j %T").stdout:
        yield f"squeue still has {queued}"
    if steps := cluster.run("squeue", "-h", "-s").stdout:
        yield f"squeue -s still has {steps}"
    for text in cluster.run("sinfo", "-h", "-N", "-o", "%N %T %C").stdout.splitlines():
        if text.split()[1] != "idle" or not text.split()[2].startswith("0/"):
            yield f"sinfo still has {text}"
    mark = f"ROTA_STATE={cluster.state}\0".encode()
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if mark in environment and b"\0ROTA_RUN=" in b"\0" + environment:
            yield f"a process of a job is left: {entry.name} {(entry / 'cmdline').read_bytes()!r}"


def _reused(runs: list[Run], tags: set[str]) -> Iterator[str]:
    names: defaultdict[int, set[str]] = defaultdict(set)
    for run in runs:
        names[run.job_id].add(run.name)
    for job_id, found in names.items():
        if len(found) > 1:
            yield f"job id {job_id} was given to {sorted(found)}"
        if not found <= tags:
            yield f"job {job_id} is nobody's: {sorted(found)}"


# ---- a command ------------------------------------------------------------------------------------------------------


class OfCommand:
    """What there is to say of a command.

    Args:
        command: What was asked, and answered.
        runs: Those of its job or its array.
        lines: What these have written down.
        away: When daemons were.
    """

    def __init__(self, command: Command, runs: list[Run], lines: list[Line], away: Away) -> None:
        self._command = command
        self._lines = lines
        self._away = away
        self._tasks: defaultdict[str, list[Run]] = defaultdict(list)
        for run in runs:
            for task in _tasks(run.task):
                self._tasks[task].append(run)
        self._ids = {run.array_id for run in runs}

    def findings(self) -> list[str]:
        """Name what is lost, twice or untrue."""
        command = self._command
        found = [*self._of_all(), *self._of_looks(), *self._of_client()]
        for task, runs in self._tasks.items():
            lines = [line for line in self._lines if line.task == task]
            found += self._of_task(task, runs, lines)
        return [f"{command.tag}: {text}" for text in found]

    def _of_all(self) -> Iterator[str]:
        command, times = self._command, Counter(line[1:6] for line in self._lines)
        for line, count in times.items():
            if count > 1:
                yield f"{count} times: {line}"
        if len(self._ids) > 1:
            yield f"has several jobs: {self._ids}"
        if command.job_id and self._ids != {command.job_id}:
            yield f"job {command.job_id} was acknowledged, there are {self._ids or 'none'}"
        if strange := {line.task for line in self._lines} - set(self._tasks):
            yield f"tasks {strange} have run and are not on record"
        if self._ids and command.is_array and set(self._tasks) != set(map(str, range(len(command.codes)))):
            yield f"has the tasks {sorted(self._tasks)}"
        if self._ids and command.is_refused:
            yield f"was refused and has the jobs {self._ids}"
        if not self._ids and not (command.is_unheard or command.is_refused or command.was_killed):
            yield f"has no job, and status {command.status}: {command.out}{command.err}"

    def _of_looks(self) -> Iterator[str]:
        """Name what was shown meanwhile and was not so."""
        last = {runs[-1].state for runs in self._tasks.values()}
        goes_on = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED"}
        for order in self._command.asked("look"):
            said = {line.split()[0] for line in order.said.splitlines()}
            if order.status == 0 and not said:
                yield f"sacct did not know it at {order.returned}"
            elif order.status == 0 and not self._command.asked("requeue") and not said <= last | goes_on:
                yield f"sacct said {said} at {order.returned}, and in the end {last}"

    # ---- clients ----------------------------------------------------------------------------------------------

    def _of_client(self) -> Iterator[str]:
        command = self._command
        if command.was_killed or command.is_refused:
            return
        if command.status is None:
            yield "its client has not ended"
        elif command.is_unheard:
            if self._lines and not command.is_batch:
                yield f"its client says that it was not heard, but it ran: {command.err}"
        elif not command.waits:
            if command.status or not command.job_id:
                yield f"its client has status {command.status}: {command.err}"
        elif (expected := self._expected()) != command.status and not (expected is None and command.status):
            yield f"its client has status {command.status}, not {expected}: {command.err}"
        elif command.returned < max((line.time for line in self._lines if line.what == "end"), default=0):
            yield "its client returned before the end"

    def _expected(self) -> int | None:
        """Give the status of a client that waits; ``None``: anything but 0."""
        last, is_batch = [runs[-1] for runs in self._tasks.values()], self._command.is_batch
        # Of a job whose end nobody saw, srun and salloc know how their own command ended.
        if not last or any(not run.has_ended and (is_batch or not run.is_unknown) for run in last):
            return None
        return max(code if code >= 0 else 1 if is_batch else 128 - code for code in self._command.codes)

    # ---- runs -------------------------------------------------------------------------------------------------

    def _of_task(self, task: str, runs: list[Run], lines: list[Line]) -> Iterator[str]:
        asked, restarts = self._command.asked("requeue"), len(runs) - 1
        heard = sum(not order.status for order in asked)
        if self._command.kind != "frail" and not heard <= restarts <= len(asked):
            yield f"was requeued {restarts} times; {len(asked)} were asked for, {heard} acknowledged"
        if strange := {line.restart for line in lines} - set(range(len(runs))):
            yield f"restarts {strange} of {restarts} have run"
        for number, run in enumerate(runs):
            of_run = [line for line in lines if line.restart == number]
            for text in self._of_run(task, run, of_run, is_last=number == restarts):
                yield f"{run}: {text}"

    def _of_run(self, task: str, run: Run, lines: list[Line], *, is_last: bool) -> Iterator[str]:
        command = self._command
        ends = [line.time for line in lines if line.what == "end" and line.who in {SCRIPT, f"{command.tag}.0"}]
        end = max(ends, default=None)
        code = command.codes[int(task) if task.isdigit() else 0]
        cancels = command.asked("cancel")
        if (command.is_gone and not command.is_batch) or (command.is_unheard and not command.is_batch):
            if run.state == "COMPLETED" and end is None:
                yield "it has not run to its end"
            if run.state == "TIMEOUT":
                yield "it was kept although nobody waits"
        elif run.is_unknown:
            if not any(gap.begin - _GRACE < (end or gap.begin) < gap.end for gap in self._away.gaps):
                yield f"the end at {end} was not in a gap"
        elif run.has_ended:
            if end is None or run.status != code or (run.state == "COMPLETED") != (code == 0):
                yield f"it was to end with {code}, and ended at {end}"
            elif any(not order.status and order.returned < end for order in cancels):
                yield f"it was cancelled before it ended at {end}"
        elif run.state == "CANCELLED":
            if not cancels:
                yield "nobody has cancelled it"
        elif run.state == "TIMEOUT":
            if not command.is_too_long or end is not None:
                yield "it was not too long"
        elif run.state == "REQUEUED":
            if is_last or not (command.asked("requeue") or command.kind == "frail"):
                yield "nobody has requeued it"
        elif run.state != "NODE_FAIL" or command.kind != "frail":
            yield "nothing has caused that"
        yield from self._of_suspension(end)
        yield from self._of_steps(run, lines)

    def _of_suspension(self, end: float | None) -> Iterator[str]:
        """Name an end while a job was suspended: all daemons were there for long enough to have it stopped."""
        resumed = [order.sent for order in self._command.asked("resume")]
        for order in self._command.asked("suspend"):
            whole = max([order.returned, *(time for time in self._away.whole if time < (end or 0))])
            if end is not None and not order.status and whole + _GRACE < end < min(resumed, default=end):
                yield f"it ended at {end} although it was suspended"

    def _of_steps(self, run: Run, lines: list[Line]) -> Iterator[str]:
        """Name steps whose ends are not those that they have written down."""
        is_over = run.has_ended and not self._command.is_gone
        for step in self._command.steps:
            who = [f"{step.name}.{number}" for number in range(step.tasks)]
            ended = [line.value for line in lines if line.what == "end" and line.who in who]
            got = [line.value for line in lines if line.what == "got" and line.who == step.name]
            said = run.steps.get(step.name)
            if is_over and not (run.is_unknown and not lines) and (len(ended) < step.tasks or said is None):
                yield f"step {step.name} ended {len(ended)} of {step.tasks} times; sacct says {said}"
            elif said is not None and said[0] in {"COMPLETED", "FAILED"} and len(ended) == step.tasks:
                if said != ("FAILED" if step.code else "COMPLETED", step.code):
                    yield f"step {step.name} ended with {step.code}; sacct says {said}"
            elif said is not None and (said[0] in {"COMPLETED", "RUNNING", "PENDING"} or is_over):
                yield f"step {step.name} ended {len(ended)} of {step.tasks} times; sacct says {said}"
            if got and is_over and got != [step.code]:
                yield f"step {step.name} ended with {step.code}; its script got {got}"


def _tasks(text: str) -> list[str]:
    """Give the tasks of a run: several that were cancelled before they ran are one."""
    if not text.startswith("["):
        return [text]
    ranges = [part.partition("-") for part in text[1:-1].split(",")]
    return [str(task) for first, _, last in ranges for task in range(int(first), int(last or first) + 1)]
