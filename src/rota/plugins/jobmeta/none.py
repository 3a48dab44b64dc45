"""The null job-metadata plugin: all that is known of a job is its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.interfaces.jobmeta import Metadata

plugin_type = "jobmeta/none"
plugin_name = "null job-metadata plugin"
plugin_version = 100
FIELDS = ("id",)


def fetch(ids: Sequence[str]) -> Iterator[Metadata]:
    """Give each id."""
    for job_id in ids:
        yield {"id": job_id}
