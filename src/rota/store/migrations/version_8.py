"""Version 8: what accounting records have in common is stored once, and a cluster remembers for how long it keeps jobs.

Records that there are stay whole. So far jobs were kept for ever, which is not changed by an upgrade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, Integer, Text, column, insert, table

from rota.store.sums import sum_of

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Make the table of what records have in common, and have jobs kept for ever."""
    operations.create_table(
        "forms",
        Column("form", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
        Column("week", Integer, nullable=False),
        Column("text", Text, nullable=False),
        Column("sum", BigInteger, nullable=False),
    )
    operations.add_column("jobs", Column("form", BigInteger))
    facts = table("facts", column("name"), column("value"), column("sum"))
    operations.get_bind().execute(insert(facts).values(name="keep", value="0", sum=sum_of("facts", "keep", "0")))
