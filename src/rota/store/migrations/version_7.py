"""Version 7: rows have sums, by which damage is seen, and the last snapshot but one stays.

What is stored so far counts as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, bindparam, column, select, table, tuple_, update

from rota.store.sums import sealed, sum_of

if TYPE_CHECKING:
    from alembic.operations import Operations
    from sqlalchemy import Connection

#: The tables whose rows have a column for it, with their other columns, and how many of these are the key.
_TABLES = {
    "facts": (("name", "value"), 1),
    "journal": (("seq", "time", "event"), 1),
    "snapshots": (("seq", "state"), 1),
    "submissions": (("payload", "data"), 1),
    "runs": (("job_id", "restart_count", "data"), 2),
    "letters": (("number", "letter"), 1),
}
#: The columns of ``jobs`` beside the record.
_BESIDE = (
    "job_id",
    "array_job_id",
    "user_name",
    "account",
    "partition_name",
    "name",
    "state",
    "submit_time",
    "start_time",
    "end_time",
    "payload",
)
#: Number of rows that are in memory at a time.
_BATCH = 1000


def upgrade(operations: Operations) -> None:
    """Add the sums, and the column that says how far a snapshot leads."""
    connection = operations.get_bind()
    operations.add_column("snapshots", Column("until", BigInteger))
    for name, (columns, keys) in _TABLES.items():
        operations.add_column(name, Column("sum", BigInteger, nullable=False, server_default="0"))
        _add_sums(connection, name, columns, keys)
    _seal_jobs(connection)


def _add_sums(connection: Connection, name: str, columns: tuple[str, ...], keys: int) -> None:
    rows = table(name, *map(column, (*columns, "sum")))
    key = [rows.c[one] for one in columns[:keys]]
    query = select(*(rows.c[one] for one in columns)).order_by(*key).limit(_BATCH)
    write = update(rows).where(*(one == bindparam(f"key_{one.name}") for one in key)).values(sum=bindparam("new"))
    batch = connection.execute(query).all()
    while batch:
        named = [{f"key_{one.name}": value for one, value in zip(key, row, strict=False)} for row in batch]
        connection.execute(write, [{**one, "new": sum_of(name, *row)} for one, row in zip(named, batch, strict=True)])
        batch = connection.execute(query.where(tuple_(*key) > tuple_(*batch[-1][:keys]))).all()


def _seal_jobs(connection: Connection) -> None:
    jobs = table("jobs", *map(column, ("id", *_BESIDE, "record")))
    query = select(jobs).order_by(jobs.c.id).limit(_BATCH)
    write = update(jobs).where(jobs.c.id == bindparam("key")).values(record=bindparam("new"))
    batch = connection.execute(query).all()
    while batch:
        connection.execute(write, [{"key": row[0], "new": sealed(row[-1], *row[1:-1])} for row in batch])
        batch = connection.execute(query.where(jobs.c.id > batch[-1][0])).all()
