"""Hostlists, ``n[001-087],gn[1-2]``, and numbers for each of several nodes, ``32(x4),8``.

Whatever somebody has written is expanded here, after `rota.model.bounds` has counted what it names. ClusterShell
formats lists, see docs/decisions. Bitmaps of the configuration's nodes, of which a replay writes tens of thousands, are
formatted by `NodeNames`, which works on runs of consecutive nodes: ClusterShell takes 30 µs for each node of each set.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rota.model.bounds import MOST_NODES, MOST_OF_MACHINE, host_items, quoted
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.config.lines import Line

#: Characters of hostlists.
_LIST = re.compile(r"[\w.:,\[\]-]+", re.ASCII)
#: Text outside of brackets and in them, in turn.
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
#: A name, or a prefix with numbers in brackets.
_PART = re.compile(r"([^\[\],]+)(?:\[([\d,-]+)\])?(?:,|$)")
_COUNT = re.compile(r"(\d{1,18})(?:\(x(\d{1,9})\))?(?:,|$)")


def expand(text: str, line: Line, field: str) -> list[str]:
    """Expand a hostlist in a line of a file, without duplicates.

    Args:
        text: The hostlist.
        line: The line that an error is to name.
        field: The key that an error is to name.

    Raises:
        InputError: the text is no hostlist.
    """
    try:
        return expand_hostlist(text, MOST_OF_MACHINE)
    except ValueError as error:
        raise line.error(str(error), field) from None


def expand_hostlist(text: str, most: int = MOST_NODES) -> list[str]:
    """Expand a hostlist, in the order in which it is written, without duplicates.

    Args:
        text: The hostlist.
        most: The most nodes that it may name.

    Raises:
        ValueError: the text is no hostlist, or names too many nodes.
    """
    return list(dict.fromkeys(hosts_in_order(text, most)))


def hosts_in_order(text: str, most: int = MOST_NODES) -> list[str]:
    """Expand a hostlist in the order in which it is written, with those that come again.

    Args:
        text: The hostlist.
        most: The most nodes that it may name.

    Raises:
        ValueError: see `expand_hostlist`.
    """
    items = host_items(text, most)
    if _LIST.fullmatch(text) is None:
        raise ValueError(f"{quoted(text)} is not a list of nodes")
    if "[" not in text:
        return items
    try:
        return [name for item in items for name in (_names(item) if "[" in item else (item,))]
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a list of nodes: {error}") from None


def _names(item: str) -> list[str]:
    """Expand an item with brackets; those at the end count fastest."""
    first, *parts = _BRACKETS.split(item)
    names = [first]
    for inside, after in zip(parts[::2], parts[1::2], strict=True):
        numbers = [number for one in inside.split(",") for number in _numbers(one)]
        names = [name + number + after for name in names for number in numbers]
    return names


def _numbers(text: str) -> Iterable[str]:
    """Expand a number or range. As in Slurm, all numbers have at least the width of the first."""
    match = _RANGE.fullmatch(text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f"{quoted(text)} is no range such as 1-3")
    if not match[2]:
        return (match[1],)
    width = len(match[1])
    numbers = range(int(match[1]), int(match[2]) + 1)
    return [f"{number:0{width}}" for number in numbers] if match[1][0] == "0" else map(str, numbers)


def fold(names: Iterable[str]) -> str:
    """Format names as a hostlist, ``n[01-04],m7``; empty for no names."""
    listed = list(names)
    if len(listed) < 2:
        return "".join(listed)
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(listed, resolver=RESOLVER_NOGROUP))


class NodeNames:
    """Formats bitmaps of the configuration's nodes as hostlists, and parses these.

    Args:
        names: Names of all nodes, in the order of the configuration.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._place = {name: place for place, name in enumerate(self._names)}
        #: Each name as prefix and digits; no digits if it does not end in a number.
        self._parts = [
            (match[1], match[2]) if (match := _NUMBERED.fullmatch(one)) else (one, "") for one in self._names
        ]
        #: Whether each name has the same prefix as the one before and the next number.
        self._follows = [False, *map(_is_next, self._parts, self._parts[1:])]

    def fold(self, nodes: int) -> str:
        """Format a bitmap of nodes as a hostlist; empty for no nodes."""
        runs: list[list[int]] = []
        for place in indices(nodes):
            if runs and runs[-1][-1] == place - 1 and self._follows[place]:
                runs[-1][1:] = [place]
            else:
                runs.append([place])
        return ",".join(self._folded(prefix, list(some)) for prefix, some in groupby(runs, self._prefix))

    def _prefix(self, run: list[int]) -> str:
        return self._parts[run[0]][0]

    def _folded(self, prefix: str, runs: list[list[int]]) -> str:
        if len(runs) == len(runs[0]) == 1:
            return self._names[runs[0][0]]
        return f"{prefix}[{','.join('-'.join(self._parts[place][1] for place in run) for run in runs)}]"

    def places(self, text: str) -> list[int]:
        """Parse a hostlist that `fold` has written; give the indices of its nodes, ascending.

        Raises:
            ValueError: it was not written by `fold`, or for another machine.
        """
        found: list[int] = []
        at = 0
        while at < len(text):
            part = _PART.match(text, at)
            if part is None:
                raise ValueError(f"{text!r} is not a list of nodes")
            at = part.end()
            for item in part[2].split(",") if part[2] else ("",):
                low, _, high = item.partition("-")
                first, last = (self._place.get(part[1] + digits) for digits in (low, high or low))
                if first is None or last is None:
                    raise ValueError(f"{text!r} names other nodes than the machine has")
                found.extend(range(first, last + 1))
        return found


def _is_next(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether two names, as prefix and digits, have the same prefix and consecutive numbers of the same width."""
    (prefix, low), (same, high) = before, after
    return bool(low) and prefix == same and f"{int(low) + 1:0{len(low)}}" == high


def fold_counts(counts: Sequence[int]) -> str:
    """Format numbers as Slurm does in ``SLURM_JOB_CPUS_PER_NODE``: ``32(x4),8``."""
    runs = ((count, len(list(same))) for count, same in groupby(counts))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)


def read_counts(text: str) -> list[int]:
    """Parse numbers that `fold_counts` has written.

    Raises:
        ValueError: the text has another form.
    """
    found: list[int] = []
    at = 0
    while at < len(text):
        item = _COUNT.match(text, at)
        if item is None:
            raise ValueError(f"{text!r} is not a list of numbers")
        at = item.end()
        times = int(item[2] or 1)
        if len(found) + times > MOST_OF_MACHINE:
            raise ValueError(f"{quoted(text)} has numbers for more than {MOST_OF_MACHINE:,} nodes")
        found += [int(item[1])] * times
    return found
