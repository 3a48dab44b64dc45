"""How licences are written: ``matlab:2,ansys``, in slurm.conf and in requests."""

from __future__ import annotations

import re

_LICENSE = re.compile(r"(?P<name>[\w.@/-]+)(?:[:*](?P<count>\d{1,9}))?", re.ASCII)


def parse_licenses(text: str) -> dict[str, int]:
    """Count licences by name; without a count it is one.

    Raises:
        ValueError: not ``name[:count]``, separated by commas, or one is named twice.
    """
    found: dict[str, int] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        match = _LICENSE.fullmatch(item)
        if match is None:
            raise ValueError(f"{item!r} is not name[:count]; several are separated by commas")
        if match["name"] in found:
            raise ValueError(f"{match['name']} is named twice")
        found[match["name"]] = 1 if match["count"] is None else int(match["count"])
    return found
