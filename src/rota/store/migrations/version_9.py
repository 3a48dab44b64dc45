"""Version 9: nodes that are alike but for their names are one record, and one event changes many nodes.

What is stored so far is read as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Change nothing."""
