"""Making and upgrading the tables of a cluster's database.

Either is one transaction: a process that is killed meanwhile leaves what was there. Only the controller does it, when
it starts; all others read databases of the present version alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import event, insert, update
from sqlalchemy.exc import SQLAlchemyError

from rota.store.connection import VERSION_FACT, DatabaseError, cause, engine_of, place_of, version_of
from rota.store.schema import VERSION, facts, metadata
from rota.store.writes import fact_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sqlalchemy import Connection


def make_or_upgrade(url: str, log: Callable[[str], None]) -> None:
    """Make the tables of a new database, or upgrade those of an older rota. Others are left as they are.

    Args:
        url: See `Database`.
        log: Writes a line for the administrator.

    Raises:
        DatabaseError: it cannot be done; the database is as it was.
    """
    engine = engine_of(url)
    place = place_of(engine)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _leave_transactions_alone)
        event.listen(engine, "begin", _begin)
    try:
        with engine.begin() as connection:
            version = version_of(connection)
            if version is None:
                metadata.create_all(connection)
                connection.execute(insert(facts), fact_row(VERSION_FACT, str(VERSION)))
            elif version < VERSION:
                log(f"{place}: upgrade from version {version} to {VERSION} begins")
                _upgrade(connection, version)
        if version is not None and version < VERSION:
            log(f"{place}: upgraded from version {version} to {VERSION}")
    except SQLAlchemyError as error:
        raise DatabaseError(f"{place}: {cause(error)}") from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DatabaseError(f"{place}: this is not what rota writes ({error!r}): it is left as it is") from None
    finally:
        engine.dispose()


def _upgrade(connection: Connection, version: int) -> None:
    # Hardly any start needs these, and they take long to load.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    from rota.store.migrations import MIGRATIONS

    operations = Operations(MigrationContext.configure(connection))
    for number in range(version + 1, VERSION + 1):
        MIGRATIONS[number](operations)
    row = fact_row(VERSION_FACT, str(VERSION))
    connection.execute(update(facts).where(facts.c.name == VERSION_FACT).values(row))


def _leave_transactions_alone(connection: Any, _: object) -> None:
    """Keep Python's sqlite3 from beginning transactions, which it would do after tables have been changed."""
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
