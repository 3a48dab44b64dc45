"""Version 10: steps have GRES of their own, and time limits.

What is stored so far is read as it is: which GRES those steps have is not known, and they have no limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Change nothing."""
