"""What ``--constraint`` asks of nodes: features, joined as Slurm joins them.

::

    a  a&b  a,b  a|b  (a|b)&c  [a|b]  [a|b]&c  a*2  [a*2&b*4]  [(a|b)*1&c*2]

Operators are taken from left to right, none before another: ``a|b&c`` is ``(a|b)&c``. Parentheses hold features only,
not further parentheses. One pair of brackets may be given. ``[a|b]``: all nodes have the same one of these.
``[a*2&b*4]``: two nodes with ``a`` and four others with ``b``; a single count does without brackets. Of several counts
all nodes serve one; with a single count any node may be added. Beside counts, features without one say nothing: Slurm
22.05 does not look at them either.

What sets of nodes that comes to is worked out on bitmaps, in one operation for each feature that is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: Gives the bitmap of the nodes that have a feature; 0 for one that nobody knows.
    Having = Callable[[str], int]

_TOKEN = re.compile(r"[&|,()\[\]*]|\s+|[^&|,()\[\]*\s]+")
_OPERATORS = {"&": "&", ",": "&", "|": "|"}
#: What can stand for no feature: tokens of the language, and the end.
_NO_FEATURE = frozenset({"", *"&|,()[]*"})
#: Any node: what remains when nothing is asked for. All bits are set, so it is to be cut with a set of nodes.
EVERY_NODE = -1
_MOST = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Joined:
    """Features and groups of them, each with the operator before it; the first is joined to every node with ``&``."""

    steps: tuple[tuple[str, str | Joined], ...] = ()

    def nodes(self, having: Having) -> int:
        """Give the nodes that fulfil it, from left to right; `EVERY_NODE` where it is empty."""
        nodes = EVERY_NODE
        for operator, operand in self.steps:
            found = having(operand) if isinstance(operand, str) else operand.nodes(having)
            nodes = nodes & found if operator == "&" else nodes | found
        return nodes

    def features(self) -> Iterator[str]:
        """Name the features, as written."""
        for _, operand in self.steps:
            if isinstance(operand, str):
                yield operand
            else:
                yield from operand.features()


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A request for features. At most one of ``options`` and ``counted`` is not empty."""

    #: As it was written.
    text: str
    #: What each node must have, whatever the brackets say; beside counts these are only names that must exist.
    required: Joined
    #: ``[a|b]``: all nodes have the same one of these; two or more, or none.
    options: tuple[Joined, ...] = ()
    #: ``a*2``: at least so many nodes, none of which counts twice.
    counted: tuple[tuple[Joined, int], ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that are named, each once. A job that names one that no node has is refused by Slurm."""
        parts = (self.required, *self.options, *(group for group, _ in self.counted))
        return tuple(dict.fromkeys(name for part in parts for name in part.features()))

    def nodes(self, having: Having) -> int:
        """Give the nodes of which each could be used at all.

        Args:
            having: The bitmap of the nodes that have a feature, 0 where there are none.

        Returns:
            A bitmap, bit i for node i; `EVERY_NODE` where a single count leaves all others open.
        """
        if len(self.counted) == 1:
            return EVERY_NODE
        if self.counted:
            return reduce(or_, (nodes for nodes, _ in self.counts(having)))
        return reduce(or_, self.alternatives(having)) if self.options else self.required.nodes(having)

    def alternatives(self, having: Having) -> tuple[int, ...]:
        """Give the sets of which all nodes must come from one, in the order written; one where there is no choice."""
        if not self.options:
            return (self.nodes(having),)
        required = self.required.nodes(having)
        return tuple(required & option.nodes(having) for option in self.options)

    def counts(self, having: Having) -> tuple[tuple[int, int], ...]:
        """Give the sets of which a number of nodes must come, with it; no node counts for two of them."""
        return tuple((group.nodes(having), count) for group, count in self.counted)


def parse_constraint(text: str) -> Constraint:
    """Read what ``--constraint`` or ``--prefer`` says.

    Raises:
        ValueError: it makes no sense; says why.
    """
    try:
        return _Reader(text).constraint()
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


class _Item(NamedTuple):
    """A feature, a group or brackets, with the operator before it."""

    operator: str
    operand: str | Joined
    #: The number behind it; 0: none.
    number: int = 0
    #: What it holds, if it is brackets.
    inner: tuple[_Item, ...] = ()


class _Reader:
    """Reads one text, token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._place = 0

    def constraint(self) -> Constraint:
        items, inner = _split(self._items("", opening="(["))
        counted = tuple((_joined(item), item.number) for item in (*items, *inner) if item.number)
        if counted and any(item.operator == "|" for item in (*items, *inner)):
            raise ValueError("features with counts are joined with & only")
        if not counted and any(item.operator == "&" for item in inner[1:]):
            raise ValueError("what & joins in brackets has a count each: [a*2&b*4]")
        if counted and not all(item.number for item in inner):
            raise ValueError("in brackets all have counts or none has")
        return Constraint(
            text=self._text,
            required=Joined(tuple((item.operator, item.operand) for item in items if not item.number)),
            options=() if counted else tuple(_joined(item) for item in inner),
            counted=counted,
        )

    def _items(self, closing: str, opening: str) -> tuple[_Item, ...]:
        """Read what operators join, up to what closes it."""
        items = [self._item("&", opening)]
        while (token := self._take()) != closing:
            if token not in _OPERATORS:
                raise ValueError(
                    f"{_shown(token)} where {'an operator' if not closing else f'& or | or {closing}'} is due"
                )
            items.append(self._item(_OPERATORS[token], opening))
        return tuple(items)

    def _item(self, operator: str, opening: str) -> _Item:
        """Read a feature, or a group of a kind that may open here, and its count."""
        token = self._take()
        if token == "[" and token in opening:
            return _Item(operator, "", inner=self._items("]", opening="("))
        operand: str | Joined = token
        if token == "(" and token in opening:
            operand = Joined(tuple((item.operator, item.operand) for item in self._items(")", opening="")))
        elif token in _NO_FEATURE or token.isspace():
            raise ValueError(f"{_shown(token)} where a feature is due")
        if self._tokens[self._place] != "*":
            return _Item(operator, operand)
        if not opening:
            raise ValueError("a count stands behind parentheses, not in them")
        self._place += 1
        return _Item(operator, operand, _count(self._take()))

    def _take(self) -> str:
        """Give the next token; empty at the end."""
        token = self._tokens[self._place]
        self._place += 1
        return token


def _split(items: tuple[_Item, ...]) -> tuple[tuple[_Item, ...], tuple[_Item, ...]]:
    """Part what is outside of brackets from what is in them; brackets around one thing are as good as none."""
    places = [place for place, item in enumerate(items) if item.inner]
    if not places:
        return items, ()
    if len(places) > 1:
        raise ValueError("only one pair of brackets is possible")
    before, brackets, after = items[: places[0]], items[places[0]], items[places[0] + 1 :]
    # Operators are taken from left to right: whatever comes later is joined to the brackets too.
    if any(item.operator == "|" for item in (brackets, *after)):
        raise ValueError("brackets are joined to what is outside of them with & only")
    if len(brackets.inner) == 1:
        return (*before, *brackets.inner, *after), ()
    return (*before, *after), brackets.inner


def _joined(item: _Item) -> Joined:
    return item.operand if isinstance(item.operand, Joined) else Joined((("&", item.operand),))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:20]) <= _MOST:
        raise ValueError(f"{_shown(text)} where a number of nodes is due")
    return int(text)


def _shown(token: str) -> str:
    return repr(token) if token else "the end"
