"""Finds what was made for a command that is given again, since the controller was lost meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from rota.controller.submitting import RefusedError
from rota.store.database import LAST_RUN
from rota.store.schema import jobs

if TYPE_CHECKING:
    from typing import Any

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call


async def known_job(cluster: Cluster, call: Call, name: str) -> int | None:
    """Find the job that was made when a command was given before; ``None``: there is none. It is on disk.

    Args:
        cluster: The cluster.
        call: The call of the command.
        name: The name of its submission.

    Raises:
        RefusedError: there was one, and nothing is known of it any more.
    """
    job_id = cluster.runs.submissions.job_of(name)
    if job_id is None and not call.is_again:
        return None
    await cluster.driver.keep([])
    if not job_id:
        job_id = next((one["array_job_id"] or one["job_id"] for one in _ended(cluster, name)), None)
    if job_id is None and call.job_id is not None:
        raise no_longer_found(call.job_id)
    return job_id


def ended_jobs(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    """Give what is recorded of the jobs of a submission that have ended, and are not queued again."""
    live = cluster.driver.engine.jobs
    return [one for one in _ended(cluster, name) if one["job_id"] not in live]


def no_longer_found(job_id: int) -> RefusedError:
    """Make the error that Slurm tells about a job of which nothing is known any more."""
    return RefusedError(f"error: Job {job_id} no longer found and exit code not found")


def _ended(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    query = select(jobs.c.record).where(jobs.c.payload == name, LAST_RUN)
    defaults = {"array_job_id": None, "exit_code": 0, "signal": 0}
    return [{**defaults, **record["job"]} for record in cluster.database.job_records(query)]
