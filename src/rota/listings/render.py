"""Evaluates the command line of a listing, such as ``sprio -l -u alice``."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.config.hostlist import fold
from rota.listings.sprio import sprio
from rota.listings.squeue import NO_NAME, squeue
from rota.listings.sshare import sshare
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.listings.view import View
    from rota.model import Association, PriorityFactors
    from rota.model.lines import JobLine


class _Option(NamedTuple):
    """An option: the keyword argument that it sets, and the parser of its value (``None``: it sets a fixed value)."""

    keyword: str
    read: Callable[[str], Any] | None = None
    sets: Any = True


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str) -> frozenset[int]:
    words = _words(text)
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(f"{text!r} is no list of job ids")
    return frozenset(map(int, words))


_SPRIO: dict[tuple[str, ...], _Option] = {
    ("-h", "--noheader"): _Option("noheader"),
    ("-j", "--jobs"): _Option("job_ids", _numbers),
    ("-l", "--long"): _Option("long"),
    ("-n", "--norm"): _Option("norm"),
    ("-o", "--format"): _Option("fmt", str),
    ("-p", "--partition"): _Option("partitions", _words),
    ("-S", "--sort"): _Option("sort", str),
    ("-u", "--user"): _Option("users", _words),
    ("-w", "--weights"): _Option("weights_only"),
}
_SQUEUE: dict[tuple[str, ...], _Option] = {
    ("-a", "--all"): _Option(""),
    ("-h", "--noheader"): _Option("noheader"),
    ("-j", "--jobs"): _Option("job_ids", _numbers),
    ("-l", "--long"): _Option("long"),
    ("-n", "--name"): _Option("names", _words),
    ("-o", "--format"): _Option("fmt", str),
    ("-O", "--Format"): _Option("named_fmt", str),
    ("-p", "--partition"): _Option("partitions", _words),
    ("-r", "--array"): _Option(""),
    ("-S", "--sort"): _Option("sort", str),
    ("--start",): _Option("start"),
    ("-t", "--states"): _Option("states", _words),
    ("-u", "--user"): _Option("users", _words),
}
_SSHARE: dict[tuple[str, ...], _Option] = {
    ("-A", "--accounts"): _Option("accounts", _words),
    ("-a", "--all"): _Option("all_users"),
    ("-l", "--long"): _Option("long"),
    ("-m", "--partition"): _Option("partitions"),
    ("-n", "--noheader"): _Option("noheader"),
    ("-o", "--format"): _Option("fmt", str),
    ("-p", "--parsable"): _Option("parsable", sets=1),
    ("-P", "--parsable2"): _Option("parsable", sets=2),
    ("-u", "--users"): _Option("users", _words),
    ("-U", "--Users"): _Option("users_only"),
}
#: The supported commands and their options.
LISTINGS: dict[str, dict[tuple[str, ...], _Option]] = {"squeue": _SQUEUE, "sprio": _SPRIO, "sshare": _SSHARE}


def render(command_line: str, view: View) -> str:
    """Give the output of a command.

    Raises:
        InputError: the command or an option is unknown, or a value cannot be used.
    """
    command, options = _parse(command_line)
    if command == "squeue":
        return squeue(view.jobs, now=view.now, utc_offset=view.utc_offset, **options)
    if command == "sprio":
        return sprio(view.factors, view.weights, **options)
    return sshare(view.associations, view.tres, fair_tree=view.fair_tree, **options)


def check(command_line: str) -> str:
    """Check a command line without a view; give the name of its command.

    Raises:
        InputError: the command or an option is unknown.
    """
    return _parse(command_line)[0]


def to_json(command_line: str, view: View) -> list[dict[str, Any]]:
    """Give the records of a command as JSON data. Its options are checked and otherwise ignored.

    Raises:
        InputError: the command or an option is unknown.
    """
    command, _ = _parse(command_line)
    if command == "squeue":
        return [_job(job) for job in sorted(view.jobs, key=lambda job: job.job_id)]
    if command == "sprio":
        ordered = sorted(view.factors, key=lambda one: one.job_id)  # partitions as requested
        return [{**_fields(one), "priority_tres": dict(one.priority_tres)} for one in ordered]
    return [_fields(one) | {"depth": depth} for one, depth in view.associations]


def _job(job: JobLine) -> dict[str, Any]:
    """Give the fields of a job in ``squeue``."""
    return {
        "job_id": job.job_id,
        "partition": job.partition,
        "name": job.name or NO_NAME,
        "user": job.user,
        "user_id": job.user_id,
        "account": job.account,
        "qos": job.qos,
        "state": job.state,
        "state_compact": job.state_compact,
        "reason": job.reason_text(fold),
        "priority": job.priority,
        "nice": job.nice,
        "num_nodes": job.num_nodes,
        "num_cpus": job.num_cpus,
        "time_limit": job.time_limit,
        "submit_time": job.submit_time,
        "eligible_time": job.eligible_time,
        "start_time": job.expected_start,
        "end_time": None if job.start_time is None else job.end_time,
        "nodes": fold(job.nodes),
        "planned_nodes": fold(job.planned_nodes),
        "array_job_id": job.array_job_id,
        "array_task": job.array_task,
    }


def _fields(record: PriorityFactors | Association) -> dict[str, Any]:
    # Not asdict(): that copies values, which fails for read-only mappings.
    return {name: getattr(record, name) for name in record.__slots__}


def _parse(command_line: str) -> tuple[str, dict[str, Any]]:
    try:
        words = shlex.split(command_line)
    except ValueError as error:
        raise InputError(f"{command_line!r}: {error}", field="--show") from None
    command, *arguments = words or [""]
    if command not in LISTINGS:
        raise InputError(f"{command!r} is none of {', '.join(LISTINGS)}", field="--show")
    table = {name: option for names, option in LISTINGS[command].items() for name in names}
    options: dict[str, Any] = {}
    queue = list(reversed(arguments))
    while queue:
        word = queue.pop()
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
        option = table.get(name)
        if option is None:
            raise InputError(f"no option {name}: there are {', '.join(sorted(table))}", field=command)
        if option.read is None:
            if value and not equals and not word.startswith("--"):
                queue.append(f"-{value}")  # short options combined in one word
            elif equals:
                raise InputError(f"option {name} has no value", field=command)
            options[option.keyword] = option.sets
            continue
        if not value and not equals:
            # --jobs of sprio and squeue may have no value.
            if not queue:
                raise InputError(f"option {name} needs a value", field=command)
            value = queue.pop()
        try:
            options[option.keyword] = option.read(value)
        except ValueError as error:
            raise InputError(str(error), field=f"{command} {name}") from None
    options.pop("", None)
    return command, options


def split_commands(text: str) -> list[str]:
    """Split ``squeue,sprio -l,sshare -A a,b`` into command lines: at commas before the name of a command."""
    return [part.strip() for part in re.split(rf",\s*(?=(?:{'|'.join(LISTINGS)})\b)", text)]
