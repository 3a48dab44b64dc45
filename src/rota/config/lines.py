"""The syntax of slurm.conf: logical lines of ``Key=Value`` pairs, with where they stand.

``#`` begins a comment unless a backslash is before it; a backslash at the end of a line continues it; ``Include`` reads
another file in place. Values may be quoted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMMENT = re.compile(r"(?<!\\)#.*")
_INCLUDE = re.compile(r"include\s+(?P<file>\S+)\s*", re.IGNORECASE)
_PAIR = re.compile(r"""(?P<key>[^\s=]+)\s*=\s*(?P<value>"[^"]*"|[^\s"]\S*|)\s*""")


class Pair(NamedTuple):
    """One ``Key=Value``."""

    #: As written.
    key: str
    #: Without quotes.
    value: str


class Line(NamedTuple):
    """One logical line that says something."""

    path: Path
    #: Of its first physical line, from 1.
    number: int
    pairs: tuple[Pair, ...]

    def error(self, problem: str, field: str | None = None) -> InputError:
        """Make the error that points here."""
        return InputError(problem, path=self.path, line=self.number, field=field)


def read_lines(path: Path, including: tuple[Path, ...] = ()) -> Iterator[Line]:
    """Read a file and those that it includes.

    Raises:
        InputError: it cannot be read, includes itself, or a line is not made of ``Key=Value`` pairs.
    """
    chain = (*including, path)
    if path.resolve() in {other.resolve() for other in including}:
        raise InputError(" includes ".join(str(one) for one in chain) + ": a file cannot include itself", path=path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(f"cannot be read: {problem}", path=path) from None
    for number, content in _logical_lines(text):
        include = _INCLUDE.fullmatch(content)
        if include is not None:
            yield from read_lines(path.parent / include["file"], chain)
        else:
            yield Line(path, number, _pairs(content, path, number))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines, drop comments and empty lines; give each with its number."""
    pending, begun = "", 0
    for number, physical in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", physical).rstrip()
        begun = begun or number
        if content.endswith("\\"):
            pending += content[:-1] + " "
            continue
        content = (pending + content).replace("\\#", "#").strip()
        if content:
            yield begun, content
        pending, begun = "", 0
    if pending.strip():
        yield begun, pending.strip()


def _pairs(content: str, path: Path, number: int) -> tuple[Pair, ...]:
    pairs, position = [], 0
    while position < len(content):
        match = _PAIR.match(content, position)
        if match is None:
            raise InputError(f"{content[position:]!r} is not Key=Value", path=path, line=number)
        pairs.append(Pair(match["key"], match["value"].strip('"')))
        position = match.end()
    return tuple(pairs)
