"""The notation of licences in slurm.conf and in requests: ``matlab:2,ansys``."""

from __future__ import annotations

import re

_LICENSE = re.compile(r"(?P<name>[\w.@/-]+)(?:[:*](?P<count>\d{0,9}))?", re.ASCII)


def parse_licenses(text: str) -> dict[str, int]:
    """Count licences by name. The count is 1 if it is left out; counts of the same name are added.

    Raises:
        ValueError: the text is not ``name[:count]``, separated by commas or semicolons.
    """
    found: dict[str, int] = {}
    for item in filter(None, (item.strip() for item in re.split("[,;]", text))):
        match = _LICENSE.fullmatch(item)
        if match is None:
            raise ValueError(f"Invalid license specification: {item!r} is not name[:count]")
        found[match["name"]] = found.get(match["name"], 0) + int(match["count"] or 1)
    return found
