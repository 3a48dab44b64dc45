"""The logs that come with rota, so that it has something real to show at once; ``data/README.md`` says whose."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).parent / "data"
_FILES = {"KTH-SP2": "KTH-SP2-1996-2.swf.gz"}


def bundled_names() -> tuple[str, ...]:
    """Name the logs that come with rota."""
    return tuple(_FILES)


def bundled(name: str) -> Path | None:
    """Find a log that comes with rota by its name, upper or lower case; ``None`` if there is none of that name."""
    files = {key.casefold(): file for key, file in _FILES.items()}
    file = files.get(name.casefold())
    return None if file is None else _DATA / file
