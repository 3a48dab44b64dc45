"""Hostlists, ``n[001-087],gn[1-2]``, and numbers for each of several nodes, ``32(x4),8``.

Whatever somebody has written is expanded here, after `rota.model.bounds` has counted what it names. What programs and
files are told is in the order of the nodes (`fold`), so that places in the list are those of ranks; what people are
shown is sorted by number (`fold_sorted`), see docs/decisions. Bitmaps of the configuration's nodes, of which a replay
writes tens of thousands, are formatted by `NodeNames`, which works on runs of consecutive nodes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, groupby
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
    if "[" not in text:
        return _items(text, most)
    return ["".join(part) for part in _parts(text, most)]


def _items(text: str, most: int) -> list[str]:
    items = host_items(text, most)
    if _LIST.fullmatch(text) is None:
        raise ValueError(f"{quoted(text)} is not a list of nodes")
    return items


def _parts(text: str, most: int = MOST_NODES) -> list[tuple[str, str]]:
    """Expand a hostlist as `hosts_in_order` does, to prefixes and numbers."""
    items = _items(text, most)
    try:
        return [part for item in items for part in (_apart(item) if "[" in item else (_split(item),))]
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a list of nodes: {error}") from None


def _apart(item: str) -> list[tuple[str, str]]:
    """Expand an item with brackets, to prefixes and numbers; those at the end count fastest."""
    *before, last, rest = _BRACKETS.split(item)
    if rest:
        raise ValueError(f"{quoted(rest)} stands behind the numbers")
    prefixes = before[:1]
    for inside, after in zip(before[1::2], before[2::2], strict=True):
        prefixes = [prefix + number + after for prefix in prefixes for number in _every_number(inside)]
    numbers = _every_number(last)
    return [(prefix, number) for prefix in prefixes for number in numbers]


def _every_number(inside: str) -> list[str]:
    return list(chain.from_iterable(map(_numbers, inside.split(","))))


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
    """Format names as a hostlist, ``n[01-04],m7``, in their order; empty for no names."""
    return _folded(tuple(names))


def fold_sorted(names: Iterable[str]) -> str:
    """Format names as a hostlist in the order of their numbers, the shorter ones first; empty for no names."""
    return _folded(tuple(names), in_order=False)


def fold_again(text: str, *, in_order: bool) -> str:
    """Format a hostlist anew; all but the last brackets of an item belong to its prefix, ``n1[0-1],n2[0-1]``.

    Args:
        text: The hostlist.
        in_order: Whether it keeps its order; else it is sorted.

    Raises:
        ValueError: see `expand_hostlist`.
    """
    return _joined(_parts(text), in_order)


@lru_cache(maxsize=16384)
def _folded(names: tuple[str, ...], *, in_order: bool = True) -> str:
    """Results are kept: listings show the nodes of the same jobs again and again."""
    return "".join(names) if len(names) < 2 else _joined([_split(name) for name in names], in_order)


def _joined(parts: Iterable[tuple[str, str]], in_order: bool) -> str:
    runs = _runs(parts)
    if not in_order:
        runs = _runs(_sorted(runs))
    alike = groupby(runs, lambda run: (run[0], bool(run[1][0])))
    return ",".join(_listed(prefix, [numbers for _, numbers in some]) for (prefix, _), some in alike)


def _runs(parts: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Put names together of which each has the next number, of the same width or without leading zeros."""
    runs: list[tuple[str, list[str]]] = []
    before = ("", "")
    for part in parts:
        if _is_next(before, part):
            runs[-1][1].append(part[1])
        else:
            runs.append((part[0], [part[1]]))
        before = part
    return runs


def _sorted(runs: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """Sort the names of runs: by prefix, then by the width of a run's first number, as Slurm does, then by number."""
    keyed = [
        ((*natural(prefix), (0, 0, prefix)), len(numbers[0]), int(number or 0), prefix, number)
        for prefix, numbers in runs
        for number in numbers
    ]
    return [(prefix, number) for *_, prefix, number in sorted(keyed)]


def _listed(prefix: str, runs: list[list[str]]) -> str:
    if len(runs) == len(runs[0]) == 1:
        return prefix + runs[0][0]
    if not runs[0][0]:
        return ",".join([prefix] * len(runs))
    return f"{prefix}[{_in_brackets(runs)}]"


def _in_brackets(runs: Iterable[Sequence[str]]) -> str:
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def ranges(numbers: Iterable[str]) -> str:
    """Format numbers with ranges: ``0-2,5``."""
    return _in_brackets(run for _, run in _runs(("", number) for number in numbers))


@lru_cache(maxsize=65536)
def _split(name: str) -> tuple[str, str]:
    """Split a node name into prefix and number; no number if it does not end in one."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


@lru_cache(maxsize=4096)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a name: digits by value, except that digits beginning with 0 come before them and sort as text."""
    key = []
    for part in re.findall(r"\d+|\D", name):
        if not part.isdigit():
            key.append((ord(part), 0, ""))
        elif part.startswith("0"):
            key.append((ord("0"), 0, part))
        else:
            key.append((ord("0"), int(part), ""))
    return tuple(key)


class NodeNames:
    """Formats bitmaps of the configuration's nodes as hostlists, and parses these.

    Args:
        names: Names of all nodes, in the order of the configuration.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._place = {name: place for place, name in enumerate(self._names)}
        #: Each name as prefix and digits; no digits if it does not end in a number.
        self._parts = [_split(one) for one in self._names]
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
