"""LoadLeveler, which IBM no longer sells: ids such as ``fr2n02.32.0``, asked of ``llq``, then of ``llsummary``.

It was tested with recorded answers of ``llq`` only. No answer of ``llsummary`` was to be had: its form is taken from
the manual and from a program that reads it. It tells one job in each call, and reads a file that may be for
administrators only. An id with a domain (``fr2n02.example.org.32.0``) is the same job as without.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.interfaces.jobmeta import LONGEST_ID, Command, known, unreadable, whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.interfaces.jobmeta import Answer, Asking, Metadata

plugin_type = "jobmeta/loadl_step_id"
plugin_name = "LoadLeveler"
plugin_version = 100
FIELDS = ("user", "group", "account", "name", "partition", "state", "ended", "cwd")
COMMANDS = ("llq", "llsummary")

_PATTERN = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:\.[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*)*\.([0-9]+)\.([0-9]+)")
#: Calls of ``llsummary`` for one batch; the other jobs are asked about again.
_MOST_CALLS = 10
_HEADING = re.compile(r"^(?:=+|-+) (Job|Step|Job Step) (\S+) (?:=+|-+)$", re.MULTILINE)
#: Exit statuses of what took too long or printed too much.
_BROKEN_OFF = (124, 125)
_ENDED = frozenset({"Completed", "Removed", "Terminated", "Vacated", "Canceled", "C", "RM", "TX", "V", "CA"})


def matches(job_id: str) -> bool:
    """Whether it is a host, a job's number and a step's. What may have been cut is none."""
    return _PATTERN.fullmatch(job_id) is not None and len(job_id) < LONGEST_ID


def normalize(job_id: str) -> str:
    """Give it without the domain."""
    found = _PATTERN.fullmatch(job_id)
    return ".".join(found.groups()) if found else job_id


def fetch(ids: Sequence[str]) -> Asking:
    """Ask for all at once; for what ``llq`` does not know, job by job."""
    answer = yield Command(("llq", "-l", *ids))
    found = list(parse(_whole(answer)))
    yield from found
    missing = {job_id.rpartition(".")[0] for job_id in set(ids) - {normalize(str(job.get("id"))) for job in found}}
    for job in sorted(missing)[:_MOST_CALLS]:
        history = yield Command(("llsummary", "-l", "-j", job), ok=(0, 1, 127))  # 127: it is not here
        yield from parse(_whole(history))
    # That there is no job at all is said in a sentence: "llq: There is currently no job status to report."
    if missing and not answer.returncode and not found and answer.stdout.strip() and "llq: " not in answer.stdout:
        raise unreadable("llq", answer.stdout)


def parse(text: str) -> Iterator[Metadata]:
    """Read what ``llq -l``, ``llq -r %id %o %jn %c %st``, plain ``llq`` or ``llsummary -l`` has printed."""
    if _HEADING.search(text):
        return _long(text)
    return _raw(text) if "!" in text else _table(text)


def _whole(answer: Answer) -> str:
    """Give what is whole of an answer: of one that was broken off, nothing from the last heading on."""
    text = "".join(f"{line}\n" for line in whole_lines(answer.stdout))
    headings = [found.start() for found in _HEADING.finditer(text)] if answer.returncode in _BROKEN_OFF else []
    return text[: headings[-1]] if headings else text


def _long(text: str) -> Iterator[Metadata]:
    """Read steps: in ``llsummary`` they stand under their job, which tells the owner and the name."""
    job: dict[str, str] = {}
    for kind, head, block in _blocks(text):
        lines = (line.partition(":") for line in block.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in reversed(list(lines))}  # the first one counts
        if kind == "Job":
            job = fields
            continue
        fields = job | {name: value for name, value in fields.items() if value}
        state = fields.get("Status")
        yield known(
            id=fields.get("Job Step Id") or head,
            user=fields.get("Owner"),
            group=fields.get("Unix Group"),
            account=fields.get("Account"),
            name=fields.get("Job Name"),
            partition=fields.get("Class"),
            state=state,
            ended=state in _ENDED,
            cwd=fields.get("Initial Working Dir"),
        )


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Give what stands under each heading: whether it is a job or a step, and whose heading it is."""
    parts = _HEADING.split(text)
    for kind, head, block in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield kind, head, re.split(r"^[-=]{40,}$", block, flags=re.MULTILINE)[0]


def _raw(text: str) -> Iterator[Metadata]:
    for line in text.splitlines():
        if len(parts := line.split("!")) == 5:
            yield known(
                id=parts[0], user=parts[1], name=parts[2], partition=parts[3], state=parts[4], ended=parts[4] in _ENDED
            )


def _table(text: str) -> Iterator[Metadata]:
    for line in text.splitlines():
        parts = line.split()
        if len(parts) > 6 and matches(parts[0]):
            yield known(id=parts[0], user=parts[1], state=parts[4], partition=parts[6], ended=parts[4] in _ENDED)
