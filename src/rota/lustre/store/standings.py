"""What counting goes on from after a restart: the counters of each job on each target as they were counted last.

It is written in the transaction that has the activities which led there, so that nothing is lost or counted twice,
whenever the process ends. Only what has changed is written.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

from rota.lustre.counters import Changes, EntryKey, Seen, Standing
from rota.lustre.store.names import bytes_of

if TYPE_CHECKING:
    import sqlite3

#: Stands for an entry that none has replaced.
_LATEST = -1.0


def remember(connection: sqlite3.Connection, changes: Changes) -> None:
    """Keep what has changed; the caller begins and ends the transaction."""
    connection.executemany(
        "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)",
        [(bytes_of(target), *seen) for target, seen in changes.targets.items()],
    )
    connection.executemany(
        "DELETE FROM standings WHERE target = ? AND job = ? AND replaced = ?",
        [_row(key) for key, one in changes.jobs.items() if one is None],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO standings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *_row(key),
                one.start_time,
                one.snapshot_time,
                one.unsure,
                " ".join(one.names),
                _little(one.numbers).tobytes(),
            )
            for key, one in changes.jobs.items()
            if one is not None
        ],
    )


def remembered(connection: sqlite3.Connection) -> Changes:
    """Give all that is kept."""
    targets = {
        target.decode(): Seen(*seen)
        for target, *seen in connection.execute("SELECT target, first, whole, last FROM seen")
    }
    jobs: dict[EntryKey, Standing | None] = {}
    alike: dict[str, tuple[str, ...]] = {}
    rows = connection.execute("SELECT * FROM standings")
    for target, job, replaced, start, snapshot, unsure, names, numbers in rows:
        words = alike.setdefault(names, tuple(names.split()))
        key = EntryKey(target.decode(), job.decode(), None if replaced == _LATEST else replaced)
        jobs[key] = Standing(words, _little(array("q", numbers)), start, snapshot, bool(unsure))
    return Changes(targets, jobs)


def _row(key: EntryKey) -> tuple[bytes, bytes, float]:
    return bytes_of(key.target), bytes_of(key.job_id), _LATEST if key.replaced is None else key.replaced


def _little(numbers: array[int]) -> array[int]:
    """Give numbers from this machine's order of bytes in the file's, and back."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers
