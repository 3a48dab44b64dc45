"""``scontrol create partition`` and ``update`` of one: words ``Key=value``, as keys of its line in slurm.conf.

Keys may be shortened as in Slurm, down to as many letters as each one needs, and so may the words for values. Messages
are those of Slurm 22.05. What cannot be used is refused: Slurm takes ``MinNodes=x`` and ``OverSubscribe=YES:x`` as 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.lists import split_list
from rota.model.partition import MAX_SHARE
from rota.model.units import UNLIMITED, parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: What slurm.conf and lists of partitions can hold.
_NAME = re.compile(r"""[^\s,="'#\\]{1,100}""")
_COUNT = re.compile(r"(\d{1,9})(?:-\d{1,9})?", re.ASCII)
#: Slurm tries the words in this order.
_STATES = ("INACTIVE", "DOWN", "UP", "DRAIN")
_SHARING = ("NO", "EXCLUSIVE", "YES", "FORCE")
_FLAGS = ("NO", "YES")
_JOB_DEFAULTS = {"defcpupergpu", "defmempergpu"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionUpdate:
    """A new partition, or changes of one."""

    name: str
    create: bool = False
    #: In upper case; empty: not changed.
    state: str = ""
    #: Other keys of its line of slurm.conf, in lower case.
    keys: Mapping[str, str] = field(default_factory=dict)


def parse_partition(words: Sequence[str], *, create: bool = False) -> PartitionUpdate:
    """Parse the words after ``update``, or after ``create``.

    Raises:
        UsageError: a key or a value cannot be used, or nothing is to be changed.
    """
    end = "" if create else "slurm_update error: No error\n"
    name, found = None, dict[str, str]()
    for word in words:
        text, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"scontrol: error: Invalid input: {word}  Request aborted\n{end}")
        key = next((key for key, least in _LEAST.items() if key.startswith(text.lower()) and len(text) >= least), "")
        if key == "partitionname":
            name = value
            continue
        if not key:
            raise UsageError(
                f"scontrol: error: Update of this parameter is not supported: {word}\n\n"
                f"scontrol: error: Request aborted\n{end}"
            )
        try:
            found |= _read(key, value)
        except ValueError:
            label, read = _READERS[key]
            said = _MESSAGES.get(read, "Invalid {label} value: {value}").format(label=label, value=value, word=word)
            end = "" if read is _most_nodes else end
            raise UsageError("".join(f"scontrol: error: {line}\n" for line in said.splitlines()) + end) from None
    if name is None:
        raise UsageError("scontrol: error: PartitionName must be given.\n")
    if not name:
        failed = "Error creating the partition" if create else "slurm_update error"
        raise UsageError(f"{failed}: Invalid partition name specified\n")
    if create and name.upper() == "DEFAULT":
        raise UsageError('scontrol: error: PartitionName cannot be "DEFAULT".\n')
    if create and not (_NAME.fullmatch(name) and name.isprintable()):
        raise UsageError(f"scontrol: error: PartitionName cannot be {name!r}: no file could hold it\n")
    if not found and not create:
        raise UsageError("scontrol: error: No changes specified\n")
    return PartitionUpdate(name=name, create=create, state=found.pop("state", ""), keys=found)


def _read(key: str, value: str) -> dict[str, str]:
    """Give the keys of slurm.conf that a word sets.

    Raises:
        ValueError: the value cannot be read.
        UsageError: rota has nothing like that.
    """
    label, read = _READERS[key]
    found = read(value)
    if isinstance(found, dict):
        return found
    if label in _NOT_MODELLED:
        if found.upper() not in _NOT_MODELLED[label]:
            raise UsageError(f"scontrol: error: {label}={value} is not supported by rota\n")
        return {}
    return {"prioritytier": found, "priorityjobfactor": found} if key == "priority" else {key: found}


# ---- values: each reader gives the text for slurm.conf, or raises ValueError -------------------------------------


def _text(value: str) -> str:
    return value


def _time(value: str) -> str:
    parse_time_seconds(value)
    return value


def _word(value: str, known: Sequence[str]) -> str:
    """Find the word that a text begins."""
    found = next((one for one in known if value and one.startswith(value.upper())), None)
    if found is None:
        raise ValueError(value)
    return found


def _flag(value: str) -> str:
    return _word(value, _FLAGS)


def _state(value: str) -> str:
    return _word(value, _STATES)


def _share(value: str) -> str:
    text, colon, jobs = value.partition(":")
    word = _word(text, _SHARING)
    if not colon or word not in {"YES", "FORCE"}:
        return word
    if not 1 <= _number(jobs, 16) <= MAX_SHARE:
        raise ValueError(value)
    return f"{word}:{jobs}"


