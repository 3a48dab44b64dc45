"""Slurm's notations of times and limits."""

from __future__ import annotations

import re

#: Words for "no limit".
UNLIMITED = frozenset({"unlimited", "infinite", "-1"})
_TIME = re.compile(
    r"(?:(?P<days>\d+)-(?P<day_hours>\d+)(?::(?P<day_minutes>\d+)(?::(?P<day_seconds>\d+))?)?"
    r"|(?:(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+))"
    r"|(?P<only_minutes>\d+))"
)


#: Truth values of slurm.conf, in lower case.
FLAGS = {
    **dict.fromkeys(("yes", "up", "true", "1"), True),
    **dict.fromkeys(("no", "down", "false", "0"), False),
}


def parse_time_seconds(text: str) -> int | None:
    """Parse a time: ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours[:minutes[:seconds]]``.

    Returns:
        Seconds; ``None`` for ``UNLIMITED``, ``INFINITE`` or -1.

    Raises:
        ValueError: the text has none of these forms.
    """
    text = text.strip()
    if text.lower() in UNLIMITED:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED")
    part = {name: int(value or 0) for name, value in match.groupdict().items()}
    hours = part["days"] * 24 + part["day_hours"] + part["hours"]
    minutes = part["day_minutes"] + part["minutes"] + part["only_minutes"]
    return hours * 3600 + minutes * 60 + part["day_seconds"] + part["seconds"]
