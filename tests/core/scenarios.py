"""Scenarios that were run with a real Slurm and are run with rota; data/real_slurm/README.md describes the files.

Over 400 lines: one class says what each command of a scenario means.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby
from math import ceil
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ClusterShell.NodeSet import NodeSet

from rota.commands.create_reservation import parse_reservation
from rota.commands.moments import parse_slurm_time
from rota.commands.sbatch import OptionError, parse_request, split_words
from rota.commands.update_reservation import update_reservation
from rota.config import read_slurm_conf
from rota.config.hostlist import fold
from rota.core import events as ev
from rota.inspect.view import EngineView
from rota.listings import run
from rota.model import JobState, NodeState, RequestError
from rota.model.array import parse_array
from rota.resources.nodeset import indices
from rota.sacctmgr import read_associations
from rota.testing import Harness
from rota.testing.builders import accounting_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rota.accounting import AssociationTree
    from rota.core.job import Job
    from rota.model import JobSpec

#: The clock of all scenarios begins here, Unix seconds.
BEGIN = 1_000_000
#: In a line of gres.conf.
GRES_LINE = re.compile(r"\bName=gpu\b")
_FAILED = "Batch job submission failed: "


@dataclass(kw_only=True)
class Scenario:
    """The lines of a scenario, and Slurm's answers to each."""

    name: str
    conf: list[str]
    accounts: list[str]
    #: What a look shows of each job.
    columns: list[str]
    #: What of slurm.conf is its own.
    own: list[str] = field(default_factory=list)
    #: When the clock begins, Unix seconds. If it is given, nothing is decided before time passes.
    clock: int | None = None
    #: Which CPUs and GPUs Slurm gave the jobs, by the number of a step and of the job.
    cpu_ids: dict[tuple[int, str], str] = field(default_factory=dict)
    #: Each line with its answers.
    steps: list[tuple[str, list[str]]] = field(default_factory=list)


def read_scenarios(path: Path) -> list[Scenario]:
    """Read a file of scenarios."""
    return parse_scenarios(path.read_text(encoding="utf-8"))


def parse_scenarios(text: str) -> list[Scenario]:
    """Read the text of such a file."""
    base: dict[str, list[str]] = {"base": [], "base-sacctmgr": [], "columns": []}
    found: list[Scenario] = []
    for line in text.splitlines():
        key, colon, value = line.partition(": ")
        if line.startswith("== "):
            columns = " ".join(base["columns"]) or "state reason nodes"
            accounts = [*base["base-sacctmgr"]]
            found.append(Scenario(name=line[3:], conf=[*base["base"]], accounts=accounts, columns=columns.split()))
        elif not found and key in base:
            base[key].append(value)
        elif not line or line.startswith("#") or line == "end" or not found:
            continue
        elif line.startswith("> "):
            answer = re.sub(r"Reservation \S+ was deleted", "ReservationDeleted", line[2:])
            # Of jobs that are over the reason is kept, and not what was said of it.
            answer = re.sub(r"CANCELLED ReqNodeNotAvail, .* -$", "CANCELLED ReqNodeNotAvail -", answer)
            answer = re.sub(r"CANCELLED Nodes required .* -$", "CANCELLED Resources -", answer)
            if found[-1].columns[-1] == "cpus" and found[-1].steps[-1][0] == "look":
                state, _, cpus = answer.rpartition(" ")
                found[-1].cpu_ids[len(found[-1].steps), answer.split()[0]] = cpus
                answer = f"{state} {_counted(cpus)}"
            found[-1].steps[-1][1].append(answer)
        elif key == "clock":
            found[-1].clock = int(value)
        elif key == "conf":
            found[-1].conf.append(value)
            found[-1].own.append(value)
        elif key == "sacctmgr" and colon:
            found[-1].accounts.append(value)
        else:
            found[-1].steps.append((line, []))
    return found


def _request(words: list[str]) -> JobSpec:
    """Read options of sbatch; `NotImplementedError` is raised for one that rota does not have."""
    try:
        return parse_request(words)
    except OptionError as error:
        if "that rota knows" in str(error):
            raise NotImplementedError(f"sbatch {error.option}") from None
        raise


