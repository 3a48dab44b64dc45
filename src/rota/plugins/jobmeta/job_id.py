"""Grid Engine of all makes (SGE, Son of Grid Engine, UGE, Open Cluster Scheduler): ids that are numbers.

``qstat -xml -j`` knows the jobs that wait or run, and in most makes neither their state nor queue nor slots, which the
list of all jobs has, asked for once in `LASTS` seconds. The accounting file, or for a few jobs ``qacct``, knows those
that have ended. All tasks of an array share an id: its state is that of one that runs, if one does, and its slots are
those of all that do. Ids start again at 1 after ten million: of several records the newest counts.

Known defects: the answer about an unknown job may be no well-formed XML; ``<`` in a name may be ``%lt;``; times are
seconds, milliseconds in UGE 8.6 and microseconds in Open Cluster Scheduler 9.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import Answer, Command, LookupFailedError, known, read_xml, unreadable, whole_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/job_id"
plugin_name = "Grid Engine"
plugin_version = 100
FIELDS = (
    "user", "uid", "group", "account", "name", "partition", "state", "ended", "submit", "start", "end", "cpus", "cwd",
)  # fmt: skip
COMMANDS = ("qconf",)  # PBS has a qstat, too

#: Seconds for which a list of all jobs is good.
LASTS = 30.0
#: Jobs of one batch for which qacct is called where there is no accounting file to read: it reads all of it each time.
_MOST_CALLS = 10
#: What of a job only the list of all jobs has.
_OF_LIST = frozenset({"state", "partition", "cpus"})
#: Columns of the accounting file.
_ACCOUNTING = {
    "partition": 0, "group": 2, "user": 3, "name": 4, "id": 5, "account": 6, "submit": 8, "start": 9, "end": 10,
    "project": 31, "cpus": 34,
}  # fmt: skip
#: Names in ``qacct -j`` and in ``accounting.jsonl`` by the field that they give.
_QACCT = {
    "partition": "qname", "group": "group", "user": "owner", "name": "jobname", "id": "jobnumber", "account": "account",
    "project": "project", "cpus": "slots",
}  # fmt: skip
_JSON = {
    "partition": "qname", "group": "group", "user": "owner", "name": "job_name", "id": "job_number",
    "account": "account", "project": "project", "cpus": "slots", "submit": "submission_time", "start": "start_time",
    "end": "end_time",
}  # fmt: skip


def matches(job_id: str) -> bool:
    """Whether it is a number."""
    return re.fullmatch(r"[1-9][0-9]{0,9}", job_id) is not None


def fetch(ids: Sequence[str]) -> Asking:
    """Ask the queue about all, and the accounting about what it does not know."""
    answer = yield Command(("qstat", "-xml", "-j", ",".join(ids)), ok=(0, 1))
    jobs = list(parse(answer.stdout)) if answer.stdout.lstrip().startswith("<") else []
    if any(_OF_LIST - job.keys() for job in jobs):
        listing = yield Command(("qstat", "-xml", "-u", "*"), lasts=LASTS)
        listed = {job["id"]: job for job in (_from_xml(listing.stdout) if listing.stdout.lstrip()[:1] == "<" else [])}
        jobs = [{**_chosen(listed.get(job["id"], {})), **job} for job in jobs]
    yield from jobs
    missing = sorted(set(ids) - {str(job["id"]) for job in jobs})
    if missing:
        yield from (yield from _finished(missing))
    if answer.returncode and not answer.stdout:
        raise LookupFailedError(f"qstat failed: {answer.stderr.strip() or 'no message'}")
    if missing and not answer.returncode and answer.stdout.lstrip()[:1] not in {"", "<"}:
        raise unreadable("qstat", answer.stdout)


def _chosen(job: Metadata) -> Metadata:
    return {name: value for name, value in job.items() if name in _OF_LIST}


def _finished(ids: Sequence[str]) -> Generator[Command, Answer, list[Metadata]]:
    """Ask the accounting."""
    root = yield Command(("printenv", "SGE_ROOT"), ok=(0, 1))
    cell = yield Command(("printenv", "SGE_CELL"), ok=(0, 1))
    folder = f"{root.stdout.strip() or '/var/lib/gridengine'}/{cell.stdout.strip() or 'default'}/common"
    numbers = "|".join(ids)
    patterns = ("-e", f"^([^:]*:){{5}}({numbers}):", "-e", f'"job_number":({numbers}),')
    files = (f"{folder}/accounting", f"{folder}/accounting.jsonl")
    found = yield Command(("grep", "-E", "-h", "-s", *patterns, *files), ok=(0, 1, 2))  # 2: one file is not there
    text = found.stdout
    if found.returncode == 2 and not text:
        for job_id in ids[:_MOST_CALLS]:
            answer = yield Command(("qacct", "-j", job_id), ok=(0, 1))
            if answer.returncode in {0, 1}:  # else it was cut off
                text += "".join(f"{line}\n" for line in whole_lines(answer.stdout))
    return [job for job in parse(text) if job["id"] in ids]


def parse(text: str) -> Iterable[Metadata]:
    """Read what ``qstat -xml`` (also with ``-j``) or ``qacct -j`` has printed, or a file of the accounting."""
    if text.lstrip().startswith("<"):
        return _from_xml(text)
    if text.startswith("===="):
        return _newest(_from_qacct(text))
    return _newest(_from_accounting(text))


def _from_xml(text: str) -> list[Metadata]:
    if "<unknown_jobs" in text[:1000]:  # which may be no well-formed XML, and says nothing else
        return []
    root = read_xml("qstat", text)
    # A job is an element of djob_info, djob_info itself in UGE, and in the whole queue a job_list for each task.
    found = [*root.iterfind("djob_info/element"), *root.iter("djob_info"), *root.iter("job_list")]
    jobs: dict[str, Metadata] = {}
    for job in found:
        if number := job.findtext("JB_job_number"):
            jobs[number] = _with_task(jobs.get(number), _of_queue(number, job))
    return list(jobs.values())


def _with_task(before: Metadata | None, task: Metadata) -> Metadata:
    """Add a task to what is known of its array."""
    if before is None:
        return task
    running = [one for one in (before, task) if "partition" in one]
    if len(running) < 2:
        return running[0] if running else before
    return {**task, **before, "cpus": int(before.get("cpus", 0)) + int(task.get("cpus", 0))}


def _of_queue(number: str, job: Element) -> Metadata:
    """Make metadata of an element of either form of qstat's XML; with ``-j`` most of it is in the tasks."""
    started = [int(time) for one in job.iter("JAT_start_time") if (time := one.text or "").isdecimal()]
    granted = [int(slots) for one in job.iter("JG_slots") if (slots := one.text or "").isdecimal()]
    queue = job.findtext("queue_name") or next((one.text for one in job.iter("JG_qname") if one.text), "")
    return _metadata({
        "id": number,
        "user": job.findtext("JB_owner"),
        "uid": job.findtext("JB_uid"),
        "group": job.findtext("JB_group"),
        "account": job.findtext("JB_account"),
        "project": job.findtext("JB_project"),
        "name": job.findtext("JB_job_name") or job.findtext("JB_name"),
        "partition": queue.partition("@")[0],
        "state": job.findtext("state"),
        "submit": job.findtext("JB_submission_time"),
        "start": max(started, default=None),
        "cpus": sum(granted) or job.findtext("slots"),
        "cwd": job.findtext("JB_cwd"),
        "ended": False,
    })  # fmt: skip


