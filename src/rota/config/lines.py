"""The syntax of slurm.conf: logical lines of ``Key=Value`` pairs, with file and line number.

``#`` begins a comment. A backslash escapes the next character; at the end of a line it continues the line. Values with
blanks are in double quotes; a list of values in quotes, ``"a=1","b=2"``, keeps them. ``Include`` inserts another file.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_COMMENT = re.compile(r"\A(?P<content>(?:[^\\#]|\\.)*+)#.*")
#: A line that ends in a backslash that is not itself escaped.
_CONTINUED = re.compile(r"(?:[^\\]|\\.)*\\")
_ESCAPED = re.compile(r"\\(.)")
_INCLUDE = re.compile(r"include\s+(?P<file>\S+)", re.IGNORECASE)
#: Slurm treats ``+=`` and the like as ``=``, except in a few keys of newer releases.
_PAIR = re.compile(
    r"""(?P<key>[\w.]+)\s*[-+*/]?=\s*(?P<value>"[^"]*"(?!\S)|(?P<list>"[^"\s]*"(?:,"[^"\s]*")+)(?!\S)|[^\s"]\S*)?\s*""",
    re.ASCII,
)
#: Number of characters of a bad line that its error message quotes.
_QUOTED = 60
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Pair(NamedTuple):
    """One ``Key=Value``."""

    #: Key as written.
    key: str
    #: Value without quotes.
    value: str


class Line(NamedTuple):
    """A logical line, comments and blank lines excepted."""

    path: Path
    #: Number of its first physical line, from 1; 0: it is in no file.
    number: int
    pairs: tuple[Pair, ...]
    #: Values that are set by ``--set``: the text of the setting, by lower-case key, with ``.option`` of an option.
    settings: Mapping[str, str] = _NO_SETTINGS

    def error(self, problem: str, field: str | None = None) -> InputError:
        """Make an error that names this line, or the setting of the key."""
        if field is not None and field.lower() in self.settings:
            return InputError(problem, path=f"--set {self.settings[field.lower()]}", field=field)
        if not self.number:
            return InputError(problem, field=field)
        return InputError(problem, path=self.path, line=self.number, field=field)

    def warning(self, problem: str, field: str) -> str:
        """Make a warning that names this line."""
        return str(self.error(problem, field))


def read_lines(path: Path) -> Iterator[Line]:
    """Read a file and the files that it includes.

    Raises:
        InputError: a file cannot be read or includes itself, or a line is not made of ``Key=Value`` pairs.
    """
    return _Reader().read(path, _text(path), (path,))


class _Reader:
    def __init__(self) -> None:
        #: The last ``ClusterName`` so far, for ``Include file_%c``.
        self.cluster_name = ""

    def read(self, path: Path, text: str, chain: tuple[Path, ...]) -> Iterator[Line]:
        for number, content in _logical_lines(text):
            include = _INCLUDE.fullmatch(content)
            if include is not None:
                yield from self._include(include["file"], Line(path, number, ()), chain)
                continue
            line = Line(path, number, pairs_of(content, path, number))
            for key, value in line.pairs:
                if key.lower() == "clustername":
                    self.cluster_name = value.lower()
            yield line

    def _include(self, name: str, line: Line, chain: tuple[Path, ...]) -> Iterator[Line]:
        """Read a file that is included; its path is relative to the including file."""
        path = line.path.parent / name.replace("%c", self.cluster_name)
        if path.resolve() in {other.resolve() for other in chain}:
            files = " includes ".join(str(one) for one in (*chain, path))
            raise line.error(f"{files}: a file cannot include itself", "Include")
        try:
            text = _text(path)
        except InputError as error:
            raise line.error(f"{path} {error.problem}", "Include") from None
        yield from self.read(path, text, (*chain, path))


def _text(path: Path) -> str:
    try:
        # What is not UTF-8 is in comments as a rule, and Slurm ignores it.
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines and drop comments and blank lines. Each line comes with the number of its first."""
    pending, begun = "", 0
    for number, physical in enumerate(text.split("\n"), start=1):
        content = _COMMENT.sub(r"\g<content>", physical).rstrip()
        begun = begun or number
        if _CONTINUED.fullmatch(content):
            # No blank is inserted: a long value may be continued at the very beginning of the next line.
            pending += content[:-1]
            continue
        content = _ESCAPED.sub(r"\1", pending + content).strip()
        if content:
            yield begun, content
        pending, begun = "", 0
    if pending.strip():
        yield begun, pending.strip()


def pairs_of(content: str, path: Path, number: int) -> tuple[Pair, ...]:
    """Split a logical line into its pairs.

    Raises:
        InputError: it is not made of ``Key=Value`` pairs.
    """
    pairs, position = [], 0
    while position < len(content):
        match = _PAIR.match(content, position)
        if match is None:
            problem = f"{content[position : position + _QUOTED]!r} is not Key=Value; values with blanks need quotes"
            raise InputError(problem, path=path, line=number)
        key, value = match["key"], match["value"]
        if value is None:
            rest = content[match.end() : match.end() + _QUOTED]
            problem = f'the quotes of {rest} do not enclose it: write Key="…"' if rest else "has no value"
            raise InputError(problem, path=path, line=number, field=key)
        pairs.append(Pair(key, value[1:-1] if value.startswith('"') and not match["list"] else value))
        position = match.end()
    return tuple(pairs)
