"""The tables of a cluster's database.

Every row is written in the transaction of the event that caused it, so that tables and journal always agree.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

#: Version of the tables and of the records in them. It changes with either, so that an older rota leaves them alone;
#: `rota.store.migrations` lead from each version to the next.
VERSION = 10
#: The first version whose rows have sums, and beside which it is written how far the database has come.
FIRST_SUMMED = 7

metadata = MetaData()


def _sum() -> Column[int]:
    """Make the column that has `rota.store.sums.sum_of` the others. Records of ``jobs`` have theirs at their end."""
    return Column("sum", BigInteger, nullable=False)


#: Facts about the cluster, as text by name; see `rota.store.database`.
facts = Table(
    "facts", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False), _sum()
)

#: All events that the engine has handled, in order, without refused requests, which change nothing.
journal = Table(
    "journal",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    #: Time of the event, Unix seconds.
    Column("time", BigInteger, nullable=False),
    #: `rota.core.event_codec`, as JSON.
    Column("event", Text, nullable=False),
    _sum(),
)

#: States of the engine: the last one, and the one before it in case that the last one is damaged.
snapshots = Table(
    "snapshots",
    metadata,
    #: Number of the last event before it.
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    #: `rota.core.snapshot`, as compressed JSON.
    Column("state", LargeBinary, nullable=False),
    #: The number of the last event that was handled as it is handled after this state: then slurm.conf was another one.
    #: ``None``: all of them.
    Column("until", BigInteger),
    _sum(),
)

#: What users have handed in with jobs, by `JobSpec.payload`.
submissions = Table(
    "submissions",
    metadata,
    Column("payload", String(40), primary_key=True),
    #: `Submission`, as compressed JSON.
    Column("data", LargeBinary, nullable=False),
    _sum(),
)

#: Runs that have not ended: what was chosen for them, as JSON.
runs = Table(
    "runs",
    metadata,
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("restart_count", Integer, primary_key=True, autoincrement=False),
    Column("data", Text, nullable=False),
    _sum(),
)

#: Letters that have not been sent, as far as is known.
letters = Table(
    "letters",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    #: `Letter`, as JSON.
    Column("letter", Text, nullable=False),
    _sum(),
)

#: What accounting records have in common; see `rota.store.forms`.
forms = Table(
    "forms",
    metadata,
    Column("form", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    #: Number of the week, since the beginning of Unix time, in which ended the jobs of the form.
    Column("week", Integer, nullable=False),
    Column("text", Text, nullable=False),
    _sum(),
)

#: Jobs that have ended, and runs after which a job was queued again: of a job the last row is the one in force. The
#: columns before ``record`` are for queries.
jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job_id", BigInteger, nullable=False),
    Column("array_job_id", BigInteger),
    Column("user_name", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("partition_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("submit_time", BigInteger, nullable=False),
    Column("start_time", BigInteger),
    Column("end_time", BigInteger, nullable=False),
    Column("payload", String(40), nullable=False),
    #: `AccountingRecord`: the values of its form or, without one, all of it as JSON; see `rota.store.sums.sealed`.
    Column("record", Text, nullable=False),
    Column("form", BigInteger),
    Index("jobs_by_job_id", "job_id"),
    Index("jobs_by_array", "array_job_id"),
    #: Tells which jobs there were in a time, without a look at their rows.
    Index("jobs_by_times", "end_time", "submit_time"),
    Index("jobs_by_payload", "payload"),
)