def _number(value: str, bits: int) -> int:
    if not re.fullmatch(r"\d{1,20}", value, re.ASCII) or int(value) >= 2**bits - 2:
        raise ValueError(value)
    return int(value)


def _number_16(value: str) -> str:
    return str(_number(value, 16))


def _number_31(value: str) -> str:
    return str(_number(value, 31))


def _limit_16(value: str) -> str:
    return "UNLIMITED" if value.lower() in UNLIMITED else _number_16(value)


def _limit_31(value: str) -> str:
    return "UNLIMITED" if value.lower() in UNLIMITED else _number_31(value)


def _most_nodes(value: str) -> str:
    return "UNLIMITED" if value.lower() in UNLIMITED else _least_nodes(value)


def _least_nodes(value: str) -> str:
    """Read a number of nodes; of a range its first."""
    match = _COUNT.fullmatch(value)
    if match is None:
        raise ValueError(value)
    return str(int(match[1]))


def _job_defaults(value: str) -> dict[str, str]:
    found = dict.fromkeys(_JOB_DEFAULTS, "0")
    for one in split_list(value):
        name, _, number = one.partition("=")
        if name.lower() not in _JOB_DEFAULTS:
            raise ValueError(value)
        found[name.lower()] = _number_31(number)
    return found


#: What is said of a value that cannot be read, by its reader; of all others that it is an invalid value.
_MESSAGES: dict[Callable[[str], str | dict[str, str]], str] = {
    _time: "Invalid input {word}",
    _flag: "Invalid input: {word}\nAcceptable {label} values are YES and NO",
    _state: "Invalid input: {word}\nAcceptable State values are UP, DOWN, DRAIN and INACTIVE",
    _share: "Invalid input: {word}\nAcceptable OverSubscribe values are NO, EXCLUSIVE, YES:#, and FORCE:#",
    _most_nodes: 'Invalid numeric value "{value}" for MaxNodes.',
    _least_nodes: '"{value}" is not a valid node count',
    _job_defaults: "Invalid JobDefaults specification",
}


#: How many letters each key needs, in the order in which Slurm tries them, and how its value is read.
_KEYS: tuple[tuple[str, int, Callable[[str], str | dict[str, str]]], ...] = (
    ("PartitionName", 2, _text),
    ("MaxTime", 4, _time),
    ("DefaultTime", 8, _time),
    ("MaxCPUsPerNode", 4, _limit_31),
    ("MaxNodes", 4, _most_nodes),
    ("MinNodes", 2, _least_nodes),
    ("Default", 7, _flag),
    ("DisableRootJobs", 1, _flag),
    ("ExclusiveUser", 1, _flag),
    ("Hidden", 1, _flag),
    ("LLN", 1, _flag),
    ("RootOnly", 3, _flag),
    ("ReqResv", 3, _flag),
    ("OverSubscribe", 5, _share),
    ("Shared", 2, _share),
    ("OverTimeLimit", 5, _limit_16),
    ("PreemptMode", 3, _text),
    ("Priority", 3, _number_16),
    ("PriorityJobFactor", 3, _number_16),
    ("PriorityTier", 3, _number_16),
    ("State", 2, _state),
    ("Nodes", 1, _text),
    ("AllowGroups", 6, _text),
    ("AllowAccounts", 6, _text),
    ("AllowQOS", 6, _text),
    ("DenyAccounts", 5, _text),
    ("DenyQOS", 5, _text),
    ("AllocNodes", 6, _text),
    ("Alternate", 3, _text),
    ("GraceTime", 5, _number_31),
    ("DefMemPerCPU", 10, _number_31),
    ("DefMemPerNode", 10, _number_31),
    ("MaxMemPerCPU", 10, _number_31),
    ("MaxMemPerNode", 10, _number_31),
    ("QoS", 3, _text),
    ("TRESBillingWeights", 1, _text),
    ("JobDefaults", 5, _job_defaults),
    ("CpuBind", 7, _text),
)
_LEAST = {label.lower(): least for label, least, _ in _KEYS}
_READERS = {label.lower(): (label, read) for label, _, read in _KEYS}
#: What rota does not have, and the values that say so.
_NOT_MODELLED = {
    "DisableRootJobs": ("NO",),
    "ExclusiveUser": ("NO",),
    "Hidden": ("NO",),
    "PreemptMode": (),
    "AllocNodes": ("ALL", ""),
    "Alternate": ("NONE", ""),
    "CpuBind": ("OFF", "NONE"),
}