def _counted(text: str) -> str:
    """Count the CPUs and GPUs of each node in ``n1:0-1;n[2-3]:0+gpu:0``: which they are is compared by itself."""
    if ":" not in text:
        return text
    counts: dict[str, tuple[int, int]] = {}
    for part in text.split(";"):
        nodes, _, held = part.partition(":")
        cpus, _, gpus = held.partition("+gpu:")
        for node in NodeSet(nodes):
            counts[node] = _ids(cpus), _ids(gpus)
    return ";".join(f"{node}:{cpus}+{gpus}" for node, (cpus, gpus) in sorted(counts.items()))


def _held(text: str) -> dict[str, tuple[set[int], set[int]]]:
    """Read the CPUs and GPUs of each node in ``n1:0-1;n[2-3]:0+gpu:0``."""
    found: dict[str, tuple[set[int], set[int]]] = {}
    for part in text.split(";"):
        nodes, _, held = part.partition(":")
        cpus, _, gpus = held.partition("+gpu:")
        found |= dict.fromkeys(NodeSet(nodes), (_numbers(cpus), _numbers(gpus)))
    return found


def _numbers(text: str) -> set[int]:
    """Read the numbers of ``0,2-3``."""
    runs = re.findall(r"(\d+)(?:-(\d+))?", text)
    return {one for first, last in runs for one in range(int(first), int(last or first) + 1)}


def _ids(text: str) -> int:
    """Count the numbers of ``0,2-3``."""
    return sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", text))


