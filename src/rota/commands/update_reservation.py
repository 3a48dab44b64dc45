"""``scontrol update`` of a reservation: its present form with what is changed.

``Users``, ``Accounts``, ``Nodes`` and ``Flags`` are taken with ``=``, ``+=`` and ``-=``. As in Slurm, flags are added
with ``=`` too, a later start keeps the duration, and features do not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.commands.create_reservation import flags_of_nodes
from rota.commands.getopt import UsageError
from rota.commands.hosts import expand_hosts
from rota.commands.lists import split_list
from rota.commands.moments import parse_slurm_time
from rota.model import Errno, RequestError
from rota.model.reservation import FLAGS, Reservation
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_YEAR = 365 * 86400


def update_reservation(
    before: Reservation,
    pairs: Iterable[tuple[str, str]],
    nodes: Sequence[str],
    now: int,
    utc_offset: Callable[[int], int],
) -> Reservation:
    """Give a reservation as it is to be.

    Args:
        before: As it is.
        pairs: Keys and values as written; a key may end with ``+`` or ``-``.
        nodes: Names of the machine's nodes.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.

    Raises:
        UsageError: a key or a value cannot be read.
        RequestError: Slurm refuses the change.
    """
    one = before
    for word, value in pairs:
        sign = word[-1:] if word[-1:] in {"+", "-"} else ""
        key = word.removesuffix(sign).lower()
        if key in {"reservation", "reservationname"}:
            continue
        if key in {"users", "user"}:
            one = replace(one, users=_names(before.users, sign, value))
        elif key in {"accounts", "account"}:
            one = replace(one, accounts=_names(before.accounts, sign, value))
        elif key == "flags":
            one = replace(one, flags=_flags(one.flags, sign, value))
        elif key == "starttime":
            one = _begin_at(one, parse_slurm_time(value, now, utc_offset), now)
        elif key == "endtime":
            one = replace(one, end_time=parse_slurm_time(value, now, utc_offset))
        elif key == "duration":
            one = replace(one, end_time=max(one.start_time + _duration(one, sign, value), now))
        elif key in {"nodes", "node"}:
            found = _nodes(before.nodes, sign, value, nodes)
            flags = one.flags - {"ALL_NODES"} | flags_of_nodes(value)
            one = replace(one, nodes=found, choice=0, node_cnt=0, flags=flags)
        elif key in {"nodecnt", "nodecount"}:
            one = replace(one, node_cnt=_count(before.nodes.bit_count(), sign, value))
        else:
            raise UsageError(f"Update of this parameter is not supported: {word}={value}\nRequest aborted\n")
    if not one.users and not one.accounts and "MAINT" not in one.flags:
        raise RequestError("Reservation request lacks users, groups or accounts", Errno.RESERVATION_EMPTY)
    return one


def _names(before: tuple[str, ...], sign: str, value: str) -> tuple[str, ...]:
    given = tuple(split_list(value))
    if sign == "+":
        return tuple(dict.fromkeys((*before, *given)))
    return tuple(one for one in before if one not in given) if sign else given


def _flags(before: frozenset[str], sign: str, value: str) -> frozenset[str]:
    given = frozenset(one.upper() for one in split_list(value))
    removed = frozenset(one.removeprefix("NO_") for one in given if sign == "-" or one.startswith("NO_"))
    added = frozenset() if sign == "-" else frozenset(one for one in given if not one.startswith("NO_"))
    if unknown := (removed | added).difference(FLAGS):
        raise UsageError(f"Error parsing flags {min(unknown)}.  No reservation update.\n")
    return (before - removed) | added


def _begin_at(one: Reservation, start: int, now: int) -> Reservation:
    if one.start_time <= now:
        raise RequestError("Reservation already started", Errno.RESERVATION_STARTED)
    if start < now - 60:
        raise RequestError("Invalid time specified", Errno.INVALID_TIME_VALUE)
    return replace(one, start_time=start, end_time=start + one.end_time - one.start_time)


def _duration(one: Reservation, sign: str, value: str) -> int:
    sign = sign or (value[:1] if value[:1] in {"+", "-"} else "")
    try:
        seconds = parse_time_seconds(value.removeprefix(sign))
    except ValueError:
        raise UsageError("Error parsing duration.  No reservation update.\n") from None
    length = one.end_time - one.start_time
    if sign:
        return max(length + (seconds or 0) * (1 if sign == "+" else -1), 0)
    return _YEAR if seconds is None else seconds


def _nodes(before: int, sign: str, value: str, names: Sequence[str]) -> int:
    everything = {name: 1 << index for index, name in enumerate(names)}
    try:
        given = names if value.upper() == "ALL" else expand_hosts(value)
        found = sum(everything[name] for name in set(given))
    except (ValueError, KeyError):
        raise RequestError("Invalid node name specified", Errno.INVALID_NODE_NAME) from None
    if sign == "+":
        return before | found
    return before & ~found if sign else found


def _count(before: int, sign: str, value: str) -> int:
    text = value.removeprefix("+").removeprefix("-")
    sign = sign or value.removesuffix(text)
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise UsageError("Error parsing node count.  No reservation update.\n")
    count = {"+": before + int(text), "-": before - int(text), "": int(text)}[sign]
    if count < 1:
        raise RequestError("Node count specification invalid", Errno.INVALID_NODE_COUNT)
    return count
