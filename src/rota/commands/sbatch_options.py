"""The options of ``sbatch`` that rota supports: a table of the field that each sets and how its value is parsed.

Options that Slurm 22.05 takes and rota cannot replay are errors, as are those that Slurm refuses. Options in
`_NO_MEANING` have no influence on when and where a job runs and are ignored. ``--begin`` and ``--deadline`` have to be
``now+COUNT[UNIT]``, since other times have no meaning in a replay.

An empty value of an option whose reader here takes one means what it means without the option, as in Slurm.

``--exclusive=user``, ``=mcs`` and ``=topo`` allow some jobs to share a node in Slurm; here they are ``--exclusive``.

Over 400 lines: one table, and a reader for each kind of value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.unused_values import boot_delay, measuring, memory_binding, resource_limits
from rota.model.array import MOST_TASKS, parse_array
from rota.model.constraint import parse_constraint
from rota.model.dependency import parse_dependency
from rota.model.job_spec import MAX_PRIORITY
from rota.model.licenses import parse_licenses
from rota.model.tres import gres_counts
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE = re.compile(r"(?P<number>\d+)(?P<unit>[KMGT]?)B?", re.IGNORECASE | re.ASCII)
_KIB = {"K": 1, "M": 2**10, "": 2**10, "G": 2**20, "T": 2**30}
_NODE_COUNT = re.compile(r"(?P<number>\d+)(?P<unit>[KM]?)", re.IGNORECASE | re.ASCII)
_NOW = re.compile(r"now(?:\s*\+\s*(?P<count>\d+)\s*(?P<unit>[a-z]*))?", re.IGNORECASE | re.ASCII)
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_SECONDS = {"": 1, **_UNITS, **{f"{name}s": seconds for name, seconds in _UNITS.items()}}
#: Characters of node names and hostlists. ClusterShell's operators and groups are not Slurm's.
_HOSTS = re.compile(r"[\w.,\[\]-]+", re.ASCII)
_RANGE = re.compile(r"(\d+)-(\d+)")
_TOO_MANY = 1_000_000
_GRES = re.compile(r"[^\s:,]+(?::[^\s:,]+){0,2}")
#: The value of ``--nice`` without one.
_NICE = 100
_MOST_NICE = 2**31 - 3
#: Largest number of processors, minutes, MiB and so on.
MOST = 2**32 - 1
#: Largest priority: those above have a special meaning in Slurm.
_TOP = MAX_PRIORITY - 2
_DISTRIBUTION = re.compile(
    r"(?:plane=(?P<size>\d+)|(?P<arbitrary>arbitrary)|(?:block|cyclic|\*)(?::(?P<sockets>block|f?cyclic|\*)(?::(?:block|f?cyclic|\*))?)?)"
    r"(?:,(?:no)?pack)?|(?:no)?pack",
    re.IGNORECASE | re.ASCII,
)
_HINTS = ("multithread", "nomultithread", "compute_bound", "memory_bound")
#: Fields that ``--extra-node-info`` sets.
_SHAPE = ("sockets_per_node", "cores_per_socket", "threads_per_core")
#: ``mem_per_node`` of a job that asks for all memory of its nodes.
ALL_MEMORY = -1


# ---- values -----------------------------------------------------------------------------------------------------


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return _bounded(int(text), text)


def _bounded(number: int, text: str) -> int:
    if number > MOST:
        raise ValueError(f"{text!r} is too large")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _nice(text: str) -> int:
    if not text:
        return _NICE
    if abs(_integer(text)) > _MOST_NICE:
        raise ValueError(f"{text!r} is not within ±{_MOST_NICE}")
    return int(text)


def _priority(text: str) -> int:
    if text.upper() == "TOP":
        return _TOP
    if not 0 <= _integer(text) <= _TOP:
        raise ValueError(f"{text!r} is not from 0 to {_TOP}")
    return int(text)


def _nodes(text: str) -> tuple[int, int]:
    """Parse ``min-max``, or one number for both."""
    least, dash, most = text.partition("-")
    low = _node_count(least)
    high = _node_count(most) if dash else low
    if high < low:
        raise ValueError(f"{text!r}: the most is less than the least")
    return low, high


def _node_count(text: str) -> int:
    match = _NODE_COUNT.fullmatch(text)
    if match is None or not match["unit"]:
        return _count(text)
    return _bounded(_count(match["number"]) << 10 * " KM".index(match["unit"].upper()), text)


def _minutes(text: str) -> int | None:
    """Parse a time limit into seconds of whole minutes, rounded up; ``None`` for no limit, which 0 means as well."""
    seconds = parse_time_seconds(text)
    return _bounded(-(-seconds // 60), text) * 60 if seconds else None


def _shortest(text: str) -> int:
    limit = _minutes(text)
    if limit is None:
        raise ValueError(f"{text!r} is no shortest time: write at least a minute")
    return limit


def _moment(text: str) -> int:
    """Parse ``now+COUNT[UNIT]`` into seconds from now."""
    match = _NOW.fullmatch(text.strip())
    scale = _SECONDS.get((match["unit"] or "").lower()) if match else None
    if match is None or scale is None:
        raise ValueError(f"{text!r} is no time after submission: write now+COUNT[seconds|minutes|hours|days|weeks]")
    return _bounded(int(match["count"] or 0) * scale, text)


def _later(text: str) -> int:
    seconds = _moment(text)
    if not seconds:
        raise ValueError(f"{text!r} leaves no time to run")
    return seconds


def _mebibytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size: write a number with K, M, G or T")
    size = _bounded(-(-int(match["number"]) * _KIB[match["unit"].upper()] // 2**10), text)
    return size or ALL_MEMORY


def _gres(text: str) -> str:
    return "" if text.lower() == "none" else _checked_gres(text)


def _gpus(text: str) -> str:
    """Parse ``[type:]count``, or several separated by commas."""
    if not text:
        return ""
    return _checked_gres(",".join(f"gpu:{item}" for item in text.split(",")))


def _enforces_binding(text: str) -> bool:
    """Parse flags of GRES."""
    if text.lower() not in {"enforce-binding", "disable-binding"}:
        raise ValueError(f"{text!r} is neither enforce-binding nor disable-binding")
    return text.lower() == "enforce-binding"


def _checked_gres(text: str) -> str:
    if not all(_GRES.fullmatch(item) for item in text.split(",")):
        raise ValueError(f"{text!r} is not name[:type][:count], separated by commas")
    gres_counts(text)
    return text


def _licenses(text: str) -> str:
    parse_licenses(text)
    return text


def _array(text: str) -> str:
    if text:
        parse_array(text, MOST_TASKS)
    return text


def _dependency(text: str) -> str:
    if text:
        parse_dependency(text)
    return text


def _yes_or_no(text: str) -> bool:
    if text.lower() not in {"yes", "no"}:
        raise ValueError(f"{text!r} is not yes or no")
    return text.lower() == "yes"


def _features(text: str) -> str:
    if text:
        parse_constraint(text)
    return text


def _hosts(text: str) -> tuple[str, ...]:
    """Expand a hostlist, sorted and without duplicates."""
    if not text:
        return ()
    if "/" in text:
        raise ValueError(f"{text!r} is a file: write the names of the nodes")
    names = ",".join(text.split())
    if _HOSTS.fullmatch(names) is None:
        raise ValueError(f"{text!r} is not a list of nodes")
    if any(int(high) - int(low) >= _TOO_MANY for low, high in _RANGE.findall(names)):
        raise ValueError(f"{text!r} has a range of more than {_TOO_MANY:,} nodes")
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

    try:
        return tuple(NodeSet(names, resolver=RESOLVER_NOGROUP))
    except (NodeSetParseError, ValueError) as error:
        raise ValueError(f"{text!r} is not a list of nodes: {error}") from None


def _exclusive(text: str) -> str:
    if text.lower() not in {"", "user", "mcs", "topo"}:
        raise ValueError(f"{text!r} is not user, mcs or topo")
    return "exclusive"


def _hint(text: str) -> int:
    """Parse a hint into the number of threads that are used of a core; 0: all."""
    if text not in _HINTS:
        raise ValueError(f"{text!r} is not {', '.join(_HINTS[:-1])} or {_HINTS[-1]}")
    return int(text != "multithread")


def _node_shape(text: str) -> dict[str, int]:
    """Parse ``sockets[:cores[:threads]]``. Of a range the smaller number counts; ``*`` is any number."""
    parts = text.split(":")
    if len(parts) > len(_SHAPE):
        raise ValueError(f"{text!r} is not sockets[:cores[:threads]]")
    found = dict.fromkeys(_SHAPE, 0)
    for name, part in zip(_SHAPE, parts, strict=False):
        least = part.partition("-")[0]
        found[name] = 0 if least in {"", "*", "0"} else _count(least)
    return found


def _distribution(text: str) -> dict[str, int]:
    """Parse the distribution of tasks to nodes, sockets and cores; the plane size is 0 without planes."""
    match = _DISTRIBUTION.fullmatch(text)
    if match is None:
        known = "block or cyclic for nodes[:sockets[:cores]] or plane=SIZE, with pack or nopack, or arbitrary"
        raise ValueError(f"{text!r} is not {known}")
    size = _count(match["size"]) if match["size"] else 0
    return {
        "plane_size": size,
        "fills_sockets": bool(size) or (match["sockets"] or "").lower() == "block",
        "arbitrary": match["arbitrary"] is not None,
    }


def _switches(text: str) -> dict[str, int]:
    """Parse ``count[@time]``; without a time that of a variable or an earlier option counts."""
    count, _, time = text.partition("@")
    return {"switches": _count(count)} | ({"switch_wait": _switch_wait(time)} if time else {})


def _switch_wait(text: str) -> int:
    """Parse a time in seconds; with ``UNLIMITED`` the job waits as long as it may."""
    seconds = parse_time_seconds(text)
    return -1 if seconds is None else seconds


def _zero_or_one(text: str) -> str:
    if text not in {"0", "1"}:
        raise ValueError(f"{text!r} is not 0 or 1")
    return text


def _text(text: str) -> str:
    if not text:
        raise ValueError("has no value")
    return text


# ---- the table --------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """An option with a value: the field that it sets, and the function that parses the value."""

    target: str
    read: Callable[[str], Any]
    #: Whether a value is required. If not, it can be given as ``--name=VALUE`` and ``-nVALUE`` only, and the empty text
    #: is parsed without it.
    needed: bool = True


class Flag(NamedTuple):
    """An option without a value: the field that it sets, and to what."""

    target: str
    value: bool | str = True


#: Options by long name. `rota.commands.sbatch.parse_request` evaluates the fields that `JobSpec` does not have. A value
#: that is a dictionary sets several fields.
OPTIONS: dict[str, Option | Flag] = {
    "account": Option("account", _text),
    "array": Option("array", _array),
    "begin": Option("begin_time", _moment),
    "constraint": Option("constraint", _features),
    "contiguous": Flag("contiguous"),
    "cores-per-socket": Option("cores_per_socket", _count),
    "cpus-per-task": Option("cpus_per_task", _count),
    "cpus-per-gpu": Option("cpus_per_gpu", _count),
    "deadline": Option("deadline", _later),
    "dependency": Option("dependency", _dependency),
    "distribution": Option("plane_size", _distribution),
    "exclude": Option("excluded_nodes", _hosts),
    "exclusive": Option("sharing", _exclusive, needed=False),
    "extra-node-info": Option("extra_node_info", _node_shape),
    "gpus": Option("gpus", _gpus),
    "gpus-per-node": Option("gpus_per_node", _gpus),
    "gpus-per-socket": Option("gpus_per_socket", _gpus),
    "gpus-per-task": Option("gpus_per_task", _gpus),
    "gres": Option("gres", _gres),
    "gres-flags": Option("enforces_binding", _enforces_binding),
    "hint": Option("hint", _hint),
    "hold": Flag("hold"),
    "job-name": Option("name", str),
    "kill-on-invalid-dep": Option("kill_on_invalid_dep", _yes_or_no),
    "licenses": Option("licenses", _licenses),
    "mem": Option("mem_per_node", _mebibytes),
    "mem-per-cpu": Option("mem_per_cpu", _mebibytes),
    "mem-per-gpu": Option("mem_per_gpu", _mebibytes),
    "mincpus": Option("min_cpus_per_node", _count),
    "nice": Option("nice", _nice, needed=False),
    "no-requeue": Flag("requeue", value=False),
    "nodelist": Option("required_nodes", _hosts),
    "nodes": Option("nodes", _nodes),
    "ntasks": Option("num_tasks", _count),
    "ntasks-per-core": Option("ntasks_per_core", _count),
    "ntasks-per-gpu": Option("ntasks_per_gpu", _count),
    "ntasks-per-node": Option("ntasks_per_node", _count),
    "ntasks-per-socket": Option("ntasks_per_socket", _count),
    "overcommit": Flag("overcommit"),
    "oversubscribe": Flag("sharing", "oversubscribe"),
    "partition": Option("partition", _text),
    "prefer": Option("prefer", _features),
    "priority": Option("priority", _priority),
    "qos": Option("qos", _text),
    "requeue": Flag("requeue"),
    "reservation": Option("reservation", str),
    "sockets-per-node": Option("sockets_per_node", _count),
    "spread-job": Flag("spread"),
    "switches": Option("switches", _switches),
    "threads-per-core": Option("threads_per_core", _count),
    "time": Option("time_limit", _minutes),
    "time-min": Option("time_min", _shortest),
    "uid": Option("user", _text),
    "use-min-nodes": Flag("use_min_nodes"),
}
#: What only variables of the environment set.
OF_VARIABLES = {"wait4switch": Option("switch_wait", _switch_wait)}
#: Options about output, mail, environment and hardware settings.
_NO_MEANING = (
    "chdir clusters comment container cpu-freq error export export-file gid gpu-bind gpu-freq "
    "input mail-type mail-user mcs-label open-mode output power profile signal wckey wrap"
)
OPTIONS.update((name, Option("", str)) for name in _NO_MEANING.split())
OPTIONS.update((name, Option("", str, needed=False)) for name in ("get-user-env", "no-kill"))
OPTIONS["propagate"] = Option("", resource_limits, needed=False)
OPTIONS["acctg-freq"] = Option("", measuring)
OPTIONS["delay-boot"] = Option("", boot_delay)
OPTIONS["mem-bind"] = Option("", memory_binding)
OPTIONS["wait-all-nodes"] = Option("", _zero_or_one)
OPTIONS.update(
    (name, Flag("")) for name in ["ignore-pbs", "parsable", "quiet", "reboot", "test-only", "verbose", "wait"]
)
#: Options of Slurm that rota does not have.
NOT_SUPPORTED = frozenset(
    {
        *("bb", "bbf", "bcast-exclude", "cluster-constraint", "core-spec", "network", "nodefile", "thread-spec", "tmp"),
    }
)
#: Other names of options.
ALIASES = {"cpu_bind": "cpu-bind", "ntasks-per-tres": "ntasks-per-gpu", "tasks-per-node": "ntasks-per-node"}
SHORT = {
    "A": "account",
    "B": "extra-node-info",
    "C": "constraint",
    "D": "chdir",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "N": "nodes",
    "O": "overcommit",
    "Q": "quiet",
    "S": "core-spec",
    "V": "version",
    "W": "wait",
    "a": "array",
    "b": "begin",
    "d": "dependency",
    "c": "cpus-per-task",
    "e": "error",
    "h": "help",
    "i": "input",
    "k": "no-kill",
    "m": "distribution",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "w": "nodelist",
    "x": "exclude",
}
