"""Changes of what tables hold as JSON."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, column, select, table, tuple_, update

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, TableClause

_SNAPSHOTS = table("snapshots", column("seq"), column("state"))
#: Number of records that are in memory at a time.
_BATCH = 1000


def rewrite(connection: Connection, records: TableClause, change: Callable[[dict[str, Any]], None]) -> None:
    """Change all records of a table.

    Args:
        connection: In a transaction.
        records: The columns of the primary key, and behind them that of the records.
        change: Changes one record.
    """
    *key, text = records.c
    rows = select(*key, text).order_by(*key).limit(_BATCH)
    same = [one == bindparam(f"key_{one.name}") for one in key]
    write = update(records).where(*same).values({text: bindparam("new")})
    batch = connection.execute(rows).all()
    while batch:
        changed = []
        for *values, old in batch:
            record = json.loads(old)
            change(record)
            found = {f"key_{one.name}": value for one, value in zip(key, values, strict=True)}
            changed.append({**found, "new": json.dumps(record, separators=(",", ":"))})
        connection.execute(write, changed)
        batch = connection.execute(rows.where(tuple_(*key) > tuple_(*batch[-1][:-1]))).all()


def rewrite_states(connection: Connection, change: Callable[[dict[str, Any]], None]) -> None:
    """Change all saved states of the engine.

    Args:
        connection: In a transaction.
        change: Changes one.
    """
    for seq, state in connection.execute(select(_SNAPSHOTS)).all():
        saved = json.loads(zlib.decompress(state))
        change(saved["engine"])
        new = zlib.compress(json.dumps(saved, separators=(",", ":")).encode(), 1)
        connection.execute(update(_SNAPSHOTS).where(_SNAPSHOTS.c.seq == seq).values(state=new))
