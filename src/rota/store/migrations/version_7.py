"""Version 7: jobs keep who has cancelled them, and those for which the machine had no room are tried again later.

So far neither was kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Change nothing: what is missing in records means that it is not known."""