def _from_qacct(text: str) -> Iterator[Metadata]:
    for block in re.split(r"^=+$", text, flags=re.MULTILINE):
        fields = {name: value.strip() for line in block.splitlines() for name, _, value in [line.partition(" ")]}
        if "jobnumber" in fields:
            yield _metadata({**{name: fields.get(column) for name, column in _QACCT.items()}, "ended": True})


def _from_accounting(text: str) -> Iterator[Metadata]:
    """Read lines of the file ``accounting``, separated by colons, and of ``accounting.jsonl``."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            yield _metadata({**{name: record.get(key) for name, key in _JSON.items()}, "ended": True})
        elif not line.startswith("#") and len(parts := line.split(":")) > 44:
            yield _metadata({**{name: parts[column] for name, column in _ACCOUNTING.items()}, "ended": True})


def _newest(jobs: Iterable[Metadata]) -> Iterable[Metadata]:
    found: dict[str, Metadata] = {}
    for job in jobs:
        before = found.get(str(job.get("id", "")))
        if "id" in job and (before is None or job.get("submit", 0) >= before.get("submit", 0)):  # type: ignore[operator]
            found[str(job["id"])] = job
    return found.values()


def _metadata(fields: Mapping[str, Any]) -> Metadata:
    """Make metadata; the project is the account, unless there is none."""
    project = fields.get("project")
    return known(
        id=str(fields["id"] or ""),
        user=fields.get("user"),
        uid=_number(fields.get("uid")),
        group=fields.get("group"),
        account=project if project not in {None, "", "NONE"} else fields.get("account"),
        name=str(fields.get("name") or "").replace("%lt;", "<"),
        partition=fields.get("partition"),
        state=fields.get("state"),
        ended=fields.get("ended"),
        submit=_seconds(fields.get("submit")),
        start=_seconds(fields.get("start")),
        end=_seconds(fields.get("end")),
        cpus=_number(fields.get("cpus")),
        cwd=fields.get("cwd"),
    )


def _number(value: object) -> int | None:
    return int(str(value)) if str(value).isdecimal() else None


def _seconds(value: object) -> float | None:
    """Give a time in seconds, whichever unit it is in; ``None`` for 0, which means not yet."""
    time = _number(value)
    if not time:
        return None
    if time > 10**14:
        return time / 10**6
    return time / 10**3 if time > 10**11 else time
