"""``scontrol update`` of jobs, nodes and partitions: words ``Key=value``, keys in any case. Here are those of jobs.

For jobs a key and its value may also be two words, as in ``scontrol update job 17 name=x``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_ids
from rota.commands.moments import parse_slurm_time
from rota.commands.node_update import NodeUpdate, abbreviates, parse_node
from rota.commands.option_values import MOST
from rota.commands.partition_update import PartitionUpdate, parse_partition
from rota.config.hostlist import expand_hostlist
from rota.model.job_spec import YEAR
from rota.model.mail import parse_mail_types
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.commands.job_ids import JobId

_SIZE = re.compile(r"(?P<number>\d{1,12})(?P<unit>[KMGT]?)B?", re.IGNORECASE | re.ASCII)
_MIB = {"K": 2**-10, "M": 1, "": 1, "G": 2**10, "T": 2**20}
_NODES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
#: Nice values are within this.
_MOST_NICE = 2**31 - 3
_NICE = 100


class LimitChange(NamedTuple):
    """A new time limit, or a change of it."""

    #: ``+``, ``-``, or empty: the new limit.
    sign: str
    #: `YEAR`: UNLIMITED.
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUpdate:
    """Changes of jobs; ``None``: not changed. An empty text removes what there was."""

    #: Jobs by id, or all of a name.
    jobs: tuple[JobId, ...] = ()
    of_name: str = ""
    time_limit: LimitChange | None = None
    time_min: LimitChange | None = None
    priority: int | None = None
    nice: int | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    name: str | None = None
    dependency: str | None = None
    features: str | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    num_tasks: int | None = None
    num_cpus: int | None = None
    min_cpus_per_node: int | None = None
    cpus_per_task: int | None = None
    ntasks_per_node: int | None = None
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    #: MiB.
    tmp_disk: int | None = None
    mem_per_node: int | None = None
    mem_per_cpu: int | None = None
    #: 0: any number of tasks runs at a time.
    array_throttle: int | None = None
    #: Unix seconds.
    start_time: int | None = None
    end_time: int | None = None
    deadline: int | None = None
    comment: str | None = None
    admin_comment: str | None = None
    wckey: str | None = None
    requeue: bool | None = None
    switches: int | None = None
    #: Seconds.
    switch_wait: int | None = None
    contiguous: bool | None = None
    oversubscribe: bool | None = None
    reservation: str | None = None
    licenses: str | None = None
    gres: str | None = None
    #: GRES as ``gres:gpu:1``: of each node, and of the job, its sockets and tasks.
    tres_per_node: str | None = None
    tres_per_job: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    prefer: str | None = None
    work_dir: str | None = None
    #: Hostlists.
    required_nodes: str | None = None
    excluded_nodes: str | None = None
    std_out: str | None = None
    std_err: str | None = None
    std_in: str | None = None
    mail_user: str | None = None
    mail_type: str | None = None


def parse_update(
    words: Sequence[str], now: int, utc_offset: Callable[[int], int]
) -> JobUpdate | NodeUpdate | PartitionUpdate:
    """Parse the words after ``update``.

    Raises:
        UsageError: no entity is named, or a key or value cannot be used.
    """
    pairs = [(word, *word.partition("=")[::2], "=" in word) for word in words]
    keys = {key.lower() for _, key, _, _ in pairs}
    named = {key.lower() for _, key, _, equals in pairs if equals}
    if keys & {"job", "jobid", "jobname"}:
        return _job(_paired(words), now, utc_offset)
    if any(abbreviates(key, "nodename", 3) for key in keys):
        return parse_node(pairs)
    if named & JOB_KEYS:
        return _job(_paired(words), now, utc_offset)
    if any(abbreviates(key, "partitionname", 2) for key in named):
        return parse_partition(words)
    raise UsageError(
        "No valid entity in update command\n"
        'Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"\n'
    )


#: Keys of an update that is one of jobs.
JOB_KEYS = frozenset({"jobid", "job", "jobname", "name"})


def _paired(words: Sequence[str]) -> Iterable[tuple[str, str, str, bool]]:
    """Read words of which keys may be one, and their values the next: each as `_job` takes it."""
    left = iter(words)
    for word in left:
        key, equals, value = word.partition("=")
        found = value if equals or key.lower() == "nice" else next(left, None)
        yield word, key, found or "", bool(equals) or (key.lower() != "nice" and found is not None)


# ---- jobs -------------------------------------------------------------------------------------------------------


def _job(pairs: Iterable[tuple[str, str, str, bool]], now: int, utc_offset: Callable[[int], int]) -> JobUpdate:
    changes: dict[str, Any] = {}
    is_heeded = True
    for word, key, value, equals in pairs:
        low = _full(key.lower())
        if low in {"jobid", "job"} and equals:
            changes["jobs"] = _ids(value)
        elif low in _TIMES:
            changes[_TIMES[low]] = parse_slurm_time(value, now, utc_offset)
        elif low == "nice" and not equals:
            changes["nice"] = _NICE
        elif not equals:
            raise UsageError(f"Invalid input: {word}\nRequest aborted\n")
        elif key.endswith(("+", "-")):
            raise UsageError(f"scontrol: error: Option {word} does not accept [+|-]= syntax\n")
        elif low == "mailtype" and not _are_mail_types(value):
            raise UsageError(f"Invalid MailType: {value}\n")
        elif low in _TEXTS:
            changes[_TEXTS[low]] = _each_node(value) if low.endswith("nodelist") else value
        elif low in _VALUES:
            target, read, label = _VALUES[low]
            try:
                found = read(value)
            except ValueError:
                shown = f"{label} value" if label in _NOT_TOLD else f"{label} value: {value}"
                raise UsageError(f"scontrol: error: Invalid {shown}\n") from None
            changes.update(found if isinstance(found, dict) else {target: found})
            is_heeded = is_heeded and found != {}
        else:
            raise UsageError(f"Update of this parameter is not supported: {word}\nRequest aborted\n")
    if "jobs" not in changes:  # the name chooses the jobs
        changes["of_name"] = changes.pop("name", "")
    if is_heeded and not set(changes) - {"jobs", "of_name"}:
        raise UsageError("No changes specified\n")
    return JobUpdate(**changes)


def _each_node(hostlist: str) -> str:
    try:
        return ",".join(expand_hostlist(hostlist))
    except ValueError:
        return hostlist  # there is no such node


#: Keys of values that are not told if they are refused.
_NOT_TOLD = frozenset({"ArrayTaskThrottle", "DelayBoot", "TimeLimit", "TimeMin"})


def _are_mail_types(text: str) -> bool:
    try:
        return bool(parse_mail_types(text))
    except ValueError:
        return False


def _full(key: str) -> str:
    """Write out a key that may be abbreviated."""
    return next((name for name, least in _LEAST.items() if abbreviates(key, name, least)), key)


def _ids(text: str) -> tuple[JobId, ...]:
    found = parse_job_ids("scontrol", [text], _no_id, steps=False)
    if not found:
        raise _no_id(text)
    return tuple(found)


def _no_id(word: str) -> UsageError:
    return UsageError(f"Invalid job id specified for job {word}\n")


def _limit(text: str) -> LimitChange:
    sign = text[:1] if text[:1] in {"+", "-"} else ""
    seconds = parse_time_seconds(text[len(sign) :])
    if seconds is not None and seconds > MOST:
        raise ValueError(text)
    return LimitChange(sign, YEAR if seconds is None else -(-seconds // 60) * 60)


def _least_limit(text: str) -> LimitChange:
    if text.startswith("+"):
        raise ValueError(text)
    return _limit(text)


def _without_effect(read: Callable[[str], Any]) -> Callable[[str], dict[str, int]]:
    """Give what checks a value and changes nothing: nodes are not started for jobs."""

    def check(text: str) -> dict[str, int]:
        read(text)
        return {}

    return check


def _cpu_counts(text: str) -> int:
    """Parse a number, or the least and the largest: a job gets the least."""
    least, dash, most = text.partition("-")
    if not least.isdigit() or (dash and not most.isdigit()):
        said = f'Invalid numeric value "{text}" for NumCPUs.\nscontrol: error: Invalid NumCPUs value: {text}\n'
        raise UsageError(f"scontrol: error: {said}")
    number = _number(least)
    if not number or (dash and _number(most) < number):
        raise ValueError(text)
    return number


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or int(text) > 2**32 - 1:
        raise ValueError(text)
    return int(text)


def _positive(text: str) -> int:
    if not (number := _number(text)):
        raise ValueError(text)
    return number


def _nice(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text[:32], re.ASCII):
        raise ValueError(text)
    number = int(text[:32])
    if abs(number) > _MOST_NICE:
        raise UsageError(f"scontrol: error: Nice value out of range (+/- {_MOST_NICE}). Value ignored\n")
    return number


def _memory(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(int(match["number"]) * _MIB[match["unit"].upper()])


def _node_counts(text: str) -> dict[str, int]:
    match = _NODES.fullmatch(text)
    if match is None:
        raise UsageError(f'scontrol: error: Invalid numeric value "{text}" for requested node count.\n')
    return {"min_nodes": int(match[1]), "max_nodes": int(match[2] or 0)}


def _switches(text: str) -> dict[str, int]:
    """Parse ``count[@time]``; without a time, that does not change."""
    count, at, time = text.partition("@")
    found = {"switches": _number(count)}
    if at:
        seconds = parse_time_seconds(time)
        found["switch_wait"] = -1 if seconds is None else -(-seconds // 60) * 60
    return found


def _flag(text: str) -> bool:
    if text.lower() not in {"yes", "no", "1", "0"}:
        raise ValueError(text)
    return text.lower() in {"yes", "1"}


#: The fewest letters of keys that can be abbreviated, in the order in which Slurm 22.05 looks for one.
_LEAST = {
    "timelimit": 5,
    "timemin": 5,
    "requeue": 4,
    "mincpusnode": 4,
    "partition": 2,
    "qos": 2,
    "reservationname": 3,
    "switches": 5,
    "wait-for-switch": 5,
    "oversubscribe": 2,
    "shared": 2,
    "contiguous": 3,
    "trespernode": 8,
    "excnodelist": 3,
    "reqnodelist": 8,
    "features": 1,
    "gres": 2,
    "account": 1,
    "dependency": 1,
    "licenses": 1,
    "starttime": 2,
    "endtime": 2,
    "deadline": 3,
    "mailtype": 5,
    "mailuser": 5,
    "wckey": 1,
}
#: Keys of times, texts and other values, and the fields that they set.
_TIMES = {"starttime": "start_time", "eligibletime": "start_time", "endtime": "end_time", "deadline": "deadline"}
_TEXTS = {
    "account": "account",
    "admincomment": "admin_comment",
    "comment": "comment",
    "dependency": "dependency",
    "excnodelist": "excluded_nodes",
    "exc_node_list": "excluded_nodes",
    "features": "features",
    "gres": "gres",
    "jobname": "name",
    "licenses": "licenses",
    "mailtype": "mail_type",
    "mailuser": "mail_user",
    "name": "name",
    "nodelist": "required_nodes",
    "partition": "partition",
    "qos": "qos",
    "reqnodelist": "required_nodes",
    "reservationname": "reservation",
    "stderr": "std_err",
    "stdin": "std_in",
    "stdout": "std_out",
    "prefer": "prefer",
    "tresperjob": "tres_per_job",
    "trespernode": "tres_per_node",
    "trespersocket": "tres_per_socket",
    "trespertask": "tres_per_task",
    "workdir": "work_dir",
    "wckey": "wckey",
}
_VALUES: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "arraytaskthrottle": ("array_throttle", _number, "ArrayTaskThrottle"),
    "contiguous": ("contiguous", _flag, "Contiguous"),
    "cpuspertask": ("cpus_per_task", _positive, "CPUsPerTask"),
    "delayboot": ("", _without_effect(parse_time_seconds), "DelayBoot"),
    "mincpusnode": ("min_cpus_per_node", _number, "MinCPUsNode"),
    "minmemorycpu": ("mem_per_cpu", _memory, "MinMemoryCPU"),
    "minmemorynode": ("mem_per_node", _memory, "MinMemoryNode"),
    "mintmpdisknode": ("tmp_disk", _number, "MinTmpDiskNode"),
    "nice": ("nice", _nice, "Nice"),
    "numcpus": ("num_cpus", _cpu_counts, "NumCPUs"),
    "numnodes": ("", _node_counts, "NumNodes"),
    "numtasks": ("num_tasks", _number, "NumTasks"),
    "oversubscribe": ("oversubscribe", _flag, "OverSubscribe"),
    "priority": ("priority", _number, "Priority"),
    "reboot": ("", _without_effect(_flag), "reboot"),
    "reqcores": ("cores_per_socket", _number, "ReqCores"),
    "reqnodes": ("", _node_counts, "ReqNodes"),
    "reqprocs": ("num_tasks", _number, "ReqProcs"),
    "reqsockets": ("sockets_per_node", _number, "ReqSockets"),
    "reqthreads": ("threads_per_core", _number, "ReqThreads"),
    "requeue": ("requeue", lambda text: _number(text) > 0, "Requeue"),
    "shared": ("oversubscribe", _flag, "OverSubscribe"),
    "switches": ("", _switches, "Switches"),
    "taskspernode": ("ntasks_per_node", _number, "TasksPerNode"),
    "timelimit": ("time_limit", _limit, "TimeLimit"),
    "timemin": ("time_min", _least_limit, "TimeMin"),
    "wait-for-switch": ("switch_wait", _number, "wait-for-switch"),
}
