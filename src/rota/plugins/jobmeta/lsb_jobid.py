"""LSF: ids such as ``487641``, which all elements of an array share, asked of ``bjobs``, then of ``bacct``.

JSON (10.1 and later), else a table. ``bjobs`` knows finished jobs for as long as ``CLEAN_PERIOD`` says, by default an
hour; after that ``bacct`` has them, which reads the accounting log. Times have no year or no time zone, so they are
left out. Lines such as "Please wait" may precede the JSON.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import Command, LookupFailedError, known, unreadable, whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/lsb_jobid"
plugin_name = "LSF"
plugin_version = 100
FIELDS = ("user", "group", "account", "name", "partition", "state", "ended", "submit", "start", "end", "cpus", "cwd")
COMMANDS = ("bjobs", "bacct")

_PATTERN = re.compile(r"([1-9][0-9]{0,18})(?:\[([0-9]+)\])?")
#: Columns by the field that they give. What users name comes last: only there may the delimiter of a table be.
_COLUMNS = {
    "id": "jobid", "index": "jobindex", "user": "user", "group": "user_group", "account": "proj_name",
    "partition": "queue", "state": "stat", "cpus": "nalloc_slot", "cwd": "exec_cwd", "name": "job_name",
}  # fmt: skip
#: Other names of columns, in answers that were recorded elsewhere.
_ALSO = {"cpus": ("SLOTS",), "cwd": ("SUB_CWD",)}
_ENDED = frozenset({"DONE", "EXIT"})
#: The first lines of a job of ``bacct -l``, unfolded. Attributes of some jobs only stand between these.
_HEADER = re.compile(
    r"Job <([1-9][0-9]*)(?:\[([0-9]+)\])?>(?:, Job Name <(.*)>)?, User <([^<>]*)>, Project <([^<>]*)>"
    r"(?:, [^<>]* <[^<>]*>)*?, Status <([A-Z]+)>, Queue <([^<>]*)>, Command <.*"
)
#: What LSF adds to the name of an array: the index of an element, or all of them.
_ELEMENTS = re.compile(r"\[[0-9,:-]+\](?:%[0-9]+)?\Z")
#: What lines that go on begin with.
_INDENT = " " * 21


def matches(job_id: str) -> bool:
    """Whether it is a number, perhaps with an index."""
    return _PATTERN.fullmatch(job_id) is not None


def fetch(ids: Sequence[str]) -> Asking:
    """Ask for all at once. 255 is the exit status for one that is not known, and for a cluster that is down."""
    names = " ".join(_COLUMNS.values())
    answer = yield Command(("bjobs", "-u", "all", "-a", "-json", "-o", names, *ids), ok=(0, 255))
    table = ""
    if "{" in answer.stdout:
        jobs = list(_from_json(answer.stdout))
    else:
        options = ("-noheader", "-o", f"{names} delimiter='|'")
        answer = yield Command(("bjobs", "-u", "all", "-a", *options, *ids), ok=(0, 255))
        table = answer.stdout.strip()
        jobs = list(rows(answer.stdout, tuple(_COLUMNS)))
        if not jobs and answer.returncode == 255 and "is not found" not in answer.stderr:
            raise LookupFailedError(f"bjobs failed: {answer.stderr.strip() or 'no message'}")
    found = list(_fitting(ids, jobs))
    yield from found
    missing = sorted({_split(job_id)[0] for job_id in ids} - {_split(str(job["id"]))[0] for job in found})
    if missing:
        accounts = yield Command(("bacct", "-l", "-u", "all", *missing), ok=(0, 127, 255))
        yield from _fitting(ids, _from_bacct(accounts.stdout))
        if table and not jobs and not answer.returncode:
            raise unreadable("bjobs", table)


def _fitting(ids: Iterable[str], jobs: Iterable[Metadata]) -> Iterator[Metadata]:
    """Give what is known of each id: of an element, or of all elements of an array."""
    by_number: dict[object, list[Metadata]] = {}
    for job in jobs:
        by_number.setdefault(job["id"], []).append(job)
    for job_id in ids:
        number, index = _split(job_id)
        elements = [job for job in by_number.get(number, ()) if not index or job.get("index") == index]
        if elements:
            yield {**_of_array(elements), "id": job_id}


def parse(text: str) -> Iterable[Metadata]:
    """Read what ``bjobs -json`` or ``bacct -l`` has printed, or a file of the accounting log (``lsb.acct``)."""
    arrays: dict[str, list[Metadata]] = {}
    for job in _elements(text):
        arrays.setdefault(str(job["id"]), []).append(job)
    return [{**_of_array(elements), "id": job_id} for job_id, elements in arrays.items()]


def find(text: str, ids: Sequence[str]) -> Iterator[Metadata]:
    """Read the same, and give what it has of these jobs, or of elements of their arrays."""
    return _fitting(ids, _elements(text))


def _elements(text: str) -> Iterable[Metadata]:
    if text.lstrip().startswith("Accounting information"):
        return _from_bacct(text)
    return _from_log(text) if text.startswith('"') else _from_json(text)


def rows(text: str, fields: Sequence[str], delimiter: str = "|") -> Iterator[Metadata]:
    """Read a table without headings; `fields` says what each column gives, and is empty where nothing."""
    for line in whole_lines(text):
        values = line.split(delimiter, len(fields) - 1)
        if len(values) == len(fields):
            row = dict(zip(fields, (value.strip() for value in values), strict=True))
            yield _metadata({name: "" if value == "-" else value for name, value in row.items()})


def _split(job_id: str) -> tuple[str, str]:
    found = _PATTERN.fullmatch(job_id)
    return (found[1], found[2] or "") if found else (job_id, "")


def _of_array(elements: Sequence[Metadata]) -> Metadata:
    """Say what is true of all elements of an array, which share an id; of its state, whether all have ended."""
    first, *others = elements
    common = {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}
    common.pop("index", None)
    return {**common, "ended": all(one["ended"] for one in elements)}


def _from_json(text: str) -> Iterator[Metadata]:
    start = text.find("{")
    try:
        said = json.loads(text[max(start, 0) :], strict=False)
    except ValueError as exc:
        raise LookupFailedError(f"bjobs printed no JSON that can be read: {exc}") from None
    for record in said.get("RECORDS", ()):
        if "ERROR" not in record and "JOBID" in record:
            yield _metadata({name: _column(record, name, column) for name, column in _COLUMNS.items()})


def _column(record: Mapping[str, Any], name: str, column: str) -> str:
    names = (column.upper(), *_ALSO.get(name, ()))
    return next((str(record[one]) for one in names if record.get(one)), "")


def _metadata(row: Mapping[str, str]) -> Metadata:
    cpus = row.get("cpus", "")
    number, index = _split(row.get("id", ""))  # some releases write an element as 500[3]
    index = index or row.get("index", "")
    return known(**{
        **{name: value for name, value in row.items() if name},
        "id": number,
        "name": _name(row.get("name", ""), index),
        "index": index if index != "0" else None,
        "cpus": int(cpus) if cpus.isdecimal() else None,
        "ended": row.get("state") in _ENDED,
    })  # fmt: skip


def _name(name: str, index: str) -> str:
    """Give the name of a job, or of the array whose element it is."""
    return name if index in {"", "0"} else _ELEMENTS.sub("", name)


def _from_bacct(text: str) -> Iterator[Metadata]:
    """Read jobs, each of which ends in a line of dashes: one without it was cut off.

    Names and commands are chosen by users, and nothing in them is quoted. So where there seem to be two users, nobody
    can know which one is the job's, and it is left out.
    """
    *blocks, _ = re.split(r"^-{40,}\n", text, flags=re.MULTILINE)
    for block in blocks:
        header, *others = block.strip("\n").split("\n")
        for line in takewhile(lambda line: line.startswith(_INDENT), others):
            more = line.removeprefix(_INDENT)
            blank = header.endswith(",") or (more.startswith("<") and not header.endswith(" "))
            header += " " * (blank and not more.startswith(" ")) + more  # one at the end of a line may not be there
        if header.count(", User <") == 1 and (found := _HEADER.fullmatch(header)) is not None:
            number, index, name, user, project, state, queue = found.groups()
            yield _metadata({
                "id": number, "index": index or "", "name": name or "", "user": user, "account": project,
                "state": state, "partition": queue,
            })  # fmt: skip


def _from_log(text: str) -> Iterator[Metadata]:
    """Read the ``JOB_FINISH`` lines of an accounting log: words, and texts in quotes, which are doubled within.

    The hosts that were asked for and those that were used are lists, each behind its length.
    """
    for line in text.splitlines():
        words = [
            quoted.replace('""', '"') if quoted or not word else word
            for quoted, word in re.findall(r'"((?:[^"]|"")*)"(?!")|(\S+)', line)
        ]
        try:
            used = 23 + int(words[22])
            rest = words[used + 1 + int(words[used]) :]
            status, name, account, index = rest[0], rest[2], rest[24], rest[29]
        except (IndexError, ValueError):
            continue
        if words[0] == "JOB_FINISH":
            yield known(
                id=words[3],
                index=index if index != "0" else None,
                user=words[11],
                account=account,
                name=_name(name, index),
                partition=words[12],
                state={"32": "EXIT", "64": "DONE"}.get(status),
                ended=True,
                submit=int(words[7]),
                start=int(words[10]) or None,
                end=int(words[2]),
                cpus=int(words[6]),
                cwd=words[17],
            )
