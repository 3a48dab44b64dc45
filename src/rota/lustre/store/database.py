"""The file of the store: SQLite with a write-ahead log.

One process writes, any number read, each in a transaction of its own, so that what they see belongs together. What was
committed survives the end of the process at any moment; after a loss of power the last seconds may be missing, and the
file is whole.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "activity.sqlite"
#: Written as SQLite's user_version: another layout gets another number.
_LAYOUT = 6
#: Seconds to wait while another process has the file.
_PATIENCE = 10.0
_SCHEMA = """
CREATE TABLE tiers (step INTEGER PRIMARY KEY, low INTEGER NOT NULL, high INTEGER NOT NULL);
CREATE TABLE segments (
  step INTEGER NOT NULL, start INTEGER NOT NULL, operation INTEGER NOT NULL, version INTEGER NOT NULL,
  data BLOB NOT NULL, by_job BLOB, by_target BLOB, UNIQUE (step, start, operation)
);
CREATE TABLE operations (code INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE targets (code INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE jobs (code INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE summaries (
  job INTEGER NOT NULL, operation INTEGER NOT NULL, samples INTEGER NOT NULL, total INTEGER NOT NULL,
  PRIMARY KEY (job, operation)
) WITHOUT ROWID;
CREATE TABLE labels (job INTEGER PRIMARY KEY, fields TEXT NOT NULL, version INTEGER NOT NULL);
CREATE INDEX labels_version ON labels (version);
"""
#: What counting goes on from. Names are kept as they are: what did nothing yet has no code. Of entries that another has
#: replaced, `replaced` is when they were made; of all others it is -1.
_SEEN = """
CREATE TABLE seen (target BLOB PRIMARY KEY, first REAL, whole REAL, last REAL NOT NULL) WITHOUT ROWID;
"""
_STANDINGS = """
CREATE TABLE standings (
  target BLOB NOT NULL, job BLOB NOT NULL, replaced REAL NOT NULL, start_time REAL, snapshot_time REAL,
  unsure INTEGER NOT NULL, names TEXT NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (target, job, replaced)
) WITHOUT ROWID;
"""
_TAKE_OVER = """
INSERT INTO standings SELECT target, job, -1, start_time, snapshot_time, unsure, names, numbers FROM standings_5;
DROP TABLE standings_5;
"""
#: By layout, what makes this one of it; 0: there is nothing yet.
_UPGRADES = {
    0: _SCHEMA + _SEEN + _STANDINGS,
    4: _SEEN + _STANDINGS,
    5: "ALTER TABLE standings RENAME TO standings_5;" + _STANDINGS + _TAKE_OVER,
}


def open_to_write(folder: Path) -> sqlite3.Connection:
    """Open the file, and make it if there is none.

    Raises:
        InputError: it cannot be made or opened.
    """
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.geteuid():
            raise InputError("this directory is another user's, who could have files there that mislead", path=folder)
        folder.chmod(0o700)  # ids may have users' names in them
        made = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        path.chmod(0o600)
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = NORMAL")
        _make(made, path)
    except (OSError, sqlite3.DatabaseError) as error:
        raise InputError(f"the store cannot be opened: {error}", path=path) from None
    return made


def _make(made: sqlite3.Connection, path: Path) -> None:
    (layout,) = made.execute("PRAGMA user_version").fetchone()
    if layout in _UPGRADES:
        made.executescript(f"BEGIN; {_UPGRADES[layout]} PRAGMA user_version = {_LAYOUT}; COMMIT;")
    elif layout != _LAYOUT:
        raise InputError(f"the store has layout {layout}, which this version cannot read", path=path)


def open_to_read(folder: Path) -> sqlite3.Connection:
    """Open the file in a transaction, in which it does not change.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    path = folder / FILE
    try:
        made = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE, isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(f"there is no store, `rota jobstats serve` makes one: {error}", path=path) from None
    try:
        made.execute("BEGIN")
        (layout,) = made.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        made.close()
        raise InputError(f"the store cannot be read: {error}", path=path) from None
    if layout != _LAYOUT:
        made.close()
        raise InputError(f"the store has layout {layout}, which this version cannot read", path=path)
    return made
