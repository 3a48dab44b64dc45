"""The words ``Key=Value`` of ``scontrol create`` and ``update`` of a reservation.

Keys may be abbreviated. ``Users``, ``Accounts``, ``Flags`` and others are also taken with ``+=`` and ``-=`` where a
reservation is updated. What scontrol 22.05 says about a word that it cannot use ends with what it has not done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import OptionError
from rota.model.reservation import FLAGS
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The keys in the order in which Slurm 22.05 looks for an abbreviation among them, and the fewest letters of each.
_KEYS = {
    "ReservationName": 1,
    "Accounts": 1,
    "BurstBuffer": 2,
    "StartTime": 2,
    "EndTime": 1,
    "Duration": 1,
    "Flags": 2,
    "Groups": 1,
    "NodeCnt": 5,
    "NodeCount": 5,
    "CoreCnt": 5,
    "CoreCount": 5,
    "CPUCnt": 5,
    "CPUCount": 5,
    "Nodes": 5,
    "Features": 2,
    "Licenses": 2,
    "MaxStartDelay": 1,
    "PartitionName": 1,
    "TRES": 1,
    "Users": 1,
    "Watts": 1,
}
_NOT_SUPPORTED = frozenset(
    {
        "BurstBuffer",
        "Groups",
        "CoreCnt",
        "CoreCount",
        "CPUCnt",
        "CPUCount",
        "Licenses",
        "MaxStartDelay",
        "TRES",
        "Watts",
    }
)
#: The flags in the order in which Slurm looks for an abbreviation among them.
_FLAGS = (
    *("MAINT", "OVERLAP", "FLEX", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "ANY_NODES"),
    *("LICENSE_ONLY", "STATIC_ALLOC", "PART_NODES", "MAGNETIC", "PURGE_COMP", "FIRST_CORES", "TIME_FLOAT", "REPLACE"),
    *("REPLACE_DOWN", "NO_HOLD_JOBS_AFTER_END"),
)
#: How many letters of a flag are needed that begins as one before it does.
_LEAST = {"WEEKEND": 5, "WEEKLY": 5, "MAGNETIC": 3, "FIRST_CORES": 2, "PURGE_COMP": 2, "REPLACE_DOWN": 8}
#: After how many seconds one without jobs ends, if ``PURGE_COMP`` does not say it, or in words that are no time.
_PURGE_AFTER = 300


class Word(NamedTuple):
    """A word."""

    #: Its key, written out.
    key: str
    #: ``+`` or ``-``, if it is one of ``Key+=Value``.
    sign: str
    value: str
    text: str


def read_words(words: Iterable[str], after: str) -> Iterator[Word]:
    """Read the words.

    Args:
        words: As they are written; ``reservation`` alone is passed over.
        after: How messages end.

    Raises:
        OptionError: a key is not known, or not supported.
    """
    for text in words:
        key, equals, value = text.partition("=")
        if not equals and key.lower().startswith("res"):
            continue
        if not equals:
            problem = f"Misformatted parameter '{text}', most options have a parameter after '='."
            raise OptionError(key, f"{problem}{after}")
        sign = key[-1:] if key[-1:] in {"+", "-"} else ""
        short = key.removesuffix(sign).lower()
        name = next((name for name, least in _KEYS.items() if len(short) >= least and _begins(name, short)), None)
        if name is None:
            raise OptionError(key, f"Unknown parameter {text}.{after}")
        if name in _NOT_SUPPORTED:
            raise OptionError(name, f"{name} of a reservation is not supported by rota.{after}")
        yield Word("NodeCnt" if name == "NodeCount" else name, sign, value, text)


class Flags(NamedTuple):
    """A list of flags."""

    #: See `rota.model.reservation.FLAGS`.
    names: frozenset[str] = frozenset()
    #: The seconds that ``PURGE_COMP`` has; 0: it is not among them.
    purge_after: int = 0


def read_flags(text: str, after: str) -> Flags:
    """Read a list of flags. ``REPLACE_DOWN`` says what holds without it, too.

    Raises:
        OptionError: one is not known, or not supported.
    """
    found, purge_after = set(), 0
    for word in filter(None, (one.strip() for one in text.split(","))):
        short, equals, time = word.partition("=")
        name = next((name for name in _FLAGS if len(short) >= _LEAST.get(name, 1) and _begins(name, short)), None)
        if name is None or (equals and name != "PURGE_COMP"):
            raise OptionError("Flags", f"Error parsing flags {text}.{after}")
        if name not in {*FLAGS, "REPLACE_DOWN"}:
            raise OptionError("Flags", f"{name} of a reservation is not supported by rota.{after}")
        if name == "PURGE_COMP":
            purge_after = _purge_after(time)
        found.add(name)
    return Flags(frozenset(found), purge_after)


def _purge_after(time: str) -> int:
    try:
        return parse_time_seconds(time) or _PURGE_AFTER
    except ValueError:
        return _PURGE_AFTER


def _begins(name: str, short: str) -> bool:
    return name.lower().startswith(short.lower())
