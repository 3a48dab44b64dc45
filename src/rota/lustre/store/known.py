"""What is known of jobs, as it is read: all fields of a few, or one field of many; remembered until it changes.

Many jobs are grouped by one field, of the dozen that each has, so that SQLite takes it out of the texts, which is twice
as fast as to read these; and what is remembered of it is a number for each job.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.store.veil import Veil

#: Jobs of which all fields are remembered; single fields that are; and different values of one.
_LABELLED, _COLUMNS, _VALUES = 200_000, 8, 500_000
#: Names that are the same in JSON as they are, so that SQLite finds them there. Its versions differ in others.
_is_plain = re.compile(r"[ !#-\[\]-~]+").fullmatch
_ALL = "SELECT job, fields FROM labels WHERE job IN (SELECT value FROM json_each(?))"
#: Of two paths SQLite gives a list, in JSON, in which a value is still what it was: of one it would give 1 for true.
_ONE = "SELECT job, json_extract(fields, ?2, ?2) FROM labels WHERE job IN (SELECT value FROM json_each(?1))"


def shown(value: object) -> str:
    """Give a value of a field as the name of a group; empty: it is not known."""
    return "" if value is None else str(value)


class Values(NamedTuple):
    """A field of some jobs."""

    #: Different values as names of groups, the empty one first.
    texts: Sequence[str]
    #: Of each job, the place of its own among them.
    of: NDArray[np.int64]


class _Column:
    """A field of all jobs that were asked about."""

    def __init__(self) -> None:
        self.texts = [""]
        self._places = {"": 0}
        #: By job, the place of its value; -1: it is to be looked up.
        self._of = np.zeros(0, dtype=np.int32)

    def of(self, jobs: NDArray[np.int64]) -> NDArray[np.int32]:
        """Give the places of jobs' values."""
        self._grow(int(jobs.max(initial=-1)) + 1)
        return self._of[jobs]

    def put(self, jobs: Sequence[int], values: Sequence[str]) -> None:
        """Take what the values of jobs are."""
        for text in values:
            if text not in self._places:
                self._places[text] = len(self.texts)
                self.texts.append(text)
        self._of[jobs] = [self._places[text] for text in values]

    def forget(self, jobs: Sequence[int]) -> None:
        """Have jobs looked up again."""
        self._of[[job for job in jobs if job < len(self._of)]] = -1

    def _grow(self, size: int) -> None:
        if size > len(self._of):
            more = np.full(max(size, 2 * len(self._of)) - len(self._of), -1, dtype=np.int32)
            self._of = np.concatenate((self._of, more))


class Known:
    """What is known of jobs. Any number of threads may use it.

    Args:
        veil: Hides who jobs are; ``None``: they are shown.
    """

    def __init__(self, veil: Veil | None) -> None:
        self._veil = veil
        self._fields: dict[int, Mapping[str, Any]] = {}
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        #: Up to which what is remembered is current; ``None``: nothing is remembered.
        self._version: int | None = None
        self._lock = Lock()

    def fields(self, connection: sqlite3.Connection, jobs: Sequence[int]) -> list[Mapping[str, Any]]:
        """Give all fields of jobs."""
        with self._lock:
            known = self._fields if self._is_current(connection) else {}
            if len(known) > _LABELLED:
                known.clear()
            missing = [job for job in jobs if job not in known]
            known.update((job, {}) for job in missing)
            for job, text in connection.execute(_ALL, (json.dumps(missing),)):
                known[job] = self._veiled(json.loads(text))
            return [known[job] for job in jobs]

    def values(self, connection: sqlite3.Connection, field: str, jobs: NDArray[np.int64]) -> Values:
        """Give one field of jobs."""
        with self._lock:
            column = self._column(field) if self._is_current(connection) else _Column()
            missing = jobs[column.of(jobs) < 0].tolist()
            if missing:
                found = dict(self._looked_up(connection, field, missing))
                column.put(missing, [found.get(job, "") for job in missing])
            return Values(column.texts, column.of(jobs).astype(np.int64))

    def _is_current(self, connection: sqlite3.Connection) -> bool:
        """Forget what has changed, and say whether a look may use what is remembered.

        One that began earlier than another sees less than is remembered, which is not to be remembered.
        """
        (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM labels").fetchone()
        if self._version is None:
            self._version = version
        if version > self._version:
            rows = connection.execute("SELECT job FROM labels WHERE version > ?", (self._version,))
            changed = [job for (job,) in rows]
            for job in changed:
                self._fields.pop(job, None)
            for column in self._columns.values():
                column.forget(changed)
            self._version = version
        return bool(version == self._version)

    def _column(self, field: str) -> _Column:
        found = self._columns.pop(field, None)
        if found is None or len(found.texts) > _VALUES:
            found = _Column()
        self._columns[field] = found
        if len(self._columns) > _COLUMNS:
            self._columns.popitem(last=False)
        return found

    def _looked_up(self, connection: sqlite3.Connection, field: str, jobs: Sequence[int]) -> Iterator[tuple[int, str]]:
        if not _is_plain(field):
            for job, text in connection.execute(_ALL, (json.dumps(jobs),)):
                yield job, shown(self._veiled(json.loads(text)).get(field))
            return
        read: dict[str, str] = {}
        for job, text in connection.execute(_ONE, (json.dumps(jobs), f'$."{field}"')):
            if text not in read:
                value, _ = json.loads(text)
                read[text] = shown(self._veiled({field: value})[field])
            yield job, read[text]

    def _veiled(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return fields if self._veil is None else self._veil.fields(fields)
