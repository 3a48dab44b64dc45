"""The comments of an SWF file, and what they say about the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rota.workload.checks import NUMBER, shown
from rota.workload.fields import LATEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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


#: A whole number; programs that write fractions everywhere write 64.0.
_WHOLE = r"([+-]?[0-9]{1,18})(?:\.0*)?"


def header_int(header: Sequence[str], key: str, *, least: int, most: int = LATEST) -> int | None:
    """Read the first line ``; key: number`` with a number in these bounds; ``None`` if there is none.

    Remarks after the number are ignored. Logs write -1 for unknown.
    """
    pattern = re.compile(rf"\s*;\s*{re.escape(key)}\s*:\s*{_WHOLE}(?!\S)", re.IGNORECASE)
    values = (int(match[1]) for line in header if (match := pattern.match(line)))
    return next((value for value in values if least <= value <= most), None)


def header_notes(path: Path, lines: Sequence[str]) -> list[str]:
    """Tell of what a header says that cannot be used, or may mean something else, a sentence each.

    Args:
        path: The file.
        lines: Its lines, of which only those are looked at that a replay heeds.
    """
    notes: list[str] = []
    first: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        match = _HEEDED(line) if ";" in line else None
        if match is None:
            continue
        key, text = _KEYS[match[1].lower()], match[2].strip()
        problem = _problem(key, text, first)
        if problem:
            notes.append(f"warning: {path}:{number}: {key}: {problem}")
    nodes, procs = (int(first.get(key, 0)) for key in ("MaxNodes", "MaxProcs"))
    if nodes > procs > 0:
        notes.append(f"warning: {path}: MaxNodes is {nodes}, and MaxProcs only {procs}, which is taken")
    return notes


_KEYS = {key.lower(): key for key in ("MaxProcs", "MaxNodes", "UnixStartTime", "TimeZoneString")}
_HEEDED = re.compile(rf"\s*;\s*({'|'.join(_KEYS)})\s*:(.*)", re.IGNORECASE | re.DOTALL).match


def _problem(key: str, text: str, first: dict[str, str]) -> str:
    """Say what is wrong with the value of a key; empty: nothing. Remember the first one that can be used."""
    words = text.split()
    if not words or words[0] == "-1":  # not known
        return ""
    value, least = words[0], int(key.startswith("Max"))
    if key == "TimeZoneString":
        if _zone_of(value) is None:
            return f"{shown(value)} is no time zone that is known here: times of day are UTC's; see --time-zone"
    elif (number := re.fullmatch(_WHOLE, value)) is None or not least <= int(number[1]) <= LATEST:
        return f"{shown(text)} is no whole number from {least} to {LATEST}: it is passed over"
    else:
        value = number[1]
        if len(words) > 1 and words[1][0].isdigit():
            return f"{shown(text)} are several numbers: {value} is taken"
    known = first.setdefault(key, value)
    if known != value:
        return f"it was {known} before, which is taken, and not {value}"
    return ""


_ZONE = re.compile(r"\s*;\s*TimeZoneString\s*:\s*(\S+)", re.IGNORECASE)


def time_zone(header: Sequence[str]) -> str:
    """Give the time zone in a log's header (``TimeZoneString``), or ``UTC`` if there is none that is known."""
    names = (match[1] for line in header if (match := _ZONE.match(line)))
    return next(filter(None, map(_zone_of, names)), "UTC")


def _zone_of(name: str) -> str | None:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # unknown, or no time zone data on this system
        return None
    return name
