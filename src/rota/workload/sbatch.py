"""Options of ``sbatch``, as they stand in event files: one table says what each means."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.model import JobSpec
from rota.model.tres import gres_counts
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SIZE = re.compile(r"(?P<number>\d+)(?P<unit>[KMGT]?)B?", re.IGNORECASE | re.ASCII)
_KIB = {"K": 1, "M": 2**10, "": 2**10, "G": 2**20, "T": 2**30}
#: What sbatch takes a job's ``--nice`` without a value as.
_NICE = 100
#: Counts, minutes and MiB are at most this, which is more than there is of anything.
_MOST = 2**32 - 1


class OptionError(ValueError):
    """An option that cannot be used."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(problem)
        self.option = option


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return _bounded(int(text), text)


def _bounded(number: int, text: str) -> int:
    if number > _MOST:
        raise ValueError(f"{text!r} is too large")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _nodes(text: str) -> int:
    """Read ``min`` or ``min-max``; jobs get the least that they can do with."""
    least, dash, most = text.partition("-")
    if dash and _count(most) < _count(least):
        raise ValueError(f"{text!r}: the most is less than the least")
    return _count(least)


def _minutes(text: str) -> int | None:
    """Read a time limit: whole minutes, rounded up; ``None`` without limit, and for 0 as sbatch has it."""
    seconds = parse_time_seconds(text)
    return _bounded(-(-seconds // 60), text) * 60 if seconds else None


def _mebibytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size: write a number with K, M, G or T")
    return _bounded(-(-int(match["number"]) * _KIB[match["unit"].upper()] // 2**10), text)


def _gres(text: str) -> str:
    gres_counts(text)
    return text


def _text(text: str) -> str:
    if not text:
        raise ValueError("has no value")
    return text


class _Option(NamedTuple):
    """One option: where its value goes, how it is read, and what it is without one."""

    target: str
    read: Callable[[str], Any]
    #: ``None``: a value is needed.
    without: Any = None


#: Long names. Targets that `JobSpec` has not are worked into it by `parse_request`.
_OPTIONS: dict[str, _Option] = {
    "account": _Option("account", _text),
    "constraint": _Option("constraint", _text),
    "cpus-per-task": _Option("cpus_per_task", _count),
    "exclusive": _Option("exclusive", lambda _: True, without=True),
    "gid": _Option("", _text),
    "gres": _Option("gres", _gres),
    "hold": _Option("hold", _text, without=True),
    "job-name": _Option("name", _text),
    "mem": _Option("mem_per_node", _mebibytes),
    "mem-per-cpu": _Option("mem_per_cpu", _mebibytes),
    "nice": _Option("nice", _integer, without=_NICE),
    "no-requeue": _Option("", _text, without=False),
    "nodes": _Option("min_nodes", _nodes),
    "ntasks": _Option("ntasks", _count),
    "ntasks-per-node": _Option("ntasks_per_node", _count),
    "partition": _Option("partition", _text),
    "priority": _Option("priority", _integer),
    "qos": _Option("qos", _text),
    "requeue": _Option("requeue", _text, without=True),
    "time": _Option("time_limit", _minutes),
    "uid": _Option("user", _text),
}
_SHORT = {
    "A": "account",
    "C": "constraint",
    "H": "hold",
    "J": "job-name",
    "N": "nodes",
    "c": "cpus-per-task",
    "n": "ntasks",
    "p": "partition",
    "q": "qos",
    "t": "time",
}


def split_words(line: str) -> list[str]:
    """Split a command line as a shell does.

    Raises:
        ValueError: a quote is not closed.
    """
    return shlex.split(line) if "'" in line or '"' in line or "\\" in line else line.split()


def parse_request(words: Sequence[str]) -> JobSpec:
    """Make the request of a command line without ``sbatch``: options, then the script, which is not looked at.

    Raises:
        OptionError: an option is not known, has no value or one that cannot be used.
    """
    fields = _fields(words)
    per_node, tasks = fields.pop("ntasks_per_node", 0), fields.pop("ntasks", 0)
    cpus = fields.pop("cpus_per_task", 1)
    fields.pop("", None)
    nodes = fields.get("min_nodes", 0)
    if tasks and per_node:  # then it is the most that a node gets
        fields["min_nodes"] = max(nodes, -(-tasks // per_node))
    num_cpus = (tasks or max(nodes, 1) * max(per_node, 1)) * cpus
    if num_cpus > _MOST:
        raise OptionError("--ntasks", f"{num_cpus} CPUs are too many")
    return JobSpec(num_cpus=num_cpus, **fields)


def _fields(words: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        if not word.startswith("-") or word == "-":
            break  # the script, and then its own arguments
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            shown, attached = f"--{name}", bool(equals)
        else:
            name, value, shown, attached = _SHORT.get(word[1], word[1]), word[2:], word[:2], len(word) > 2
        option = _OPTIONS.get(name)
        if option is None:
            raise OptionError(shown, "no option of sbatch that rota knows")
        if not attached and option.without is not None:
            fields[option.target] = option.without
            continue
        if not attached:
            if not queue:
                raise OptionError(shown, "has no value")
            value = queue.pop()
        try:
            fields[option.target] = option.read(value)
        except ValueError as error:
            raise OptionError(shown, str(error)) from None
    return fields
