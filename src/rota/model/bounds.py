"""How much one list may name: the one place for it, whoever writes the list and wherever it stands.

Lists of nodes, of job ids and of tasks are written with ranges, so a few characters may stand for billions of names.
What a list stands for is counted from its text, in one pass, before anything is made of it. Command lines, HTTP,
slurm.conf and the files beside it, and files that a replay reads all go through here: whatever expands a list asks
first. What a list may cost follows from these numbers, see docs/decisions/0046-bounds.md.
"""

from __future__ import annotations

import re
from math import prod

#: Most nodes of a list in a request, and of a machine and of each list in its files.
MOST_NODES, MOST_OF_MACHINE = 32_768, 262_144
#: Most characters of a name and of a list, and most pairs of brackets of a list, each of which takes its time.
_LONGEST_NAME, _LONGEST_LIST, _MOST_BRACKETS = 255, 1 << 19, 4_096
#: Most jobs, and tasks of job arrays, that one command names.
MOST_JOBS = 5_000
#: Most characters of the ids of one command, which is room for as many.
LONGEST_IDS = 1 << 17
#: Most characters of an expression of features.
LONGEST_CONSTRAINT = 1 << 16
#: Most users and accounts that one command of ``sacctmgr`` names, and associations that it makes.
MOST_NAMES = 2_000
#: Most groups whose members are looked up for one partition.
MOST_GROUPS = 200
#: Characters of a list that an error quotes.
_QUOTED = 60
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
#: A range. Numbers have at most so many digits: what is longer is no range.
_RANGE = re.compile(r"(?<!\d)(\d{1,18}+)-(\d{1,18}+)", re.ASCII)
#: An item of a hostlist: no comma outside of brackets. Brackets do not nest.
_ITEM = re.compile(r"((?:[^,\[\]]++|\[[^\[\]]*+\])++)(?:,|\Z)")


class TooManyError(ValueError):
    """A list names more than one may name."""

    def __init__(self, text: str, most: int, what: str) -> None:
        super().__init__(f"{quoted(text)} names more than {most:,} {what}")


def quoted(text: str) -> str:
    """Quote a list in a message, which must not be as long as the list."""
    return repr(text) if len(text) <= _QUOTED else f"{text[:_QUOTED]!r}…"


def count_numbers(text: str) -> int:
    """Count the numbers of a list such as ``1-3,7``: those that come again count again, and what is none counts 1."""
    return text.count(",") + 1 + sum(max(int(high) - int(low), 0) for low, high in _RANGE.findall(text))


def host_items(text: str, most: int = MOST_NODES) -> list[str]:
    """Split a hostlist at the commas that are not in brackets, and count the nodes that it names.

    Args:
        text: The hostlist.
        most: The most nodes that it may name; for other lists than those of requests, the rest may be more as well.

    Raises:
        TooManyError: it names too many; those that come again count again.
        ValueError: it has brackets that are not closed, or in each other, or an item is empty or too long.
    """
    times = most // MOST_NODES
    if len(text) > _LONGEST_LIST * times or text.count(",") >= most or text.count("[") > _MOST_BRACKETS * times:
        raise TooManyError(text, most, "nodes")
    items = _split(text) if "[" in text or "]" in text else text.split(",")
    if not all(items):
        raise ValueError(f"{quoted(text)} is not a list of nodes: a name is missing")
    if sum(prod(map(count_numbers, _BRACKETS.findall(item))) if "[" in item else 1 for item in items) > most:
        raise TooManyError(text, most, "nodes")
    if len(longest := max((_BRACKETS.sub("", item) for item in items), key=len)) > _LONGEST_NAME:
        raise ValueError(f"{quoted(longest)} is not the name of a node: it has more than {_LONGEST_NAME} characters")
    return items


def _split(text: str) -> list[str]:
    found = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            raise ValueError(f"{quoted(text)} is not a list of nodes: see {quoted(text[at:])}")
        at = match.end()
        found.append(match[1])
    return [*found, ""] if text.endswith(",") else found
