"""Texts of others, as they are shown: users, workloads, configurations and plugins may put anything into a name."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Write control characters, and all else that is not for printing, as ``\xHH`` and ``\uHHHH``."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def printable_lines(text: str) -> str:
    """Do the same with each line of a text, and leave tabs as they are."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
