"""Version 2: what a job has asked for stands in its request alone, and what a step has used in the step's record.

Version 1 wrote fields of the request a second time, with the job and with the run, and usage beside the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import column, table

from rota.store.migrations.records import rewrite

if TYPE_CHECKING:
    from alembic.operations import Operations

_JOBS = table("jobs", column("id"), column("record"))
_RUNS = table("runs", column("job_id"), column("restart_count"), column("data"))
#: The fields that are dropped: of a job, and of a run.
OF_JOB = frozenset(
    (
        "begin_time",
        "deadline",
        "time_min",
        "num_tasks",
        "cpus_per_task",
        "features",
        "prefer",
        "gres",
        "licenses",
        "required_nodes",
        "excluded_nodes",
        "reservation",
        "exclusive",
        "oversubscribe",
        "contiguous",
        "requeue",
    )
)
OF_RUN = frozenset(("payload", "array", "ntasks_per_node"))


def upgrade(operations: Operations) -> None:
    """Drop the fields from accounting records and runs, and move usage."""
    connection = operations.get_bind()
    rewrite(connection, _JOBS, _change_record)
    rewrite(connection, _RUNS, _drop_of_run)


def _change_record(record: dict[str, Any]) -> None:
    _drop_of_job(record)
    usage = record.pop("usage", {})
    for step in record.get("steps", ()):
        if step["step_id"] in usage:
            step["usage"] = usage[step["step_id"]]


def _drop_of_job(record: dict[str, Any]) -> None:
    for name in OF_JOB:
        record["job"].pop(name, None)


def _drop_of_run(run: dict[str, Any]) -> None:
    _drop_of_job(run)
    for name in OF_RUN:
        run.pop(name, None)
