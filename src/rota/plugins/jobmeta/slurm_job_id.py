"""Slurm, and rota's own live queue: ids such as ``4103947``, asked of ``sacct`` and perhaps ``squeue``.

A job's environment has the raw id, which each element of an array has its own of. ``sacct`` knows running and finished
jobs, if there is accounting and the caller may see others' jobs (``PrivateData``). If it does not know all, ``squeue``
is asked for all jobs: with several ids it would fetch them all, too, and then fail if one is unknown. That is asked
once in `LASTS` seconds, however many batches of ids there are.

Job names are what users like. Fields are told apart by a delimiter that nobody can know beforehand, so that no name
looks like another job's line.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import SEPARATOR, Command, LookupFailedError, known, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/slurm_job_id"
plugin_name = "Slurm"
plugin_version = 100
FIELDS = (
    "user", "uid", "group", "account", "name", "partition", "qos", "state", "ended", "submit", "start", "end", "nodes",
    "nodelist", "cpus", "cwd", "cluster",
)  # fmt: skip
COMMANDS = ("sacct", "squeue")
#: Seconds for which a list of all jobs is good.
LASTS = 30.0

#: Columns of sacct, and of squeue with its letters, by the field that they give.
_SACCT = {
    "id": "JobIDRaw", "user": "User", "uid": "UID", "group": "Group", "account": "Account", "partition": "Partition",
    "qos": "QOS", "state": "State", "submit": "Submit", "start": "Start", "end": "End", "nodes": "NNodes",
    "nodelist": "NodeList", "cpus": "AllocCPUS", "cluster": "Cluster", "name": "JobName", "cwd": "WorkDir",
}  # fmt: skip
_SQUEUE = {
    "id": "%A", "user": "%u", "uid": "%U", "group": "%g", "account": "%a", "partition": "%P", "qos": "%q",
    "state": "%T", "submit": "%V", "start": "%S", "end": "%e", "nodes": "%D", "nodelist": "%N", "cpus": "%C",
    "name": "%j", "cwd": "%Z",
}  # fmt: skip
_SECONDS = {"SLURM_TIME_FORMAT": "%s"}
_NUMBERS = frozenset({"uid", "submit", "start", "end", "nodes", "cpus"})
_ENDED = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
    "TIMEOUT",
})  # fmt: skip
_NOTHING = frozenset({"", "N/A", "NONE", "None", "None assigned", "Unknown", "(null)"})


#: The number and name of a job, as ``scontrol`` begins to tell of it; between them may be those of its array.
_HEAD = re.compile(r"JobId=([0-9]+) (?:[A-Z][A-Za-z]+=\S+ )*?JobName=(.*)").fullmatch


def matches(job_id: str) -> bool:
    """Whether it is a number."""
    return re.fullmatch(r"[1-9][0-9]{0,9}", job_id) is not None


def fetch(ids: Sequence[str]) -> Asking:
    """Ask sacct once for all, and squeue once for what sacct does not know."""
    wanted = set(ids)
    columns = ",".join(_SACCT.values())
    answer = yield Command(
        ("sacct", "-X", "-n", "-p", f"--delimiter={SEPARATOR}", "-j", ",".join(ids), "-o", columns),
        ok=(0, 1),
        env=_SECONDS,
    )
    found = list(latest(rows(answer.stdout, tuple(_SACCT))))
    for job in found:
        wanted.discard(str(job["id"]))
        yield job
    # A cluster without accounting says that it is disabled: then squeue is all there is.
    trouble = answer.returncode == 1 and "disabled" not in answer.stderr
    if wanted:
        letters = SEPARATOR.join(_SQUEUE.values()) + SEPARATOR
        listing = yield Command(("squeue", "-h", "-a", "-t", "all", "-o", letters), env=_SECONDS, lasts=LASTS)
        for job in latest(rows(listing.stdout, tuple(_SQUEUE))):
            if job["id"] in wanted:
                wanted.discard(str(job["id"]))
                yield job
    if wanted and trouble:
        raise LookupFailedError(f"sacct failed: {answer.stderr.strip() or 'no message'}")
    if wanted and not found and answer.stdout.strip():
        raise unreadable("sacct", answer.stdout)


def parse(text: str) -> Iterable[Metadata]:
    """Read what ``sacct --json``, ``squeue --json`` or ``scontrol show job`` has printed, or a JSON object a line."""
    if text.lstrip().startswith("{"):
        return latest(_from_json(text))
    return latest(_from_scontrol(text))


def rows(text: str, fields: Sequence[str], delimiter: str = SEPARATOR) -> Iterator[Metadata]:
    """Read a table without headings.

    Args:
        text: The table. With `SEPARATOR`, which also ends each row, a field may contain newlines.
        fields: The field that each column gives; empty: none.
        delimiter: What is between two columns.
    """
    if delimiter == SEPARATOR:
        parts = text.split(SEPARATOR)[:-1]  # what no separator ends was cut off
        lines = [parts[at : at + len(fields)] for at in range(0, len(parts), len(fields))]
    else:
        lines = [line.split(delimiter) for line in text.splitlines()]
    for line in lines:
        if len(line) == len(fields):
            yield _metadata(dict(zip(fields, (field.strip() for field in line), strict=True)))


def latest(jobs: Iterable[Metadata]) -> Iterable[Metadata]:
    """Give one record of each job: of one that was queued again, the last."""
    found: dict[str, Metadata] = {}
    for job in jobs:
        before = found.get(str(job.get("id", "")))
        if "id" in job and (before is None or int(job.get("submit", 0)) >= int(before.get("submit", 0))):
            found[str(job["id"])] = job
    return found.values()


def _metadata(fields: Mapping[str, Any]) -> Metadata:
    """Make metadata of texts and numbers. Times that are not seconds are left out: their time zone is not known."""
    job = {name: value for name, value in fields.items() if name and str(value) not in _NOTHING}
    for name in _NUMBERS & job.keys():
        if str(job[name]).isdecimal():
            job[name] = int(job[name])
        else:
            del job[name]
    state = str(job.get("state", "")).partition(" ")[0].rstrip("+")
    ended = state in _ENDED
    if not ended:
        job.pop("end", None)  # of a job that has not ended, squeue tells when it has to
    return known(**{**job, "state": state, "ended": ended, "id": str(job.get("id", ""))})


def _from_json(text: str) -> Iterator[Metadata]:
    try:
        said = json.loads(text)
    except ValueError:
        jobs = [_line(line) for line in text.splitlines()]
    else:
        jobs = said.get("jobs", [said])
    for job in jobs:
        if isinstance(job, dict):
            times, association = _object(job.get("time")), _object(job.get("association"))
            state = job.get("job_state") or _object(job.get("state")).get("current") or job.get("state")
            yield _metadata({
                "id": _number(job.get("job_id") or job.get("id")),
                "user": job.get("user_name") or job.get("user") or association.get("user"),
                "uid": _number(job.get("user_id")),
                "group": job.get("group_name") or job.get("group"),
                "account": job.get("account") or job.get("a"),
                "name": job.get("name"),
                "partition": job.get("partition") or job.get("p"),
                "qos": job.get("qos"),
                "state": state[0] if isinstance(state, list) and state else state,
                "submit": _time(job.get("submit_time") or times.get("submission")),
                "start": _time(job.get("start_time") or times.get("start")),
                "end": _time(job.get("end_time") or times.get("end")),
                "nodes": _number(job.get("node_count") or job.get("allocation_nodes")),
                "nodelist": job.get("nodes"),
                "cpus": _number(job.get("cpus") or _processors(job)),
                "cwd": job.get("current_working_directory") or job.get("working_directory"),
                "cluster": job.get("cluster"),
            })  # fmt: skip


def _line(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> object:
    """Read a number in any of the forms that Slurm's JSON had: plain, or an object that says whether it is set."""
    if isinstance(value, dict):
        return value.get("number") if value.get("set") and not value.get("infinite") else ""
    return "" if value is None else value


