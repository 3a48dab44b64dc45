"""Constraints: the features that ``--constraint`` asks of nodes.

::

    a  a&b  a,b  a|b  (a|b)&c  [a|b]  [a|b]&c  a*2  [a*2&b*4]  [(a|b)*1&c*2]

Operators are evaluated from left to right, without precedence: ``a|b&c`` is ``(a|b)&c``. Parentheses cannot be nested.
One pair of brackets is allowed. ``[a|b]``: all nodes have the same one of these features. ``[a*2&b*4]``: two nodes with
``a`` and four others with ``b``; a single count needs no brackets. With several counts each node counts for one of
them; with a single count, nodes without the feature may be added. Features without a count are ignored beside counts,
as in Slurm 22.05.

A constraint is evaluated on node bitmaps, with one operation for each feature that it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from rota.model.bounds import LONGEST_CONSTRAINT, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: Gives the bitmap of the nodes that have a feature; 0 for an unknown feature.
    Having = Callable[[str], int]

_TOKEN = re.compile(r"[&|,()\[\]*]|\s+|[^&|,()\[\]*\s]+")
_OPERATORS = {"&": "&", ",": "&", "|": "|"}
#: Tokens that cannot be a feature: operators, and the end of the text.
_NO_FEATURE = frozenset({"", *"&|,()[]*"})
#: The result of a constraint that asks for nothing. All bits are set: intersect it with a bitmap of nodes.
EVERY_NODE = -1
_MOST = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Joined:
    """Features and groups joined by operators. Each item has the operator before it; that of the first is ``&``."""

    steps: tuple[tuple[str, str | Joined], ...] = ()

    def nodes(self, having: Having) -> int:
        """Give the bitmap of the nodes that satisfy it; `EVERY_NODE` if it is empty."""
        nodes = EVERY_NODE
        for operator, operand in self.steps:
            found = having(operand) if isinstance(operand, str) else operand.nodes(having)
            nodes = nodes & found if operator == "&" else nodes | found
        return nodes

    def features(self) -> Iterator[str]:
        """Give the names of the features, as written."""
        for _, operand in self.steps:
            if isinstance(operand, str):
                yield operand
            else:
                yield from operand.features()


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A parsed constraint. At most one of ``options`` and ``counted`` is not empty."""

    #: The text from which it was parsed.
    text: str
    #: Features that every node needs, outside of brackets. Beside counts they only have to exist.
    required: Joined
    #: ``[a|b]``: all nodes have the same one of these. Empty, or two or more.
    options: tuple[Joined, ...] = ()
    #: ``a*2``: the smallest number of nodes with these features. A node counts for one of them only.
    counted: tuple[tuple[Joined, int], ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it names, without duplicates. Slurm refuses a job that names a feature that no node has."""
        parts = (self.required, *self.options, *(group for group, _ in self.counted))
        return tuple(dict.fromkeys(name for part in parts for name in part.features()))

    def nodes(self, having: Having) -> int:
        """Give the nodes that can be used at all.

        Args:
            having: Gives the bitmap of the nodes that have a feature; 0 if there are none.

        Returns:
            A bitmap, bit i for node i; `EVERY_NODE` if a single count leaves the other nodes open.
        """
        if len(self.counted) == 1:
            return EVERY_NODE
        if self.counted:
            return reduce(or_, (nodes for nodes, _ in self.counts(having)))
        return reduce(or_, self.alternatives(having)) if self.options else self.required.nodes(having)

    def alternatives(self, having: Having) -> tuple[int, ...]:
        """Give a bitmap for each option of ``[a|b]``, in their order: all nodes of a job are from one of them."""
        if not self.options:
            return (self.nodes(having),)
        required = self.required.nodes(having)
        return tuple(required & option.nodes(having) for option in self.options)

    def counts(self, having: Having) -> tuple[tuple[int, int], ...]:
        """Give a bitmap of nodes and a number of nodes for each count. No node counts for two of them."""
        return tuple((group.nodes(having), count) for group, count in self.counted)


def parse_constraint(text: str) -> Constraint:
    """Parse the value of ``--constraint`` or ``--prefer``.

    Raises:
        ValueError: the syntax is wrong; the text says where.
    """
    if len(text) > LONGEST_CONSTRAINT:
        raise ValueError(f"{quoted(text)} has more than {LONGEST_CONSTRAINT:,} characters")
    try:
        return _Reader(text).constraint()
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


class _Item(NamedTuple):
    """A feature, a group or a pair of brackets, with the operator before it."""

    operator: str
    operand: str | Joined
    #: The count after it; 0: none.
    number: int = 0
    #: The items inside of the brackets; empty for a feature or a group.
    inner: tuple[_Item, ...] = ()


class _Reader:
    """A recursive-descent parser of one text."""

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
        """Read items joined by operators, up to the token that closes them."""
        items = [self._item("&", opening)]
        while (token := self._take()) != closing:
            if token not in _OPERATORS:
                raise ValueError(
                    f"{_shown(token)} where {'an operator' if not closing else f'& or | or {closing}'} is due"
                )
            items.append(self._item(_OPERATORS[token], opening))
        return tuple(items)

    def _item(self, operator: str, opening: str) -> _Item:
        """Read a feature, or a group that may open here, and its count."""
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
        """Consume a token and give it; empty at the end of the text."""
        token = self._tokens[self._place]
        self._place += 1
        return token


def _split(items: tuple[_Item, ...]) -> tuple[tuple[_Item, ...], tuple[_Item, ...]]:
    """Separate the items outside of brackets from those inside. Brackets around a single item are dropped."""
    places = [place for place, item in enumerate(items) if item.inner]
    if not places:
        return items, ()
    if len(places) > 1:
        raise ValueError("only one pair of brackets is possible")
    before, brackets, after = items[: places[0]], items[places[0]], items[places[0] + 1 :]
    # Operators are evaluated from left to right: whatever comes later is joined to the brackets too.
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
