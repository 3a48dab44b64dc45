"""Where the database of a cluster is: in its state directory, or where a file there says."""

from __future__ import annotations

from pathlib import Path

#: Name of the SQLite database in a state directory, and of the file with the URL of another one.
_SQLITE, _ELSEWHERE = "rota.db", "database"


def database_url(state: Path) -> str:
    """Give the URL of a cluster's database."""
    elsewhere = state / _ELSEWHERE
    if elsewhere.exists():
        return elsewhere.read_text(encoding="utf-8").strip()
    return f"sqlite:///{state.absolute() / _SQLITE}"


def set_database_url(state: Path, url: str) -> None:
    """Note that the database is elsewhere; only the owner can read where, as the URL may have a password."""
    elsewhere = state / _ELSEWHERE
    elsewhere.touch(mode=0o600)
    elsewhere.write_text(f"{url}\n", encoding="utf-8")


def sqlite_path(url: str) -> Path | None:
    """Give the path of an SQLite database; ``None``: it is another one."""
    _, is_sqlite, path = url.partition("sqlite:///")
    return Path(path) if is_sqlite else None


def is_state(path: Path) -> bool:
    """Whether a path is the state directory of a live cluster."""
    return (path / _SQLITE).is_file() or (path / _ELSEWHERE).is_file()
