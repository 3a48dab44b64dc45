"""Version 6: reservations can attract jobs that do not name them, end when no job runs, and follow a partition.

So far none did. Of which partition one is was not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.store.migrations.records import rewrite_states

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Say in saved states that no job has been attracted by a reservation."""
    rewrite_states(operations.get_bind(), _add_attracted)


def _add_attracted(state: dict[str, Any]) -> None:
    for job in state["jobs"]:
        job["is_attracted"] = False
