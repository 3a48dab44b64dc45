"""Version 3: partitions can be changed, created and deleted until slurm.conf is read again. So far none was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.store.migrations.records import rewrite_states

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Say in saved states that no partition is deleted."""
    rewrite_states(operations.get_bind(), _add_deleted)


def _add_deleted(state: dict[str, Any]) -> None:
    state["deleted_partitions"] = []
