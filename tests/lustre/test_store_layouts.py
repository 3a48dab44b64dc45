"""Stores that an older rota has written."""

from __future__ import annotations

import sqlite3
from array import array
from typing import TYPE_CHECKING

from rota.lustre.counters import Changes, EntryKey, Seen, Standing
from rota.lustre.store import Reader, Writer, tiers_of

if TYPE_CHECKING:
    from pathlib import Path

_TIERS = tiers_of(10)


def test_a_store_of_layout_4_is_taken_over(tmp_path: Path) -> None:
    Writer(tmp_path, _TIERS).close()
    database = sqlite3.connect(tmp_path / "activity.sqlite")
    database.executescript("DROP TABLE seen; DROP TABLE standings; PRAGMA user_version = 4;")
    database.close()
    writer = Writer(tmp_path, _TIERS)
    assert writer.remembered() == ({}, {})
    writer.close()
    assert Reader(tmp_path).look().until == 0


def test_what_a_store_of_layout_5_remembers_is_taken_over(tmp_path: Path) -> None:
    """It had one entry of each job on each target."""
    standing = Standing(("open",), array("q", (3, 70)), 1.7e9, None, unsure=True)
    changes = Changes({"fs-OST0000": Seen(1.0, 2.0, 3.0)}, {EntryKey("fs-OST0000", "7"): standing})
    writer = Writer(tmp_path, _TIERS)
    writer.write([], 10, changes)
    writer.close()
    database = sqlite3.connect(tmp_path / "activity.sqlite")
    database.executescript("""
        CREATE TABLE old (
          target BLOB NOT NULL, job BLOB NOT NULL, start_time REAL, snapshot_time REAL, unsure INTEGER NOT NULL,
          names TEXT NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (target, job)
        ) WITHOUT ROWID;
        INSERT INTO old SELECT target, job, start_time, snapshot_time, unsure, names, numbers FROM standings;
        DROP TABLE standings;
        ALTER TABLE old RENAME TO standings;
        PRAGMA user_version = 5;
    """)
    database.close()
    writer = Writer(tmp_path, _TIERS)
    assert writer.remembered() == changes
    writer.close()
