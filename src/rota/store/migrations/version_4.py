"""Version 4: the index of the ends of jobs has their submissions too, and so tells by itself who was there when.

Jobs can ask for few switches; so far none did, which what is stored says as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Put an index in the place of the one that has the ends alone."""
    operations.drop_index("jobs_by_end", "jobs")
    operations.create_index("jobs_by_times", "jobs", ["end_time", "submit_time"])
