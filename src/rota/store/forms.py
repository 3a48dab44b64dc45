"""Accounting records in two parts: what many have in common is stored once.

Of jobs that are alike, such as the tasks of an array, records differ in ids, times, names and paths. A *form* is a
record as JSON with ``$0``, ``$1`` … outside of texts in the place of such values. The row of a job has these, as JSON,
one a line: line n, counted from 0, belongs in the place of each ``$n``. Values that are equal are one.

A form serves the jobs that ended in one week, so that it goes with the last of them.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Record = Mapping[str, Any]

#: Seconds in which ended the jobs of a form.
WEEK = 7 * 86_400
#: What differs from job to job, in a job, its request, its details, and a step.
_OF_JOB = frozenset(
    {
        "job_id",
        "name",
        "priority",
        "submit_time",
        "eligible_time",
        "start_time",
        "end_time",
        "array_job_id",
        "array_task",
        "suspended",
        "nodes",
    }
)
_OF_REQUEST = frozenset({"name", "payload", "array", "dependency", "begin_time", "comment"})
_OF_DETAILS = frozenset(
    {
        "command",
        "submit_line",
        "work_dir",
        "std_in",
        "std_out",
        "std_err",
        "comment",
        "admin_comment",
        "alloc_sid",
        "last_sched_eval",
        "accrue_time",
    }
)
_OF_STEP = frozenset({"nodes", "start_time", "end_time", "usage"})
#: Number of steps beyond which they differ from job to job as a whole.
_FEW_STEPS = 4
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|\$(\d+)')
_dump = json.JSONEncoder(separators=(",", ":")).encode


def split(record: Record) -> tuple[str, str]:
    """Give the form of a record, and the lines of its values.

    Args:
        record: An `AccountingRecord`, as JSON data.
    """
    values: dict[str, int] = {}
    job, details, steps = record["job"], record["details"], record.get("steps", ())
    texts = [
        f'"job":{_part(job, _OF_JOB, values, request=_part(job["request"], _OF_REQUEST, values))}',
        f'"details":{_part(details, _OF_DETAILS, values)}',
    ]
    if len(steps) > _FEW_STEPS:
        texts.append(f'"steps":{_mark(steps, values)}')
    elif steps:
        texts.append(f'"steps":[{",".join(_part(step, _OF_STEP, values) for step in steps)}]')
    return _object(texts), "\n".join(values)


def _part(data: Record, own: Collection[str], values: dict[str, int], **inner: str) -> str:
    """Give the form of a part: what jobs have in common, what is theirs, and parts of it."""
    common = _dump({name: one for name, one in data.items() if name not in own and name not in inner})[1:-1]
    texts = [common] if common else []
    texts += [f'"{name}":{_mark(one, values)}' for name, one in data.items() if name in own]
    texts += [f'"{name}":{text}' for name, text in inner.items()]
    return _object(texts)


def _object(members: list[str]) -> str:
    return f"{{{','.join(members)}}}"


def _mark(value: object, values: dict[str, int]) -> str:
    return f"${values.setdefault(_dump(value), len(values))}"


def number_of(form: str, week: int) -> int:
    """Give the number of a form: two forms have the same one as rarely as two files the same checksum."""
    return int.from_bytes(sha256(f"{week} {form}".encode()).digest()[:8]) >> 1


def filler(form: str) -> Callable[[str], str]:
    """Give the function that makes records, as JSON, of the lines of their values."""
    pieces: list[str] = []
    numbers, begin = [], 0
    for found in _MARK.finditer(form):
        if found[1]:
            pieces += form[begin : found.start()], ""
            numbers.append(int(found[1]))
            begin = found.end()
    pieces.append(form[begin:])
    chosen = itemgetter(*numbers)

    def fill(lines: str) -> str:
        whole = pieces.copy()
        whole[1::2] = chosen(lines.split("\n"))
        return "".join(whole)

    return fill
