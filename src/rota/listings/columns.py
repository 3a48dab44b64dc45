"""Formats of ``squeue``, ``sinfo`` and ``sprio``, and the tables that they describe.

``-o`` takes ``%[.][size]letter``, with text in between; several percent signs count as one. ``-O`` takes
``name[:[.][size][suffix]]``, separated by commas; a column is 20 characters wide unless there is a colon. A size of 0
is the text's own width. Longer text is cut, a point aligns to the right.

As in Slurm, a letter that is not known is an error on standard error and appears literally, and a name that is not
known is an error and left out; both do not change the exit code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from rota.commands.getopt import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")
_FIELD = re.compile(r"%+(?P<right>\.?)(?P<size>\d*)(?P<letter>[^%]?)(?P<suffix>[^%]*)", re.ASCII | re.DOTALL)
_NAMED = re.compile(r"(?P<right>\.?)(?P<size>\d*)(?P<suffix>.*)", re.ASCII | re.DOTALL)
#: Most fields of a format, and characters of their sizes together: a listing must not keep a controller busy.
_MOST_FIELDS = 500
_WIDEST = 8192
_DEFAULT_SIZE = 20


class Column(NamedTuple, Generic[T]):
    """A column: its heading, and the function that gives a record's text."""

    heading: str
    text: Callable[[T], str]
    #: Gives the value by which records are sorted; ``None``: the text.
    key: Callable[[T], float | str | tuple[float, ...]] | None = None
    #: Whether text, and the heading, are cut to the width.
    cut: bool = True
    cut_heading: bool = True


class Field(NamedTuple, Generic[T]):
    """A column in a format."""

    #: ``None``: only the suffix is printed.
    column: Column[T] | None
    #: Width to which text is padded and cut; 0: its own width.
    size: int
    right: bool
    suffix: str

    def heading(self) -> str:
        """Give the heading, padded and cut, with the suffix."""
        text = "" if self.column is None else self.column.heading
        if self.size and self.column is not None:
            text = text[: self.size] if self.column.cut_heading else text
            text = text.rjust(self.size) if self.right else text.ljust(self.size)
        return text + self.suffix

    def template(self) -> str:
        """Give the field for the operator ``%``, which pads and cuts: ``%-9.9s``."""
        suffix = self.suffix.replace("%", "%%")
        if self.column is None:
            return suffix
        if not self.size:
            return f"%s{suffix}"
        cut = f".{self.size}" if self.column.cut else ""
        return f"%{'' if self.right else '-'}{self.size}{cut}s{suffix}"


class Format(NamedTuple, Generic[T]):
    """A parsed format."""

    #: Text before the first field.
    prefix: str
    fields: list[Field[T]]
    #: Letters or names that are not known.
    unknown: list[str]


def parse_format(text: str, columns: Mapping[str, Column[T]]) -> Format[T]:
    """Parse the value of ``-o``. The key ``all`` of the columns, if there, lists the letters of ``%all``."""
    start = text.find("%")
    if start < 0:
        return Format(text, [], [])
    fields: list[Field[T]] = []
    unknown = []
    room = _WIDEST
    for match in _FIELD.finditer(text, start):
        letter, suffix = match["letter"], match["suffix"]
        column = columns.get(letter)
        if column is not None:
            size = _size(match["size"], room)
            room -= size
            fields.append(Field(column, size, bool(match["right"]), suffix))
        elif letter or match["size"]:
            unknown.append(letter)
            fields.append(Field(None, 0, right=False, suffix="%" + (letter or match["size"]) + suffix))
    return _checked(Format(text[:start], fields, unknown))


def parse_named_format(text: str, columns: Mapping[str, Column[T]]) -> Format[T]:
    """Parse the value of ``-O``."""
    fields: list[Field[T]] = []
    unknown = []
    room = _WIDEST
    for word in text.split(","):
        name, colon, rest = word.partition(":")
        column = columns.get(name.strip().lower())
        if column is None:
            unknown += [name] if name else []
            continue
        match = _NAMED.fullmatch(rest)
        if not colon or match is None:
            fields.append(Field(column, _DEFAULT_SIZE, right=False, suffix=""))
        else:
            size = _size(match["size"], room)
            room -= size
            fields.append(Field(column, size, bool(match["right"]), match["suffix"]))
    return _checked(Format("", fields, unknown))


def _checked(form: Format[T]) -> Format[T]:
    if len(form.fields) > _MOST_FIELDS:
        raise UsageError(f"error: a format has at most {_MOST_FIELDS} fields in rota\n")
    return form


def _size(digits: str, room: int) -> int:
    size = int(digits[:9] or 0)
    return min(size, max(room, 1)) if size else 0


def table(form: Format[T], records: Sequence[T], *, header: bool) -> str:
    """Format records as a table, a line each. One operator pads and cuts all fields of a line."""
    lines = [form.prefix + "".join(one.heading() for one in form.fields)] if header else []
    template = form.prefix.replace("%", "%%") + "".join(one.template() for one in form.fields)
    columns = [map(one.column.text, records) for one in form.fields if one.column is not None]
    if columns:
        lines += [template % cells for cells in zip(*columns, strict=True)]
    else:
        lines += [template % ()] * len(records)
    lines.append("")
    return "\n".join(lines)


def sort_records(records: list[T], keys: str, columns: Mapping[str, Column[T]]) -> str | None:
    """Sort in place: letters of the format, separated by commas, with ``-`` before those in descending order.

    Returns:
        The first key that is not known; ``None``: all are.
    """
    words: dict[str, str] = {}
    for word in filter(None, (word.strip() for word in keys.split(","))):
        words.setdefault(word.lstrip("+-"), word)  # a key counts where it stands first
    for word in reversed(words.values()):
        letter = word.lstrip("+-")
        column = columns.get(letter)
        if column is None:
            return letter
        records.sort(key=column.key or column.text, reverse=word.startswith("-"))
    return None
