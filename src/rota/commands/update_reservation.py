"""``scontrol update`` of a reservation: its present form with what is changed.

``Users``, ``Accounts``, ``Nodes``, ``Flags`` and ``Duration`` are taken with ``=``, ``+=`` and ``-=``. As in Slurm,
flags are added with ``=`` too, a later start keeps the duration, and features do not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.commands.create_reservation import duration_of, flags_of_nodes
from rota.commands.lists import split_list
from rota.commands.option_error import OptionError
from rota.commands.reservation_words import read_flags, read_words
from rota.config.hostlist import expand_hostlist
from rota.model import Errno, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.commands.reservation_words import Flags, Word
    from rota.model.reservation import Reservation

#: How what scontrol says ends.
NOT_UPDATED = "  No reservation update."


def update_reservation(
    before: Reservation, words: Iterable[str], nodes: Sequence[str], now: int, moment: Callable[[Word], int]
) -> Reservation:
    """Give a reservation as it is to be.

    Args:
        before: As it is.
        words: Keys and values.
        nodes: Names of the machine's nodes.
        now: The time now, Unix seconds.
        moment: Reads a time, Unix seconds.

    Raises:
        OptionError: a key or a value cannot be used; so says scontrol.
        RequestError: slurmctld refuses the change.
    """
    one = before
    for word in read_words(words, NOT_UPDATED):
        key, sign, value, _ = word
        if key == "Users":
            one = replace(one, users=_names(before.users, sign, value))
        elif key == "Accounts":
            one = replace(one, accounts=_names(before.accounts, sign, value))
        elif key == "Flags":
            one = _with_flags(one, sign, read_flags(value, NOT_UPDATED))
        elif key == "StartTime":
            one = _begin_at(one, moment(word), now)
        elif key == "EndTime":
            one = replace(one, end_time=moment(word))
        elif key == "Duration":
            one = replace(one, end_time=max(one.start_time + _duration(one, word), now))
        elif key == "Nodes":
            found = _nodes(before.nodes, sign, value, nodes)
            flags = one.flags - {"ALL_NODES"} | flags_of_nodes(value)
            flags = flags if "ALL_NODES" in flags else flags - {"PART_NODES"}
            one = replace(one, nodes=found, choice=0, node_cnt=0, flags=flags)
        elif key == "NodeCnt":
            count = _count(before.nodes.bit_count(), sign, value)
            one = replace(one, node_cnt=count, flags=one.flags - {"PART_NODES"})
        elif key == "Features":
            raise RequestError("Requested operation not supported on this system", Errno.DISABLED)
        elif key == "PartitionName":
            raise OptionError(key, f"Another partition of a reservation is not supported by rota.{NOT_UPDATED}")
    if "PART_NODES" in one.flags - before.flags:
        if not one.partition:
            raise RequestError("Invalid partition name specified: it is of none", Errno.INVALID_PARTITION_NAME)
        if "ALL_NODES" not in one.flags:
            raise RequestError("Invalid node name specified: it has to be ALL", Errno.INVALID_NODE_NAME)
    if "PART_NODES" in one.flags:
        one = replace(one, flags=one.flags - {"ALL_NODES"})
    if one.end_time < one.start_time:
        raise RequestError("Invalid time specified: it would end before it starts", Errno.INVALID_TIME_VALUE)
    if not one.users and not one.accounts and "MAINT" not in one.flags:
        raise RequestError("Reservation request lacks users, groups or accounts", Errno.RESERVATION_EMPTY)
    return one


def _names(before: tuple[str, ...], sign: str, value: str) -> tuple[str, ...]:
    given = tuple(split_list(value))
    if sign == "+":
        return tuple(dict.fromkeys((*before, *given)))
    return tuple(one for one in before if one not in given) if sign else given


def _with_flags(one: Reservation, sign: str, given: Flags) -> Reservation:
    names = given.names - {"REPLACE_DOWN"}
    if sign == "-":
        return replace(one, flags=one.flags - names)
    return replace(one, flags=one.flags | names, purge_after=given.purge_after or one.purge_after)


def _begin_at(one: Reservation, start: int, now: int) -> Reservation:
    if one.start_time <= now:
        raise RequestError("Reservation already started", Errno.RESERVATION_STARTED)
    if start < now - 60:
        raise RequestError("Invalid time specified", Errno.INVALID_TIME_VALUE)
    return replace(one, start_time=start, end_time=start + one.end_time - one.start_time)


def _duration(one: Reservation, word: Word) -> int:
    sign = word.sign or (word.value[:1] if word.value[:1] in {"+", "-"} else "")
    seconds = duration_of(word.value.removeprefix(sign), word.text, NOT_UPDATED)
    if not sign:
        return seconds
    return max(one.end_time - one.start_time + (seconds if sign == "+" else -seconds), 0)


def _nodes(before: int, sign: str, value: str, names: Sequence[str]) -> int:
    everything = {name: 1 << index for index, name in enumerate(names)}
    try:
        given = names if value.upper() == "ALL" else expand_hostlist(value)
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
        raise OptionError("NodeCnt", f"Invalid node count {value}")
    count = {"+": before + int(text), "-": before - int(text), "": int(text)}[sign]
    if count < 1:
        raise RequestError("Requested reservation is invalid: it would have no nodes", Errno.RESERVATION_INVALID)
    return count
