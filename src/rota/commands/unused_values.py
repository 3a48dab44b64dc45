"""Values of options that do nothing here, which Slurm's commands check nevertheless.

Each function gives the text as it is.
"""

from __future__ import annotations

import re

from rota.model.units import parse_time_seconds

#: Kinds of measurement, each with seconds; seconds alone are those of tasks.
_FREQUENCY = re.compile(r"(?:(?:task|energy|network|filesystem)=)?\d+", re.IGNORECASE | re.ASCII)
_RLIMITS = frozenset(["AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"])
_MEMORY = re.compile(
    r"q|quiet|v|verbose|no|none|rank|local|sort|nosort|p|prefer|(?:map_?mem|mask_?mem|map|mask):.+", re.IGNORECASE
)


def measuring(text: str) -> str:
    """Check a value of ``--acctg-freq``: ``30``, ``task=30,energy=60``."""
    for word in text.split(","):
        if _FREQUENCY.fullmatch(word) is None:
            raise ValueError
    return text


def boot_delay(text: str) -> str:
    """Check a value of ``--delay-boot``, a time."""
    try:
        parse_time_seconds(text)
    except ValueError:
        raise ValueError from None
    return text


def resource_limits(text: str) -> str:
    """Check a value of ``--propagate``: ``ALL``, ``NONE``, or names of limits, with or without ``RLIMIT_``."""
    if text.upper() not in {"", "ALL", "NONE"}:
        for word in text.upper().split(","):
            if word.removeprefix("RLIMIT_") not in _RLIMITS:
                raise ValueError
    return text


def memory_binding(text: str) -> str:
    """Check a value of ``--mem-bind``: what is done, and ``quiet`` or ``verbose``, joined by commas or semicolons."""
    # Commas join the numbers of a map, too.
    for word in re.split(r"[,;](?!0x|\d)", text):
        if _MEMORY.fullmatch(word) is None:
            raise ValueError
    return text
