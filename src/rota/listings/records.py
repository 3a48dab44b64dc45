"""Records of ``scontrol show``: words ``Key=value`` on several lines, or on one with ``-o``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def record(lines: Iterable[str], *, one_line: bool, indent: str = "   ", end: str = "\n\n") -> str:
    """Put the lines of a record together.

    Args:
        lines: Its lines; an empty one may be the last.
        one_line: ``-o``.
        indent: What stands before all lines but the first.
        end: What stands after the record, unless it is on one line.
    """
    if one_line:
        return " ".join(line.strip(" ") if line.startswith(" ") else line for line in lines) + "\n"
    return f"\n{indent}".join(lines) + end
