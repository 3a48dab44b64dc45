"""Version 2: what a job has asked for stands in its request alone, and what a step has used in the step's record.

Version 1 wrote fields of the request a second time, with the job and with the run, and usage beside the steps. It had
no accounts: saved states get those of a new cluster, and usage for fair-share begins anew. It sent no mail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Text, column, table

from rota.store.migrations.records import rewrite, rewrite_states

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


#: The accounts of a new cluster.
_ACCOUNTS = {
    "associations": [
        {"id": 1, "account": "root", "qos": ["normal"]},
        {"id": 2, "account": "root", "user": "root", "parent_id": 1},
    ],
    "accounts": [{"name": "root", "description": "default root account", "organization": "root"}],
    "users": [{"name": "root", "default_account": "root", "admin_level": "Administrator"}],
    "qos": [{"name": "normal", "id": 1, "description": "Normal QOS default"}],
    "usage": None,
    "running": None,
}


def upgrade(operations: Operations) -> None:
    """Drop the fields from accounting records and runs, move usage, and make room for letters."""
    operations.create_table(
        "letters",
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("letter", Text, nullable=False),
    )
    connection = operations.get_bind()
    rewrite(connection, _JOBS, _change_record)
    rewrite(connection, _RUNS, _drop_of_run)
    rewrite_states(connection, _add_accounts)


def _add_accounts(state: dict[str, Any]) -> None:
    state |= {"format": 10, "accounts": _ACCOUNTS}


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
