"""Documents of ``--json`` as records whose fields are values as JSON, by their paths.

A list of counted resources is by type, other lists of objects by place. A moment is written like those in texts, but
without quotation marks, so that a number and a text remain different.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Moments are numbers between these.
_MOMENTS = range(1_600_000_000, 2_100_000_000)
#: What is left out: what is measured or took some time, what only one machine knows, notes that Slurm makes for itself,
#: and which signal has ended a step, which is chance. Which processors a job has is shown by `scontrol -d show job`.
_ASIDE = re.compile(
    r"""
    last_sched_evaluation | association_id | pre_sus_time | job_resources\.allocated_nodes\.\d+\.sockets.*
    | flags | gres_detail | derived_exit_code\..* | exit_code\.signal\..* | tres\.allocated\.energy\..*
    | (steps\.)?time\.(elapsed|suspended|(system|total|user)\..*)
    | tres\.(requested|consumed)\.(max|min|average|total).*
    | architecture | boot_time | cpu_load | free_memory | last_busy | address | hostname | operating_system | port
    | slurmd_start_time | slurmd_version
    """,
    re.VERBOSE,
)


def documents(command: str, lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Read the objects of a document: of jobs those that were asked for, and their last runs, as Slurm prints all."""
    read = json.loads("\n".join(lines))
    last: dict[str, dict[str, Any]] = {}
    asked = {int(one) for one in command.partition(" -j ")[2].split(",") if one}
    for one in read[list(read)[-1]]:
        array = one["array"]["job_id"] if "array" in one else one.get("array_job_id")
        if asked and not asked & {array, one["job_id"]}:
            continue
        record = str(one.get("job_id", one["name"]))
        if array:
            task = one["array"]["task_id"] if "array" in one else one["array_task_id"]
            record = f"{array}_{'' if task is None else task}"
            one["job_id"] = "its own"
        last[record] = one
    for record, one in last.items():
        steps = one.pop("steps", ())
        yield from ((record, *field) for field in _fields(one))
        for step in steps:
            step["step"]["job_id"] = one["job_id"]
            yield from ((f"{record}.{step['step']['id']}", *field) for field in _fields(step))


def _fields(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if path and _ASIDE.fullmatch(path):
        return
    if isinstance(data, list) and data and isinstance(data[0], dict):
        data = {_place(one, number): one for number, one in enumerate(data)}
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _fields(value, f"{path}.{key}".lstrip("."))
    else:
        yield path.replace(" ", "_"), _text(data)


def _place(one: dict[str, Any], number: int) -> str:
    return "/".join(filter(None, (one["type"], one["name"]))) if "type" in one else str(number)


def _text(value: Any) -> str:
    if type(value) is int and value in _MOMENTS:
        return datetime.fromtimestamp(value, UTC).astimezone().replace(tzinfo=None).isoformat()
    return json.dumps(value)
