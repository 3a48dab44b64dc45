"""The comments of an SWF file, and what they say about the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rota.workload.checks import NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_comment(line: str) -> bool:
    """Whether a line is a comment: the first character that is not blank is a semicolon."""
    return line.lstrip()[:1] == ";"


def body_start(lines: Sequence[str]) -> int:
    """Give the index of the first line after the header, ``len(lines)`` if there is none.

    Some simulators write a value of several lines into one comment, so that its later lines have no semicolon. Such
    lines belong to the header if they are between comments, and no line before them may be a job.
    """
    after_comment = 0
    for index, line in enumerate(lines):
        if is_comment(line):
            after_comment = index + 1
        elif _may_be_job(line):
            return index if _only_blank(lines[after_comment:index]) else after_comment
        elif not after_comment and line.strip():
            return index
    return after_comment


def _may_be_job(line: str) -> bool:
    """Whether a line may be a job: it begins with a number or is mostly numbers. Jobs with a mistake count too."""
    words = line.split()
    return bool(words) and (NUMBER.match(words[0]) is not None or 2 * sum(map(_is_number, words)) > len(words))


def _is_number(word: str) -> bool:
    return NUMBER.fullmatch(word) is not None


def _only_blank(lines: Sequence[str]) -> bool:
    return not any(line.strip() for line in lines)


def comments(lines: Sequence[str], *, wrapped: bool = False) -> list[str]:
    """Give the comments among some lines, unchanged, without line ends.

    Args:
        lines: Lines of the file, decoded as Latin-1 so that every byte is a character.
        wrapped: Whether other lines are parts of comments. They are given a semicolon.
    """
    found = []
    for line in lines:
        text = line.rstrip("\r").encode("latin-1").decode("utf-8", "surrogateescape")
        if is_comment(line):
            found.append(text)
        elif wrapped and line.strip():
            found.append(f"; {text}")
    return found


def header_int(header: Sequence[str], key: str, *, least: int) -> int | None:
    """Read the first line ``; key: number`` with a number of at least ``least``; ``None`` if there is none.

    Remarks after the number are ignored. Logs write -1 for unknown.
    """
    pattern = re.compile(rf"\s*;\s*{re.escape(key)}\s*:\s*([+-]?[0-9]+)(?!\S)", re.IGNORECASE)
    values = (int(match[1]) for line in header if (match := pattern.match(line)))
    return next((value for value in values if value >= least), None)


_ZONE = re.compile(r";\s*TimeZoneString:\s*(\S+)")


def time_zone(header: Sequence[str]) -> str:
    """Give the time zone in a log's header (``TimeZoneString``), or ``UTC`` if there is none that is known."""
    match = next(filter(None, map(_ZONE.match, header)), None)
    if match is not None:
        try:
            ZoneInfo(match[1])
        except (KeyError, OSError, ValueError):  # unknown, or no time zone data on this system
            return "UTC"
        return match[1]
    return "UTC"
