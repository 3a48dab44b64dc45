"""Names of signals: with or without SIG, in any case."""

from __future__ import annotations

from signal import Signals


def signal_number(name: str) -> int | None:
    """Give the number of a signal; ``None``: there is none of this name."""
    found = Signals.__members__.get(f"SIG{name.upper().removeprefix('SIG')}")
    return None if found is None else int(found)
