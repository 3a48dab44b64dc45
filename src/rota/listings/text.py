r"""Texts in columns: sizes, and what users have written.

What users have written, such as a job's name, may hold anything. Characters that end, overwrite or reorder a line are
shown as escapes, ``\n``, so that a record stays on its line and its columns in order; Slurm prints them as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Characters that end a line for some reader, control a terminal, or set the direction of what follows.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_UNITS = " KMGTPEZ"
#: What Slurm prints for a text that is not there.
NULL = "(null)"


def plain(text: str) -> str:
    """Escape the characters that would break a line."""
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def or_null(text: str) -> str:
    """Give a text of a user, or ``(null)`` if it is empty."""
    return plain(text) if text else NULL


# ---- sizes ------------------------------------------------------------------------------------------------------


def size(count: float, unit: str = "", *, convert: bool = True, target: str = "") -> str:
    """Format a size as Slurm does: ``100M``, ``1G``, ``62.50G``.

    A larger unit is used as long as the size is then a whole number or ends in one half.

    Args:
        count: The size.
        unit: Its unit: ``K``, ``M``, …; empty: bytes, or a plain number.
        convert: Whether a larger unit may be used.
        target: The unit to use in any case.
    """
    place = _UNITS.index(unit or " ")
    if target:
        wanted = _UNITS.index(target.upper())
        count, place = count * 1024.0 ** (place - wanted), wanted
    elif convert:
        while count >= 1024 and count % 512 == 0 and place < len(_UNITS) - 1:
            count, place = count / 1024, place + 1
    number = f"{int(count)}" if count == int(count) else f"{count:.2f}"
    return number + _UNITS[place].strip()


def weights_text(weights: Mapping[str, float]) -> str:
    """Format ``TRESBillingWeights``; that of memory, which is for a MiB, for a GiB."""
    return ",".join(f"mem={one * 1024:g}G" if name == "mem" else f"{name}={one:g}" for name, one in weights.items())


def tres_text(counts: Mapping[str, int], names: tuple[str, ...] = (), *, convert: bool = True, target: str = "") -> str:
    """Format counts of TRES, ``cpu=8,mem=800M,node=2,billing=8``, in the order of ``names``, or else in their own."""
    ordered = [name for name in names if name in counts] or list(counts)
    return ",".join(
        f"{name}={size(counts[name], 'M', convert=convert, target=target) if name == 'mem' else counts[name]}"
        for name in ordered
    )
