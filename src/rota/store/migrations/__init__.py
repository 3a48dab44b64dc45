"""What leads from each version of the database to the next.

Migrations are run in one transaction with the version's change. They know tables and records as these were then, so
they use neither `rota.store.schema` nor the classes of the records, which go on changing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.store.migrations import (
    version_2,
    version_3,
    version_4,
    version_5,
    version_6,
    version_7,
    version_8,
    version_9,
    version_10,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alembic.operations import Operations

#: Migrations by the version to which they lead.
MIGRATIONS: Mapping[int, Callable[[Operations], None]] = {
    2: version_2.upgrade,
    3: version_3.upgrade,
    4: version_4.upgrade,
    5: version_5.upgrade,
    6: version_6.upgrade,
    7: version_7.upgrade,
    8: version_8.upgrade,
    9: version_9.upgrade,
    10: version_10.upgrade,
}
