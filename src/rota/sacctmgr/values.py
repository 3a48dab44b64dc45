"""Parsers of the values of keys in sacctmgr. They raise ``ValueError`` for a value that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import SHARES_PARENT
from rota.model.association import QosFlag
from rota.model.limits import (
    TIME_LIMITS,
    TRES_LIMITS,
    LimitError,
    read_count_limit,
    read_time_limit,
    read_tres_limit,
)
from rota.model.tres import MAX_FACTOR
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

#: sacctmgr's value for "no limit" and "not set".
UNSET = "-1"
_MAX_32 = 2**32 - 1
_FLAGS = {flag.lower(): flag for flag in QosFlag}
#: Words of PreemptMode in the order in which sacctmgr prints them. At most one of the last three can be given.
_PREEMPT_MODES = ("gang", "within", "cancel", "requeue", "suspend")


def shares(text: str) -> int:
    """Parse a number of shares, or ``parent``."""
    if text.lower() == "parent":
        return SHARES_PARENT
    if not text.isascii() or not text.isdigit() or int(text) > SHARES_PARENT:
        if text == UNSET:
            return 1
        raise ValueError(f"{text!r} is not a number of shares: a whole number of at least 0, or parent")
    return int(text)


def whole(text: str) -> int:
    """Parse a priority; -1 is 0."""
    if text == UNSET:
        return 0
    if not text.isascii() or not text.isdigit() or int(text) > _MAX_32:
        raise ValueError(f"{text!r} is not a whole number from 0 to {_MAX_32}")
    return int(text)


def factor(text: str) -> float | None:
    """Parse a factor; ``None`` for -1."""
    try:
        number = float(text)
    except ValueError:
        number = -2.0
    if number == -1:
        return None
    if not 0 <= number <= MAX_FACTOR:
        raise ValueError(f"{text!r} is not a number from 0 to {MAX_FACTOR:g}")
    return number


def seconds(text: str) -> int:
    """Parse a time in seconds, which sacctmgr prints as ``hours:minutes:seconds``; -1 is 0."""
    if text.isascii() and text.isdigit():
        return whole(text)
    return 0 if text == UNSET else parse_time_seconds(text) or 0


def exempt_time(text: str) -> int | None:
    """Parse a time in minutes or a longer notation; ``None`` for -1."""
    return parse_time_seconds(text)


def preempt_mode(text: str) -> tuple[str, ...]:
    """Parse a preemption mode; ``off`` and ``cluster`` stand for the cluster's."""
    words = set(names(text)) - {"cluster", "off"}
    if not words <= set(_PREEMPT_MODES) or len(words - {"gang", "within"}) > 1:
        raise ValueError(f"{text!r} is not cluster, or one of cancel, requeue and suspend with gang or within, or not")
    return tuple(mode for mode in _PREEMPT_MODES if mode in words)


def names(text: str) -> tuple[str, ...]:
    """Parse a list of names."""
    return tuple(word.strip().lower() for word in text.split(",") if word.strip())


def changed_names(old: tuple[str, ...], text: str, change: str) -> tuple[str, ...]:
    """Apply a change to a list of names; the result is sorted.

    Args:
        old: The list.
        text: Names, separated by commas.
        change: ``=``, ``+=`` or ``-=``.
    """
    words = names(text)
    if change == "=":
        return tuple(sorted(words))
    kept = tuple(name for name in old if name not in words)
    return tuple(sorted(kept + words)) if change == "+=" else kept


def changed_qos(old: tuple[str, ...], text: str, change: str) -> tuple[str, ...]:
    """Apply a change to a list of QOS. Changes to an inherited list are kept as ``+x`` and ``-x``."""
    if change == "=" or (old and old[0][0] not in "+-"):
        return changed_names(old, text, change)
    words = names(text)
    noted = tuple(name for name in old if name[1:] not in words)
    return noted + tuple(f"{change[0]}{name}" for name in words)


def changed_flags(old: tuple[str, ...], text: str, change: str) -> tuple[str, ...]:
    """Apply a change to the flags of a QOS; ``=-1`` removes all."""
    words = set(names(text)) - {UNSET}
    unknown = sorted(words - _FLAGS.keys())
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no flag of a QOS: there are {', '.join(QosFlag)}")
    had = {flag.lower() for flag in old}
    now = words if change == "=" else had | words if change == "+=" else had - words
    return tuple(flag.value for name, flag in _FLAGS.items() if name in now)


def set_limit(limits: dict[str, str], key: str, text: str, old_limits: Mapping[str, tuple[str, str]]) -> None:
    """Set a limit, written as in a dump. Of a limit on TRES only the named TRES change.

    Args:
        limits: The limits so far, which are modified.
        key: Full name of the limit.
        text: Value; -1 removes the limit.
        old_limits: Present names of limits from before TRES existed.

    Raises:
        LimitError: the value cannot be used.
    """
    if key in old_limits:
        # No units: Slurm reads GrpMemory=2G as 2 MiB.
        number = read_count_limit(key, text)
        key, tres = old_limits[key]
        text = f"{tres}={UNSET if number is None else number}"
    if key in TRES_LIMITS:
        written = _changed_tres(limits.get(key, ""), key, text)
    elif key in TIME_LIMITS:
        time = read_time_limit(key, text)
        written = "" if time is None else str(time // 60)
    else:
        count = read_count_limit(key, text)
        written = "" if count is None else str(count)
    if written:
        limits[key] = written
    else:
        limits.pop(key, None)


def _changed_tres(old: str, key: str, text: str) -> str:
    # The cluster's TRES are unknown here: slurm.conf names them.
    counts = read_tres_limit(key, text, None)
    if not counts:
        if text.strip() == UNSET:
            return ""
        raise LimitError(key, f"{text!r} is not TRES=count, such as cpu=100 or mem=64G")
    counts = read_tres_limit(key, old, None) | counts
    return ",".join(
        f"{name}={_mebibytes(count) if name == 'mem' else count}"
        for name, count in sorted(counts.items())
        if count is not None
    )


def _mebibytes(count: int) -> str:
    # Slurm writes 1536M as 1.50G, which it would read as 1M.
    units = iter("MGTP")
    unit = next(units)
    while count and count % 1024 == 0 and unit != "P":
        count, unit = count // 1024, next(units)
    return f"{count}{unit}" if count else "0"
