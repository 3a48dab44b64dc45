"""Numbers for the names of operations, targets and jobs, so that what was counted is numbers alone.

A name is kept as bytes, as SQLite's texts end at a zero. The numbers of a table are all from 0 up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.lustre.store.segment import MOST_JOBS, MOST_OPERATIONS, MOST_TARGETS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

#: Names that are remembered.
_REMEMBERED = 500_000


class Table(NamedTuple):
    """A table of names."""

    #: Gives how many there are.
    number: str
    #: Gives the code of a name.
    select: str
    #: Takes code, name, and the moment at which it came.
    insert: str
    #: How many there may be.
    most: int


OPERATIONS = Table(
    "SELECT count(*) FROM operations",
    "SELECT code FROM operations WHERE name = ?",
    "INSERT INTO operations VALUES (:code, :name)",
    MOST_OPERATIONS,
)
TARGETS = Table(
    "SELECT count(*) FROM targets",
    "SELECT code FROM targets WHERE name = ?",
    "INSERT INTO targets VALUES (:code, :name)",
    MOST_TARGETS,
)
JOBS = Table(
    "SELECT coalesce(max(code), -1) + 1 FROM jobs",
    "SELECT code FROM jobs WHERE name = ?",
    "INSERT INTO jobs VALUES (:code, :name, :moment, :moment)",
    MOST_JOBS,
)


def bytes_of(name: str) -> bytes:
    """Give a name as it is kept."""
    return name.encode(errors="replace")


class Codes:
    """Gives each name of a table its number.

    Args:
        connection: To the store; the caller begins and ends transactions.
        table: Which names.
    """

    def __init__(self, connection: sqlite3.Connection, table: Table) -> None:
        self._connection = connection
        self._table = table
        self._known: dict[str, int] = {}

    def of(self, names: Iterable[str], moment: int) -> Mapping[str, int]:
        """Give the numbers of names, and numbers to new ones. Those for which there is no room are left out.

        Args:
            names: The names.
            moment: When new ones came, Unix seconds.
        """
        wanted = dict.fromkeys(names)
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        unknown = wanted.keys() - self._known.keys()
        (count,) = self._connection.execute(self._table.number).fetchone() if unknown else (0,)
        for name in wanted:
            if name not in unknown:
                continue
            kept = bytes_of(name)
            found = self._connection.execute(self._table.select, (kept,)).fetchone()
            if found is not None:
                (self._known[name],) = found
            elif count < self._table.most:
                self._connection.execute(self._table.insert, {"code": count, "name": kept, "moment": moment})
                self._known[name] = count
                count += 1
        return self._known

    def forget(self) -> None:
        """Forget what is remembered, as it may not be so: a transaction has failed."""
        self._known.clear()
