"""Listings of a moment of a replay: command lines such as ``sprio -l -u alice``, and the same records as data."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from rota.commands.getopt import UsageError
from rota.config.hostlist import fold_sorted
from rota.listings import sprio, squeue, sshare
from rota.listings.run import every, run
from rota.listings.text import NULL
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.listings.view import View
    from rota.model import Association, PriorityFactors
    from rota.model.lines import JobLine


#: The commands that show a moment of a replay.
LISTINGS = ("squeue", "sprio", "sshare")


def render(command_line: str, view: View) -> str:
    """Give the output of a command.

    Raises:
        InputError: the command or an option is unknown, or a value cannot be used.
    """
    answer = run(_words(command_line), {}, view)
    if answer.code or answer.err:
        raise _error(answer.err)
    return answer.out


def check(command_line: str) -> str:
    """Check a command line without a view; give the name of its command.

    Raises:
        InputError: the command or an option is unknown.
    """
    command, *arguments = _words(command_line)
    checks: dict[str, Callable[[Sequence[str]], object]] = {"squeue": squeue.check, "sprio": sprio.check}
    try:
        checks.get(command, sshare.check)(arguments)
        if every((command, *arguments)):
            raise InputError("--iterate is for a live cluster", field=command)
    except UsageError as error:
        raise _error(error.err) from None
    return command


def _words(command_line: str) -> list[str]:
    try:
        words = shlex.split(command_line)
    except ValueError as error:
        raise InputError(f"{command_line!r}: {error}", field="--show") from None
    if not words or words[0] not in LISTINGS:
        raise InputError(f"{words[0] if words else ''!r} is none of {', '.join(LISTINGS)}", field="--show")
    return words


def _error(text: str) -> InputError:
    """Make an error of what a command prints on standard error."""
    line = text.strip().partition("\n")[0]
    command, _, problem = line.partition(": ")
    return InputError(problem.removeprefix("error: ").removeprefix("fatal: ") or line, field=command or None)


def to_json(command_line: str, view: View) -> list[dict[str, Any]]:
    """Give the records of a command as JSON data. Its options are checked and otherwise ignored.

    Raises:
        InputError: the command or an option is unknown.
    """
    command = check(command_line)
    if command == "squeue":
        return [_job(job) for job in sorted(view.jobs(), key=lambda job: job.job_id)]
    if command == "sprio":
        ordered = sorted(view.factors(), key=lambda one: one.job_id)  # partitions as requested
        return [{**_fields(one), "priority_tres": dict(one.priority_tres)} for one in ordered]
    return [_fields(one.association) | {"depth": one.depth} for one in view.associations()]


def _job(job: JobLine) -> dict[str, Any]:
    """Give the fields of a job in ``squeue``."""
    return {
        "job_id": job.job_id,
        "partition": job.partition,
        "name": job.name or NULL,
        "user": job.user,
        "user_id": job.user_id,
        "account": job.account,
        "qos": job.qos,
        "state": job.state,
        "state_compact": job.state_compact,
        "reason": job.reason_text(fold_sorted),
        "priority": job.priority,
        "nice": job.nice,
        "num_nodes": job.num_nodes,
        "num_cpus": job.num_cpus,
        "time_limit": job.time_limit,
        "submit_time": job.submit_time,
        "eligible_time": job.eligible_time,
        "start_time": job.expected_start,
        "end_time": None if job.start_time is None else job.end_time,
        "nodes": fold_sorted(job.nodes),
        "planned_nodes": fold_sorted(job.planned_nodes),
        "array_job_id": job.array_job_id,
        "array_task": job.array_task,
    }


def _fields(record: PriorityFactors | Association) -> dict[str, Any]:
    # Not asdict(): that copies values, which fails for read-only mappings.
    return {name: getattr(record, name) for name in record.__slots__}


def split_commands(text: str) -> list[str]:
    """Split ``squeue,sprio -l,sshare -A a,b`` into command lines: at commas before the name of a command."""
    return [part.strip() for part in re.split(rf",\s*(?=(?:{'|'.join(LISTINGS)})\b)", text)]
