"""Formats of ``squeue`` and ``sprio``: ``%[.][size]type``, with text in between."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
_FIELD = re.compile(r"%+(?P<right>\.?)(?P<size>\d*)(?P<letter>[A-Za-z])(?P<suffix>[^%]*)")


class Column(NamedTuple, Generic[T]):
    """A column: its heading, and the function that gives a record's text."""

    heading: str
    text: Callable[[T], str]
    #: Gives the value by which records are sorted; ``None``: the text.
    key: Callable[[T], float | int | str] | None = None


class Field(NamedTuple, Generic[T]):
    """A column in a format."""

    column: Column[T]
    #: Width to which text is padded and cut; 0: its own width.
    size: int
    right: bool
    suffix: str

    def put(self, text: str) -> str:
        """Pad or cut text to the column's width."""
        if self.size:
            text = text[: self.size]
            text = text.rjust(self.size) if self.right else text.ljust(self.size)
        return text + self.suffix


def parse_format(text: str, columns: Mapping[str, Column[T]], command: str) -> tuple[str, list[Field[T]]]:
    """Parse a format.

    Returns:
        The text before the first field, and the fields.

    Raises:
        InputError: a letter is unknown.
    """
    start = text.find("%")
    if start < 0:
        raise InputError(f"{text!r} has no field: write for instance %i", field=f"{command} -o")
    fields, position = [], start
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None or match["letter"] not in columns:
            wrong = text[position : position + 8] if match is None else f"%{match['letter']}"
            raise InputError(f"no field {wrong!r}: there are %{' %'.join(sorted(columns))}", field=f"{command} -o")
        column = columns[match["letter"]]
        fields.append(Field(column, int(match["size"] or 0), bool(match["right"]), match["suffix"]))
        position = match.end()
    return text[:start], fields


def table(prefix: str, fields: list[Field[T]], records: Iterable[T], *, header: bool) -> str:
    """Format records as a table, a line each."""
    lines = [prefix + "".join(field.put(field.column.heading) for field in fields)] if header else []
    lines += [prefix + "".join(field.put(field.column.text(record)) for field in fields) for record in records]
    return "".join(f"{line}\n" for line in lines)


def sort_records(
    records: Iterable[T], keys: str, columns: Mapping[str, Column[T]], command: str, *, prefix: str = ""
) -> list[T]:
    """Sort by ``-S``: letters of the format, separated by commas, with ``-`` before those in descending order.

    Raises:
        InputError: a letter is unknown.
    """
    ordered = list(records)
    for word in reversed([word.strip() for word in f"{prefix}{keys}".split(",") if word.strip()]):
        letter = word.lstrip("+-")
        if letter not in columns:
            raise InputError(f"no sort key {word!r}: there are {' '.join(sorted(columns))}", field=f"{command} -S")
        column = columns[letter]
        ordered.sort(key=column.key or column.text, reverse=word.startswith("-"))
    return ordered
