"""Hostlists, ``n[001-087],gn[1-2]``: ClusterShell's, see docs/decisions, with widths as Slurm reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.config.lines import Line

#: What names and lists of them are made of. ClusterShell's operators and group names mean nothing to Slurm.
_LIST = re.compile(r"[\w.:,\[\]-]+", re.ASCII)
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)-(\d+)")
#: More nodes in one range than any machine has.
_TOO_MANY = 1_000_000


def expand(text: str, line: Line, field: str) -> list[str]:
    """Give the names of a hostlist, each once.

    Raises:
        InputError: it is none.
    """
    if _LIST.fullmatch(text) is None:
        raise line.error(f"{text!r} is not a list of nodes", field)
    if "[" not in text and "]" not in text and "," not in text:
        return [text]
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

    try:
        return list(NodeSet(_BRACKETS.sub(_normal, text), resolver=RESOLVER_NOGROUP))
    except (NodeSetParseError, ValueError) as error:
        raise line.error(f"{text!r} is not a list of nodes: {error}", field) from None


def fold(names: Iterable[str]) -> str:
    """Write names as a hostlist, ``n[01-04],m7``; empty for none."""
    listed = list(names)
    if len(listed) < 2:
        return "".join(listed)
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(listed, resolver=RESOLVER_NOGROUP))


def _normal(brackets: re.Match[str]) -> str:
    items = brackets[1].split(",")
    return "[" + ",".join(part for item in items for part in _same_width(item)) + "]"


def _same_width(item: str) -> Iterator[str]:
    """Split a range so that both ends have one width: ClusterShell asks for that, Slurm takes the lower end's."""
    match = _RANGE.fullmatch(item)
    if match is None or int(match[1]) > int(match[2]):
        yield item  # for ClusterShell to take or to refuse
        return
    low, high, width = int(match[1]), int(match[2]), len(match[1])
    if high - low >= _TOO_MANY:
        raise ValueError(f"{item} has more than {_TOO_MANY:,} nodes")
    while low <= high:
        width = max(width, len(str(low)))
        top = min(high, 10**width - 1)
        yield f"{low:0{width}}-{top:0{width}}"
        low = top + 1