def _time(value: object) -> object:
    return _number(value) or ""  # 0: not yet


def _processors(job: Mapping[str, Any]) -> object:
    """Tell how many processors a job has or, if it has none, asked for."""
    tres = _object(job.get("tres"))
    some = [*(tres.get("allocated") or []), *(tres.get("requested") or [])]
    return next((one.get("count") for one in some if _object(one).get("type") == "cpu"), None)


def _from_scontrol(text: str) -> Iterator[Metadata]:
    for block in re.split(r"^(?=JobId=)", text, flags=re.MULTILINE):
        first, _, rest = block.partition("\n")
        head = _HEAD(first)
        if head is not None and " UserId=" in head[2]:  # all in one line, of `scontrol -o`
            first, *others = first.split(" UserId=")
            head = _HEAD(first) if len(others) == 1 else None  # else one is in the name, and which is not known
            rest = re.sub(r" (?=[A-Z][A-Za-z:/]*=)", "\n   ", f" UserId={others[0]}")
        if head is None:
            continue
        found = dict(re.findall(r"^ +(WorkDir)=(.*)$", rest, re.MULTILINE))
        for name, value in re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", rest):
            found.setdefault(name, value)  # the first one: what follows Command= is the user's
        user = re.fullmatch(r"(.*)\(([0-9]+)\)", found.get("UserId", ""))
        yield _metadata({
            "id": head[1],
            "name": head[2],
            "user": user[1] if user else "",
            "uid": user[2] if user else "",
            "group": found.get("GroupId", "").partition("(")[0],
            "account": found.get("Account", ""),
            "partition": found.get("Partition", ""),
            "qos": found.get("QOS", ""),
            "state": found.get("JobState", ""),
            "nodes": found.get("NumNodes", ""),
            "nodelist": found.get("NodeList", ""),
            "cpus": found.get("NumCPUs", ""),
            "cwd": found.get("WorkDir", ""),
        })  # fmt: skip
