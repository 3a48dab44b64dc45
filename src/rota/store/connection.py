"""Connections to a cluster's database, and the version of its tables.

SQLite writes ahead (WAL) and to the disk at every commit: what has been written outlives the process and the machine.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, inspect, select
from sqlalchemy.exc import ArgumentError

from rota.model import RotaError
from rota.store.schema import facts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

#: Name of the fact that is the version of the tables.
VERSION_FACT = "version"
#: Errors of SQLite by which a file is damaged.
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class DatabaseError(RotaError):
    """The database cannot be read or written: the disk is full, or the file is gone, damaged, or of another rota."""


def engine_of(url: str) -> Engine:
    """Make what opens connections.

    Raises:
        DatabaseError: the URL cannot be used.
    """
    try:
        engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    except (ArgumentError, ImportError) as error:
        raise DatabaseError(
            f"{url.partition(':')[0]}: {error} (PostgreSQL needs `pip install rota[postgresql]`)"
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def version_of(connection: Connection) -> int | None:
    """Give the version of the tables; ``None``: there are none, or they have not been finished."""
    if not inspect(connection).has_table(facts.name):
        return None
    version = connection.scalar(select(facts.c.value).where(facts.c.name == VERSION_FACT))
    return None if version is None else int(version)


def place_of(engine: Engine) -> str:
    """Say where a database is, without its password: the path of SQLite's file, else the URL."""
    is_file = engine.dialect.name == "sqlite" and engine.url.database
    return engine.url.database or "" if is_file else str(engine.url)


def cause(error: Exception) -> str:
    """Say in one line what is wrong; and, of a damaged file, what to do."""
    original = getattr(error, "orig", None) or error
    text = str(original).splitlines()[0]
    damaged = getattr(original, "sqlite_errorcode", None) in DAMAGED
    return f"{text}: see what can be saved with `rota recover`" if damaged else text


def _prepare_sqlite(connection: Any, _: object) -> None:
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {setting}")
