"""Lists in command lines."""

from __future__ import annotations

import re

_MARKS = re.compile(r"[\[\],]")


def split_list(text: str) -> list[str]:
    """Split a list at the commas that are not in brackets: ``n[1,3],m`` is ``n[1,3]`` and ``m``.

    Empty items are left out. Linear in the length of the text, unlike a regular expression that looks ahead.
    """
    if "[" not in text:
        return [item for item in text.split(",") if item]
    found = []
    begin, depth = 0, 0
    for match in _MARKS.finditer(text):
        if match[0] == "[":
            depth += 1
        elif match[0] == "]":
            depth = max(depth - 1, 0)
        elif not depth:
            found.append(text[begin : match.start()])
            begin = match.end()
    found.append(text[begin:])
    return [item for item in found if item]
