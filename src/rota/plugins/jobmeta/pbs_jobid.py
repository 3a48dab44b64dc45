"""OpenPBS, PBS Professional and Torque: ids such as ``123.server`` and ``123[4].server``, asked of ``qstat -f``.

JSON first. Some of OpenPBS's answers are not: of several ids it may tell only the first (issue 2672), and names that
look like numbers or have backslashes make it invalid (1255, 2049, 2541, 2603). Torque has none. For whatever is missing
then, the text is asked for, which Torque prints as XML. Finished jobs are known where the server keeps their history
(``job_history_enable``), and for some minutes on Torque.

The server's name in an id may be cut, or be missing: a job is the same if its number and index are, and the names of
the server do not contradict each other. If two do fit, neither is used.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import LONGEST_ID, Command, LookupFailedError, known, read_xml, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/pbs_jobid"
plugin_name = "OpenPBS, PBS Professional and Torque"
plugin_version = 100
FIELDS = (
    "user", "group", "account", "name", "partition", "state", "ended", "submit", "start", "end", "nodes", "cpus", "cwd",
)  # fmt: skip
COMMANDS = ("pbsnodes",)  # Grid Engine has a qstat, too

#: A number; of an element of an array with its index, in early releases of Torque as in ``123-4.server``.
_PATTERN = re.compile(r"([0-9]{1,12}(?:\[[0-9]*\]|-[0-9]{1,9}(?=\.))?)(?:\.((?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9.-]*))?")
#: A part of what Torque grants: nodes, by number or by name, each with so many processors.
_NODES = re.compile(r"(?:([0-9]+)|[^:+]+)((?::[^:+]+)*)").fullmatch
#: Unknown, and finished.
_NOT_FOUND = (0, 35, 153)
_ENDED = frozenset({"F", "X", "C", "M"})


def matches(job_id: str) -> bool:
    """Whether it is a number, perhaps with an index, and perhaps a server."""
    return _PATTERN.fullmatch(job_id) is not None


def fetch(ids: Sequence[str]) -> Asking:
    """Ask for JSON, and then for text about those that are missing."""
    asked = {job_id: _split(job_id) for job_id in ids}
    arguments = {job_id: number if len(job_id) >= LONGEST_ID else job_id for job_id, (number, _) in asked.items()}
    answer = yield Command(("qstat", "-x", "-f", "-F", "json", *arguments.values()), ok=(2, *_NOT_FOUND))
    try:
        found = list(_fitting(asked, _from_json(answer.stdout)))
    except LookupFailedError:
        found = []
    missing = [arguments[job_id] for job_id in asked.keys() - {job["id"] for job in found}]
    if missing:
        answer = yield Command(("qstat", "-x", "-f", *sorted(missing)), ok=_NOT_FOUND)
        known_now = {job["id"] for job in found}
        found += [job for job in _fitting(asked, parse(_whole(answer.stdout))) if job["id"] not in known_now]
    yield from found
    said = answer.stdout.lstrip()
    if missing and not answer.returncode and said and not said.startswith("<") and "Job Id:" not in said:
        raise unreadable("qstat", said)


def _whole(text: str) -> str:
    """Give the text without a last job behind which there is no empty line: it was cut off."""
    jobs = [found.start() for found in re.finditer(r"^Job Id:", text, re.MULTILINE)]
    return text[: jobs[-1]] if jobs and not text.endswith("\n\n") else text


def parse(text: str) -> Iterator[Metadata]:
    """Read what ``qstat -f`` has printed, as JSON, as XML or as text, or a file of the accounting log."""
    start = text.lstrip()[:1]
    if start == "{":
        return _from_json(text)
    if start == "<":
        return _from_xml(text)
    return _from_text(text) if "Job Id:" in text else _from_log(text)


def find(text: str, ids: Sequence[str]) -> Iterator[Metadata]:
    """Read the same, and give what it has of these jobs, whose server may be missing."""
    return _fitting({job_id: _split(job_id) for job_id in ids}, parse(text))


def _split(job_id: str) -> tuple[str, str]:
    found = _PATTERN.fullmatch(job_id)
    return (found[1], found[2] or "") if found else (job_id, "")


def _fitting(asked: Mapping[str, tuple[str, str]], jobs: Iterable[Metadata]) -> Iterator[Metadata]:
    """Give each job with the ids as they were asked."""
    by_number: dict[str, list[tuple[str, str]]] = {}
    for job_id, (number, server) in asked.items():
        by_number.setdefault(number, []).append((job_id, server))
    for job in jobs:
        number, server = _split(str(job["id"]))
        for job_id, wanted in by_number.get(number, ()):
            if _same_server(wanted, server, cut=len(job_id) >= LONGEST_ID):
                yield {**job, "id": job_id}


def _same_server(one: str, other: str, *, cut: bool) -> bool:
    short, long = sorted((one.lower(), other.lower()), key=len)
    return not short or long == short or long.startswith(short + ".") or (cut and other.lower().startswith(one.lower()))


def _from_json(text: str) -> Iterator[Metadata]:
    """Read JSON. Numbers are kept as they are written: they may be names."""
    try:
        said = json.loads(text, strict=False, parse_int=str, parse_float=str)
    except ValueError as exc:
        raise LookupFailedError(f"qstat printed no JSON that can be read: {exc}") from None
    jobs = said.get("Jobs") if isinstance(said, dict) else None
    for job_id, fields in (jobs or {}).items():
        if isinstance(fields, dict):
            flat = {f"{name}.{key}": value for name in ("Resource_List", "Variable_List")
                    for key, value in _object(fields.get(name)).items()}  # fmt: skip
            yield _metadata(job_id, {**fields, **flat})


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _from_xml(text: str) -> Iterator[Metadata]:
    root = read_xml("qstat", text)
    for job in root.iter("Job"):
        fields = {one.tag: (one.text or "") for one in job}
        fields |= {f"Resource_List.{one.tag}": one.text or "" for one in job.iterfind("Resource_List/*")}
        yield _metadata(fields.get("Job_Id", ""), fields)


def _from_text(text: str) -> Iterator[Metadata]:
    """Read blocks of ``name = value``, whose long lines go on behind a tab.

    A value may contain newlines, and then its lines begin in column 0: these are no attributes. Where a user has made
    them look like another job, there are two records of one id that contradict each other, and neither is used.
    """
    for block in re.split(r"^Job Id: *", text, flags=re.MULTILINE)[1:]:
        job_id, _, rest = block.partition("\n")
        fields: dict[str, str] = {}
        name = ""
        for line in rest.splitlines():
            if line.startswith("\t"):
                fields[name] = fields.get(name, "") + line[1:]
            elif attribute := re.match(r" {4}([A-Za-z_.]+) = (.*)", line):
                name = attribute[1]
                fields.setdefault(name, attribute[2])
        variables = dict(part.partition("=")[::2] for part in fields.get("Variable_List", "").split(","))
        yield _metadata(job_id.strip(), {**fields, "Variable_List.PBS_O_WORKDIR": variables.get("PBS_O_WORKDIR", "")})


def _from_log(text: str) -> Iterator[Metadata]:
    """Read an accounting log: ``time;E;id;name=value …`` for the end of a job. Of an id the last line counts."""
    found: dict[str, Metadata] = {}
    for line in text.splitlines():
        parts = line.split(";", 3)
        if len(parts) == 4 and parts[1] == "E":
            fields: dict[str, str] = {}
            for word in parts[3].split(" "):
                name, _, value = word.partition("=")
                fields.setdefault(name, value)
            found[parts[2]] = _metadata(
                parts[2],
                {
                    **fields,
                    "Job_Owner": fields.get("user"),
                    "egroup": fields.get("group"),
                    "Job_Name": fields.get("jobname"),
                    "Account_Name": fields.get("account"),
                    "job_state": "F",
                    "submit": fields.get("ctime"),
                },
            )
    yield from found.values()


def _metadata(job_id: str, fields: Mapping[str, Any]) -> Metadata:
    project = fields.get("project")
    nodes = str(fields.get("Resource_List.nodect", "")).partition(":")[0]
    return known(
        id=job_id,
        # Not `euser`: in text that comes behind what the user has written, and could be part of it.
        user=str(fields.get("Job_Owner") or "").partition("@")[0],
        group=fields.get("egroup") or fields.get("group_list"),
        account=fields.get("Account_Name") or (project if project != "_pbs_project_default" else None),
        name=fields.get("Job_Name"),
        partition=fields.get("queue"),
        state=fields.get("job_state"),
        ended=fields.get("job_state") in _ENDED,
        # In JSON and in text most times are no seconds, and have no time zone.
        submit=_number(fields.get("submit") or fields.get("ctime")),
        start=next(filter(None, (_number(fields.get(name)) for name in ("start", "start_time", "stime"))), None),
        end=_number(fields.get("end") or fields.get("comp_time")),
        nodes=_number(nodes),
        cpus=_cpus(fields),
        cwd=fields.get("Variable_List.PBS_O_WORKDIR") or fields.get("init_work_dir"),
    )


def _number(value: object) -> int | None:
    return int(str(value)) if str(value).isdecimal() else None


def _cpus(fields: Mapping[str, Any]) -> int | None:
    """Tell how many processors a job has: Torque has ``ncpus=1`` beside nodes or ``procs``, where it means nothing."""
    nodes, procs, ncpus = (str(fields.get(f"Resource_List.{name}") or "") for name in ("nodes", "procs", "ncpus"))
    return max(_processors(nodes), _number(procs) or 0, _number(ncpus) or 0) or None


def _processors(nodes: str) -> int:
    """Add up what Torque is asked for, such as ``4`` or ``2:ppn=8+n17:ppn=4:gpus=1#shared``; 0: nothing is known."""
    total = 0
    for part in nodes.partition("#")[0].split("+"):
        found = _NODES(part)
        if found is None:
            return 0
        each = re.search(r":ppn=([0-9]{1,6})(?![^:])", found[2])
        total += int(found[1] or 1) * int(each[1] if each else 1)
    return total
