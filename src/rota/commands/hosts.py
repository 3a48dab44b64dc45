"""Hostlists in command lines, bounded: a command must not keep a controller busy."""

from __future__ import annotations

import re
from math import prod

from rota.commands.lists import split_list
from rota.config.hostlist import expand_hostlist

_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
#: Most nodes of a list, as in Slurm.
MOST_HOSTS = 65_536


def expand_hosts(text: str) -> list[str]:
    """Expand a hostlist, without duplicates.

    Raises:
        ValueError: the text is no hostlist, or names more than `MOST_HOSTS` nodes.
    """
    if sum(prod(map(_count, _BRACKETS.findall(part))) for part in split_list(text)) > MOST_HOSTS:
        raise ValueError(f"{text!r} names more than {MOST_HOSTS:,} nodes")
    return expand_hostlist(text)


def hosts_in_order(text: str) -> list[str]:
    """Expand a hostlist in the order of its parts, with those that come again.

    Raises:
        ValueError: see `expand_hosts`.
    """
    return [name for part in split_list(text) for name in expand_hosts(part)]


def _count(items: str) -> int:
    """Give the largest number of names that the items in a pair of brackets stand for."""
    return sum(
        max(int(match[2]) - int(match[1]) + 1, 1) if (match := _RANGE.fullmatch(item)) else 1
        for item in items.split(",")
    )
