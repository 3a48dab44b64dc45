"""Values of the options of ``sbatch``, ``srun`` and ``salloc``: how each is read, and what Slurm says of a wrong one.

Numbers are read as C's ``strtol`` does: blanks and a plus sign may stand before them. What Slurm would cut to 32 bits
is too large here.

Over 400 lines: a reader for each kind of value.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from rota.commands.option_error import FAILURE, WordedError
from rota.commands.signals import signal_number
from rota.config.hostlist import expand_hostlist
from rota.model import Errno
from rota.model.array import MOST_TASKS, check_array
from rota.model.bounds import MOST_NAMES, TooManyError
from rota.model.constraint import parse_constraint
from rota.model.dependency import parse_dependency
from rota.model.job_spec import MAX_PRIORITY, YEAR
from rota.model.licenses import parse_licenses
from rota.model.tres import gres_counts
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

#: Largest number of processors, minutes, MiB and so on.
MOST = 2**32 - 1
#: ``mem_per_node`` of a job that asks for all memory of its nodes.
ALL_MEMORY = -1
_NUMBER = re.compile(r"\s*\+?0*(\d+)", re.ASCII)
#: Most digits of a number that may be one of 32 bits. Python reads none that are very long.
_DIGITS = 10
_PREFIX = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_SIZE = re.compile(r"\s*\+?(?P<number>\d+)(?:(?P<unit>[KMGT])B?)?", re.IGNORECASE | re.ASCII)
_KIB = {"K": 1, "M": 2**10, "": 2**10, "G": 2**20, "T": 2**30}
_NODE_COUNT = re.compile(r"\s*\+?(?P<number>\d+)(?P<unit>[KM]?)\s?", re.IGNORECASE | re.ASCII)
_NOW = re.compile(r"now(?:\s*\+\s*(?P<count>\d+)\s*(?P<unit>[a-z]*))?", re.IGNORECASE | re.ASCII)
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_SECONDS = {"": 1, **_UNITS, **{f"{name}s": seconds for name, seconds in _UNITS.items()}}
_GRES = re.compile(r"[^\s:,]+(?::[^\s:,]+){0,2}")
#: The value of ``--nice`` without one.
_NICE = 100
_MOST_NICE = 2**31 - 3
#: Largest priority: those above have a special meaning in Slurm.
_TOP = MAX_PRIORITY - 2
_DISTRIBUTION = re.compile(
    r"plane=(?P<size>\d+)|(?:(?P<arbitrary>arbitrary)|(?:block|cyclic|\*)(?::(?P<sockets>block|f?cyclic|\*)?(?::(?:block|f?cyclic|\*))?)?)"
    r"(?:,(?:no)?pack)?|(?:no)?pack",
    re.IGNORECASE | re.ASCII,
)
_HINTS = {"multithread": 0, "nomultithread": 1, "compute_bound": 1, "memory_bound": 1}
_HINTS_LISTED = """--hint takes one or more of these, joined by commas; the last one counts:
  compute_bound, memory_bound, nomultithread   use one thread of each core
  multithread                                  use all threads of each core