class Player:
    """Runs a scenario; `play` gives the differences from Slurm's answers.

    Job 2 of a scenario has the id 2000 here, so that there are ids for the tasks of arrays.
    """

    def __init__(self, scenario: Scenario, directory: Path, harness: type[Harness] = Harness) -> None:
        self._scenario = scenario
        self._unknown = 0
        self._number = 0
        #: Jobs of which Slurm's CPUs and GPUs were compared, and those that have others here.
        self.compared: set[str] = set()
        self.others: set[str] = set()
        self._begin = BEGIN if scenario.clock is None else scenario.clock
        self._uids: dict[str, int] = {}
        machines = ("nodename", "partitionname", "switchname")
        gres = [line for line in scenario.conf if GRES_LINE.search(line)]
        lines = [line for line in scenario.conf if line not in gres]
        settings = [line for line in lines if not line.lower().startswith(machines)]
        machine = [line for line in lines if line.lower().startswith(("nodename", "partitionname"))]
        last = {line.partition("=")[0].lower(): line for line in settings}
        last["schedulerparameters"] += ",requeue_delay=120"  # Slurm has no other
        # A partition takes the place of one of the same name, and nodes that of all nodes.
        parts = {re.split(r"[= ]", line)[1]: line for line in machine if line.lower().startswith("partition")}
        own = [line for line in scenario.own if line not in gres and line.lower().startswith("nodename")]
        machine = [
            *(own or [line for line in machine if line.lower().startswith("nodename")]),
            *parts.values(),
        ]
        conf = directory / "slurm.conf"
        conf.write_text("\n".join(["ClusterName=cluster", *last.values(), *machine]) + "\n", encoding="utf-8")
        if switches := [line for line in scenario.conf if line.lower().startswith("switchname")]:
            (directory / "topology.conf").write_text("\n".join(switches) + "\n", encoding="utf-8")
        if gres:
            (directory / "gres.conf").write_text("\n".join(gres) + "\n", encoding="utf-8")
        self._accounts = directory / "accounts.script"
        with patch("rota.users.users_of", frozenset):  # each user is in the group of the same name
            self._config = config = replace(read_slurm_conf(conf).config, cores_apart=True)
        self._rota = harness(
            config,
            sched=last.get("schedulertype", "=sched/backfill").partition("=")[2],
            priority="priority/multifactor",
            associations=self._tree(scenario.accounts),
            now=self._begin - (scenario.clock is not None),
        )
        # Else a pass is made at once.
        self._rota._batch = scenario.clock is not None

    def _tree(self, commands: list[str]) -> AssociationTree:
        self._accounts.write_text("\n".join(["add cluster cluster", *commands]) + "\n", encoding="utf-8")
        return read_associations([self._accounts]).tree

    def play(self) -> list[tuple[str, list[str], list[str]]]:
        """Run it; give number and line of each step that differs, with Slurm's answers and rota's."""
        differing = []
        with self._rota:
            if self._scenario.clock is not None:
                # Slurm's passes and its cycles take turns: those begin a second later.
                self._rota.wait(1)
                self._rota.send(ev.Reconfigure(config=self._config))
            # What is submitted without a wait between comes within the second in which Slurm makes its next pass.
            numbered = enumerate(self._scenario.steps, start=1)
            for submitted, steps in groupby(numbered, lambda step: ": sbatch " in step[1][0]):
                with self._rota.together() if submitted else nullcontext():
                    for number, (line, answers) in steps:
                        self._number = number
                        got = self._step(line, answers)
                        if got != answers:
                            differing.append((f"{number}: {line}", answers, got))
        return differing

    def _step(self, line: str, answers: list[str]) -> list[str]:
        word, _, rest = line.partition(" ")
        if word == "wait":
            self._wait(ceil(float(rest)))
        elif word == "end":
            number, code = map(int, rest.split())
            if number * 1000 in self._rota.running:
                self._rota.end(number * 1000, code)
        elif word in {"squeue", "sprio", "sshare"}:
            return self._listed(split_words(line))
        elif word == "look":
            return self._look(answers, by_task=rest == "-r")
        elif word == "user":
            return self._user(rest, answers)
        elif word == "show":
            return self._show(rest, answers)
        elif word == "sacctmgr":
            self._scenario.accounts.append(rest)
            self._rota.send(accounting_of(self._tree(self._scenario.accounts)))
        else:
            return self._request(word, rest, answers)
        return answers

    def _wait(self, seconds: int) -> None:
        if self._scenario.clock is not None and seconds > 1:  # the clock is moved, and nothing happens in between
            self._rota.jump(seconds)
        else:
            self._rota.wait(seconds)

    def _request(self, word: str, rest: str, answers: list[str], *, uid: int = 0) -> list[str]:
        """Carry out ``scancel`` or ``scontrol hold``, ``release``, ``requeue`` or ``update``."""
        if word == "scontrol":
            word, _, rest = rest.partition(" ")
        if word in {"create", "delete"}:
            return self._reservation(word, rest, answers)
        if word == "update":
            return self._update(dict(pair.split("=", 1) for pair in rest.split()), answers, uid)
        events: dict[str, Any] = {
            "scancel": ev.Cancel,
            "hold": ev.Hold,
            "release": ev.Release,
            "requeue": ev.Requeue,
            "requeuehold": partial(ev.Requeue, hold=True),
        }
        for name in self._each(rest):
            match = re.fullmatch(r"(\d+)(?:_(\d+))?", name)
            if word not in events or match is None:
                raise NotImplementedError(f"{word} {rest}")
            task, job_id = None if match[2] is None else int(match[2]), int(match[1]) * 1000
            event = events[word](job_id=job_id, task_id=task, uid=uid)
            over = {one.job_id: one for one in self._rota.known if one.state.finished}
            if isinstance(event, ev.Requeue) and (job := over.get(job_id)) is not None:
                count = job.restart_count + 1
                event = ev.Resubmit(job_id=job_id, spec=job.spec, restart_count=count, hold=event.hold, uid=uid)
            self._rota.send(event)
        return answers

    def _reservation(self, word: str, rest: str, answers: list[str]) -> list[str]:
        """Carry out ``scontrol create reservation KEY=VALUE …`` or ``scontrol delete reservation=NAME``."""
        words = {answer.rpartition(": ")[2] for answer in answers}
        if word == "delete":
            self._rota.send(ev.DeleteReservation(name=rest.partition("=")[2]))
            return self._refusal(answers, words)
        view, now = self._rota.engine.view, self._rota.now
        try:
            found = parse_reservation(rest.split(), view.config)
            start, end = (
                parse_slurm_time(found.value(key), now, lambda _: 0) if key in found.words else None
                for key in ("StartTime", "EndTime")
            )
            one = found.reservation(found.value("ReservationName"), start or 0, end)
        except (OptionError, RequestError) as error:
            if "not supported by rota" in str(error):
                raise NotImplementedError(str(error)) from None
            return answers or [f"error: {error}"]
        self._rota.send(ev.CreateReservation(reservation=one))
        return self._refusal(answers, words)

    def _updated_reservation(self, name: str, words: list[str], answers: list[str]) -> list[str]:
        """Carry out ``scontrol update reservationname=NAME KEY=VALUE …``."""
        view = self._rota.engine.view
        before = view.reservation(name)
        if before is None:
            return answers or ["error: there is no such reservation"]
        names = [node for node, _ in view.machine]
        one = update_reservation(before, words, names, self._rota.now, lambda _: 0)
        self._rota.refused.clear()
        self._rota.send(ev.UpdateReservation(reservation=one))
        return self._refusal(answers)

    def _update(self, pairs: dict[str, str], answers: list[str], uid: int) -> list[str]:
        """Carry out ``scontrol update jobid=1_2 KEY=VALUE …``, or ``nodename=n[1-2] state=…``."""
        if "nodename" in pairs:
            states = {"down": NodeState.DOWN, "drain": NodeState.DRAIN, "resume": NodeState.UP}
            for name in NodeSet(pairs["nodename"]):
                self._rota.send(ev.UpdateNode(name=name, state=states[pairs["state"]]))
            return self._refusal(answers)
        if "jobid" not in pairs and "reservationname" in pairs:
            words = [f"{key}={value}" for key, value in pairs.items()]
            return self._updated_reservation(pairs["reservationname"], words, answers)
        if "jobid" not in pairs:
            raise NotImplementedError(f"update {min(pairs)}")
        number, _, task = pairs.pop("jobid").partition("_")
        throttle = pairs.pop("arraytaskthrottle", None)
        known = {"timelimit": "time", "numtasks": "ntasks", "numcpus": "ntasks", "reservationname": "reservation"}
        words = [f"--{known.get(key, key)}={value}" for key, value in pairs.items() if value]
        asked = _request(words)
        fields = {"timelimit": "time_limit", "licenses": "licenses", "dependency": "dependency", "qos": "qos"}
        fields |= {"priority": "priority", "nice": "nice", "numtasks": "num_tasks", "numcpus": "num_cpus"}
        fields |= {"reservationname": "reservation", "switches": "switches"}
        if unknown := set(pairs) - set(fields):
            raise NotImplementedError(f"update {unknown}")
        changes = {fields[key]: getattr(asked, fields[key]) for key in pairs}
        if "@" in pairs.get("switches", ""):
            changes["switch_wait"] = asked.switch_wait
        if "dependency" in changes:
            changes["dependency"] = re.sub(r"(?<=:)\d+", r"\g<0>000", changes["dependency"])
        self._rota.send(
            ev.UpdateJob(
                job_id=int(number) * 1000,
                task_id=int(task) if task else None,
                changes=changes,
                uid=uid,
                array_throttle=None if throttle is None else int(throttle),
            )
        )
        return self._refusal(answers)

    def _refusal(self, answers: list[str], words: Iterable[str] = ()) -> list[str]:
        """Give Slurm's answers if both have refused the request with the same words, or neither has; else rota's."""
        refused = [one.message for one in self._rota.refused]
        self._rota.refused.clear()
        if bool(refused) == bool(answers) and all(one in " ".join(refused) for one in words):
            return answers
        return [f"error: {one}" for one in refused]

    @staticmethod
    def _each(names: str) -> list[str]:
        """Give the name of each task of ``1_[2-3]``."""
        found = []
        for name in names.split():
            array, bracket, tasks = name.rstrip("]").partition("_[")
            found += [f"{array}_{task}" for task in parse_array(tasks).ids] if bracket else [name]
        return found

    def _uid(self, user: str) -> int:
        """Number a user."""
        return self._uids.setdefault(user, 1001 + len(self._uids))

    def _user(self, rest: str, answers: list[str]) -> list[str]:
        user, _, command = rest.partition(": ")
        words = split_words(command)
        if words[0] != "sbatch":
            word, _, names = command.partition(" ")
            return self._request(word, names, answers, uid=self._uid(user))
        ending = dict(words.pop().split("=") for _ in range(sum(word.startswith(("run=", "exit=")) for word in words)))
        time, exit_code = int(ending["run"]) if "run" in ending else None, int(ending.get("exit", 0))
        try:
            request = _request(words[1:])._replace(user=user, user_id=self._uid(user))
            request = request._replace(dependency=re.sub(r"(?<=:)\d+", r"\g<0>000", request.dependency))
            begin, deadline = (self._rota.now + time if time else 0 for time in (request.begin_time, request.deadline))
            request = request._replace(begin_time=begin, deadline=deadline)
            if not answers[0].isdecimal():  # Slurm has refused it: the others are to be compared nevertheless
                self._unknown -= 1
                unknown = -self._unknown * 1_000_000
                self._rota.cancel(self._rota.submit(request, job_id=unknown, uid=self._uid(user)))
                return ["accepted"]
            job_id = int(answers[0]) * 1000
            self._rota.submit(request, job_id=job_id, run=time, exit_code=exit_code, uid=self._uid(user))
        except (RequestError, OptionError) as error:
            told = [answer.partition(_FAILED)[2] for answer in answers if _FAILED in answer]
            told = told or [answer.removeprefix("error: ") for answer in answers if answer.startswith("error: ")]
            return answers if told and all(one in str(error) for one in told) else [f"error: {error}"]
        return answers

    def _show(self, rest: str, answers: list[str]) -> list[str]:
        """Answer ``show KIND NAME KEY …``, as ``scontrol show`` does."""
        kind, number, *keys = rest.split()
        if kind == "reservation":
            nodes = next((fold(one.nodes) for one in self._rota.engine.view.reservations() if one.name == number), "")
            # There is nothing to compare with the rest of what Slurm shows.
            return [
                f"Nodes={nodes or '(none)'}" if key == "Nodes" else told
                for key, told in zip(keys, answers, strict=True)
            ]
        if kind == "license":
            one = next(one for one in self._rota.engine.view.licenses() if one.name == number)
            return [f"{key}={value}" for key, value in (("Total", one.total), ("Used", one.used), ("Free", one.free))]
        if kind != "job":
            raise NotImplementedError(f"show {kind}")
        array, _, task = number.partition("_")
        job = self._rota.job(int(array) * 1000)
        if task and job.array is not None:
            job = job.array.tasks.get(int(task), job)
        line = self._rota.engine.view.line(job)
        shown = run(["scontrol", "show", "job", str(job.job_id)], {}, EngineView(self._rota.engine.view)).out
        hours, seconds = divmod(job.time_limit, 3600)
        known = {
            "ArrayTaskId": task,
            "TimeLimit": f"{hours:02}:{seconds // 60:02}:{seconds % 60:02}",
            "Licenses": line.request.licenses or "(null)",
            "SchedNodeList": fold(line.planned_nodes) or "(none)",
            "Priority": str(line.priority),
            "Reason": line.reason_text(fold).replace(" ", "_"),
            "Reservation": line.request.reservation or "(none)",
            "Switches": next(iter(re.findall(r"Switches=(\S+)", shown)), "(none)"),
        }
        if unknown := set(keys) - set(known):
            raise NotImplementedError(f"show {unknown}")
        return [f"{key}={known[key]}" for key in keys]

    def _listed(self, words: list[str]) -> list[str]:
        """Give what a command lists."""
        answer = run(words, {}, EngineView(self._rota.engine.view))
        return [re.sub(r"(?<=\d)000\b", "", line, count=1) for line in (answer.out + answer.err).splitlines()]

    def _look(self, answers: list[str], *, by_task: bool) -> list[str]:
        """Show the live jobs, and the ended ones that Slurm showed."""
        pool = self._rota.engine.state.pool
        # Else a scheduler that picks it could not have started the job so.
        assert all(pool.suffices(job, job.alloc) for job in self._rota.engine.state.running)
        told = {answer.partition(" ")[0] for answer in answers}
        live = self._rota.known
        jobs = {name: job for job in live for name in (self._names(job) if by_task else [self._name(job)])}
        shown = [name for name, job in jobs.items() if name in told or not job.state.finished]
        order = [answer.partition(" ")[0] for answer in answers]
        shown.sort(key=lambda name: order.index(name) if name in order else len(order))
        lines = [f"{name} {self._columns(jobs[name])}" for name in shown]
        for name, line in zip(shown, lines, strict=True):
            if line in answers and " RUNNING " in line and (theirs := self._scenario.cpu_ids.get((self._number, name))):
                self.compared.add(name)
                if _held(theirs) != self._held(jobs[name]):
                    self.others.add(name)
        return lines

    def _held(self, job: Job) -> dict[str, tuple[set[int], set[int]]]:
        """Give the CPUs and GPUs of a running job by node."""
        view = self._rota.engine.view
        gpus = view.gpus(job.job_id)
        return {
            one.node: ({*one.processors}, {*chain(*gpus.get(one.node, {}).values())})
            for one in view.allocation(job.job_id)
        }

    @staticmethod
    def _name(job: Job) -> str:
        if job.array is None:
            return str(job.job_id // 1000)
        return f"{job.array.job_id // 1000}_{job.array_task}"

    def _names(self, job: Job) -> list[str]:
        """Give the name of each task of a record."""
        if job.array is None or job.task_id is not None:
            return [self._name(job)]
        return [f"{job.array.job_id // 1000}_{task}" for task in job.array.pending]

    def _columns(self, job: Job) -> str:
        engine = self._rota.engine
        line, pool = engine.view.line(job), engine.state.pool
        last = next((one for one in reversed(self._rota.launches) if one.job_id == job.job_id), None)
        resources = 0 if last is None or job.state is JobState.PENDING else last.resources
        held = pool.nodes_of(resources)
        dependency = re.sub(r"(?<=:)(\d+)000(?=\D)", r"\1", line.dependency) or "-"
        names = engine.view.names(held)
        counts = [pool.tres(pool.without(resources, ~(1 << place))) for place in indices(held)]
        # Slurm's CPU_IDs are those of whole cores, even where fewer of their processors count (CR_CPU).
        shares = pool.by_index(resources)
        ids = [shares[place].get("core", tres.get("cpu", 0)) for place, tres in zip(indices(held), counts, strict=True)]
        each = sorted(zip(names, ids, counts, strict=True), key=lambda item: item[0])
        cpus = ";".join(f"{name}:{number}+{tres.get('gres/gpu', 0)}" for name, number, tres in each)
        counted = ";".join(f"{name}:{tres.get('cpu', 0)}" for name, _, tres in each)
        start = line.start_time or line.planned_start
        memory = ";".join(f"{name}:{tres.get('mem', 0)}" for name, tres in sorted(zip(names, counts, strict=True)))
        known = {
            "memory": memory or "-",
            "start": f"{start - self._begin:+}" if start is not None and not job.state.finished else "-",
            "planned": fold(line.planned_nodes) or "-",
            "cpus": cpus or "-",
            "mem": sum(tres.get("mem", 0) for tres in counts) if held else "-",
            "counts": counted or "-",
            "state": line.state,
            "reason": line.reason_text(fold),
            "nodes": fold(names) or "-",
            "dependency": dependency,
            "priority": job.priority,
            "reservation": job.spec.reservation or "(null)",
        }
        return " ".join(str(known[column]) for column in self._scenario.columns)
