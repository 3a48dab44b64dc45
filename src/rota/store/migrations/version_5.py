"""Version 5: jobs can ask for GPUs of each socket, and for those near their cores alone.

So far none did, which what is stored says as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Change nothing."""