"""
#: Fields that ``--extra-node-info`` sets, and how Slurm counts them.
_SHAPE = {"sockets_per_node": "first", "cores_per_socket": "second", "threads_per_core": "third"}

#: Seconds before its end at which a job is warned if no time is given, and the most.
_WARNING, _MOST_WARNING = 60, 65535


# ---- numbers ----------------------------------------------------------------------------------------------------


def number_of(what: str, *, least: int = 1) -> Callable[[str], int]:
    """Give a reader of a number.

    Args:
        what: What the number is of, as Slurm says it: ``--ntasks``.
        least: The smallest one; if it is 0, nothing is 0.
    """

    def read(text: str) -> int:
        match = _NUMBER.fullmatch(text) if text or least else _NUMBER.fullmatch("0")
        if match is None or len(match[1]) > _DIGITS or not least <= int(match[1]) <= MOST:
            raise WordedError(f'Invalid numeric value "{text}" for {what}.', status=FAILURE)
        return int(match[1])

    return read


def bounded(number: int, text: str) -> int:
    """Check that a number is not too large.

    Raises:
        ValueError: it is.
    """
    if number > MOST:
        raise ValueError(f"{text!r} is too large")
    return number


def _at_the_beginning(text: str) -> int:
    """Read the number with which a text begins; 0 if it begins with none. What follows is of no account."""
    match = _PREFIX.match(text)
    return int(match[1]) if match else 0


def nice(text: str) -> int:
    """Read ``--nice``."""
    number = _at_the_beginning(text) if text else _NICE
    if abs(number) > _MOST_NICE:
        raise WordedError(f"Invalid --nice value, out of range (+/- {_MOST_NICE})")
    return number


def priority(text: str) -> int | None:
    """Read ``--priority``; nought asks for none."""
    if text.upper() == "TOP":
        return _TOP
    number = _at_the_beginning(text)
    if number < 0:
        raise WordedError("Priority must be >= 0")
    if number > _TOP:
        raise WordedError(f"Priority must be < {_TOP + 1}")
    return number or None


def node_counts(text: str) -> tuple[int, int]:
    """Read ``min-max``, or one number for both."""
    least, dash, most = text.partition("-")
    low = _node_count(least)
    high = (_node_count(most) if most else -1) if dash else low
    if high < low:
        raise WordedError(f"Maximum node count {high} is less than minimum node count {low}")
    if not low:
        raise WordedError(errno=Errno.INVALID_NODE_COUNT, status=FAILURE)
    return low, high


def _node_count(text: str) -> int:
    match = _NODE_COUNT.fullmatch(text)
    number = int(match["number"]) << 10 * " KM".index(match["unit"].upper() or " ") if match else MOST + 1
    if number > MOST:
        raise WordedError(f'"{text}" is not a valid node count')
    return number


def mebibytes(text: str) -> int:
    """Read an amount of memory into MiB; nought is all of it."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size: write a number with K, M, G or T")
    size = -(-int(match["number"]) * _KIB[(match["unit"] or "").upper()] // 2**10)
    if size > MOST:
        unavailable = Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE
        raise WordedError("Memory specification can not be satisfied", errno=unavailable, status=FAILURE)
    return size or ALL_MEMORY


# ---- times ------------------------------------------------------------------------------------------------------


def _span(text: str) -> int | None:
    """Read a time into seconds; ``None`` for no limit. Slurm takes no blanks around it, and no hours for 0."""
    if text != text.strip():
        raise ValueError(f"{text!r} has blanks around it")
    return parse_time_seconds(f"{text}0" if re.fullmatch(r"\d+-", text, re.ASCII) else text)


def _whole_minutes(text: str) -> int:
    """Read a time into seconds of whole minutes, rounded up; 0 for no limit."""
    return bounded(-(-(_span(text) or 0) // 60), text) * 60


def minutes(text: str) -> int:
    """Read a time limit into seconds; `YEAR` for no limit, which 0 means as well."""
    return _whole_minutes(text) or YEAR


def shortest(text: str) -> int:
    """Read ``--time-min``."""
    try:
        limit = _whole_minutes(text)
    except ValueError as error:
        if _NUMBER.fullmatch(text):
            raise WordedError(errno=Errno.INVALID_TIME_MIN_LIMIT, status=FAILURE) from None
        raise ValueError(str(error)) from None
    if not limit:
        own = f"{text!r} is no shortest time: write at least a minute"
        raise WordedError(errno=Errno.INVALID_TIME_MIN_LIMIT, status=FAILURE, own=own)
    return limit


def boot_delay(text: str) -> str:
    """Check ``--delay-boot``; give it as it is."""
    try:
        _span(text)
    except ValueError:
        raise ValueError from None
    return text


def moment(text: str) -> int:
    """Read ``now+COUNT[UNIT]`` into seconds from now."""
    match = _NOW.fullmatch(text.strip())
    scale = _SECONDS.get((match["unit"] or "").lower()) if match else None
    if match is None or scale is None:
        raise ValueError(f"{text!r} is no time after submission: write now+COUNT[seconds|minutes|hours|days|weeks]")
    return bounded(int(match["count"] or 0) * scale, text)


def later(text: str) -> int:
    """Read ``now+COUNT[UNIT]`` into seconds from now, at least one."""
    seconds = moment(text)
    if not seconds:
        raise ValueError(f"{text!r} leaves no time to run")
    return seconds


# ---- generic resources --------------------------------------------------------------------------------------------


def gres(text: str) -> str:
    """Read ``--gres``."""
    if text.lower() == "none":
        return ""
    items = text.split(",")
    if not all(items):
        raise WordedError(errno=Errno.INVALID_TRES, status=FAILURE)
    return _checked_gres(",".join(item.removeprefix("gres:") for item in items))


def gpus(text: str) -> str:
    """Read ``[type:]count``, or several separated by commas."""
    items = (item.strip().removeprefix("+") for item in text.removesuffix(" ").split(","))
    return _checked_gres(",".join(f"gpu:{item}" for item in items if item)) if text else ""


def _checked_gres(text: str) -> str:
    if text.count(",") >= MOST_NAMES:
        raise no_gres()
    for item in text.split(","):
        if not _GRES.fullmatch(item):
            raise no_gres()
        try:
            gres_counts(item)
        except ValueError:
            if item.rpartition(":")[2][:1].isdigit():
                raise WordedError(errno=Errno.INVALID_TRES, status=FAILURE) from None
            raise no_gres() from None
    return text


def no_gres(*lines: str) -> WordedError:
    """Make the error of a request for GRES of which no sense can be made, after some lines that say why."""
    return WordedError(*lines, "Invalid generic resource (gres) specification", status=FAILURE)


def enforces_binding(text: str) -> bool:
    """Read ``--gres-flags``."""
    if text.lower() not in {"enforce-binding", "disable-binding"}:
        raise ValueError(f"{text!r} is neither enforce-binding nor disable-binding")
    return text.lower() == "enforce-binding"


# ---- nodes ------------------------------------------------------------------------------------------------------


def hosts(text: str) -> tuple[str, ...]:
    """Expand a hostlist, short names first, without duplicates. What commas leave empty is of no account."""
    if "/" in text:
        raise _no_hosts(f"{text!r} is a file: write the names of the nodes")
    names = ",".join(filter(None, re.split(r"[,\s]+", text)))
    if not names:
        return ()
    try:
        return tuple(sorted(sorted(expand_hostlist(names)), key=len))
    except ValueError as error:
        raise _no_hosts(str(error)) from None


def _no_hosts(own: str) -> WordedError:
    return WordedError(errno=Errno.INVALID_NODE_NAME, status=FAILURE, own=own)


def node_shape(text: str) -> dict[str, int]:
    """Read ``sockets[:cores[:threads]]``. Of a range the smaller number counts; ``*`` is any number."""
    found = dict.fromkeys(_SHAPE, 0)
    for (name, which), part in zip(_SHAPE.items(), text.split(":"), strict=False):
        if part in {"", "*"}:
            continue
        found[name] = number_of(f"{which} arg of -B", least=0)(part.partition("-")[0] or part)
    return found


def switches(text: str) -> dict[str, int]:
    """Read ``count[@time]``; without a time that of a variable or an earlier option counts."""
    count, _, time = text.partition("@")
    found = {"switches": number_of("--switches")(count)}
    try:
        return found | ({"switch_wait": switch_wait(time)} if time else {})
    except ValueError:
        return found  # as Slurm, which does not mind what is no time


def switch_wait(text: str) -> int:
    """Read a time in seconds; with ``UNLIMITED`` the job waits as long as it may."""
    seconds = parse_time_seconds(text)
    return -1 if seconds is None else seconds


def not_supported(_text: str) -> str:
    """Read the value of an option of Slurm that rota does not have."""
    raise ValueError("is not supported by rota")


# ---- words ------------------------------------------------------------------------------------------------------


def some_text(text: str) -> str:
    """Read a text that is not empty."""
    if not text:
        raise ValueError("has no value")
    return text


def partitions(text: str) -> str:
    """Read ``--partition``."""
    if not text:
        raise WordedError("invalid partition specified: (null)", errno=Errno.INVALID_PARTITION_NAME, status=FAILURE)
    return text


def lower_case(text: str) -> str:
    """Read the name of an account or a QOS, whose letters may be large."""
    return some_text(text).lower()


def licenses(text: str) -> str:
    """Read ``--licenses``."""
    if text.count(",") + text.count(";") >= MOST_NAMES:
        raise TooManyError(text, MOST_NAMES, "licenses")
    parse_licenses(text)
    return text


def array(text: str) -> str:
    """Read ``--array``."""
    if text:
        check_array(text, MOST_TASKS)
    return text


def dependency(text: str) -> str:
    """Read ``--dependency``."""
    if text:
        parse_dependency(text)
    return text


def features(text: str) -> str:
    """Read ``--constraint``."""
    if text:
        parse_constraint(text)
    return text


def preferred_features(text: str) -> str:
    """Read ``--prefer``."""
    try:
        return features(text)
    except ValueError as error:
        raise WordedError(errno=Errno.INVALID_FEATURE, status=FAILURE, own=str(error)) from None


def yes_or_no(text: str) -> bool:
    """Read ``--kill-on-invalid-dep``."""
    if text.lower() not in {"yes", "no"}:
        raise ValueError(f"{text!r} is not yes or no")
    return text.lower() == "yes"


def exclusive(text: str) -> str:
    """Read ``--exclusive``."""
    if text.lower() not in {"", "exclusive", "user", "mcs"}:
        raise ValueError(f"{text!r} is not user or mcs")
    return "exclusive"


def hint(text: str) -> int:
    """Read hints into the number of threads that are used of a core; 0: all. The last one counts."""
    found = 0
    for word in text.split(","):
        if word.lower() == "help":
            raise WordedError(status=FAILURE, listed=_HINTS_LISTED)
        if word.lower() not in _HINTS:
            raise WordedError(f'unrecognized --hint argument "{word}", see --hint=help', status=FAILURE)
        found = _HINTS[word.lower()]
    return found


def distribution(text: str) -> dict[str, int]:
    """Read the distribution of tasks to nodes, sockets and cores; the plane size is 0 without planes."""
    match = _DISTRIBUTION.fullmatch(text)
    size = int(match["size"] or 0) if match else 0
    if text.lower().startswith("plane") and not size:
        raise WordedError("Invalid plane size or size not specified", "Invalid --distribution specification")
    if match is None:
        known = "block or cyclic for nodes[:sockets[:cores]] or plane=SIZE, with pack or nopack, or arbitrary"
        raise ValueError(f"{text!r} is not {known}")
    return {
        "plane_size": bounded(size, text),
        "fills_sockets": bool(size) or (match["sockets"] or "").lower() == "block",
        "arbitrary": match["arbitrary"] is not None,
    }


def open_mode(text: str) -> str:
    """Read ``--open-mode``, of which the first letter counts, into ``a`` or ``t``."""
    letter = text[:1].lower()
    if letter not in {"a", "t"}:
        raise ValueError(f"{text!r} is not append or truncate")
    return letter


def warning(text: str) -> str:
    """Check ``--signal``; give it as it is. See `parse_warning`."""
    parse_warning(text)
    return text


def warning_of_allocation(text: str) -> str:
    """Check ``--signal`` of a job without a batch shell."""
    if parse_warning(text)[2]:
        raise ValueError(f"{text!r}: there is no batch shell")
    return text


def parse_warning(text: str) -> tuple[int, int, bool]:
    """Parse ``[R][B]:signal[@seconds]`` into the signal, the seconds, and whether it is for the batch shell alone.

    A number for which there is no signal is 0: nothing is sent.

    Raises:
        ValueError: the text has another form.
    """
    flags, colon, rest = text.partition(":")
    name, _, seconds = (rest if colon else text).partition("@")
    known = re.fullmatch(r"\s*([+-]?\d+)\s?", name, re.ASCII)
    number = int(known[1]) if known else signal_number(name)
    wrong_time = bool(seconds) and not (seconds.isascii() and seconds.isdigit() and int(seconds) <= _MOST_WARNING)
    if not number or wrong_time or (colon and set(flags.upper()) - set("RB")):
        raise ValueError(f"{text!r} is not [B:]SIGNAL[@SECONDS]")
    number = number if number in set(signal.valid_signals()) else 0
    return number, int(seconds or _WARNING), bool(colon) and "B" in flags.upper()
