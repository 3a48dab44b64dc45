"""The logs that come with rota. Their source is named in ``data/README.md``."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).parent / "data"
_FILES = {"KTH-SP2": "KTH-SP2-1996-2.swf.gz"}


def bundled_names() -> tuple[str, ...]:
    """Name the bundled logs."""
    return tuple(_FILES)


def bundled(name: str) -> Path | None:
    """Find a bundled log by its name, in any case; ``None`` if there is none of this name."""
    files = {key.casefold(): file for key, file in _FILES.items()}
    file = files.get(name.casefold())
    return None if file is None else _DATA / file
