"""Changes of the database that are written together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select

from rota.store.schema import facts, jobs, journal, letters, runs, snapshots, submissions

if TYPE_CHECKING:
    from sqlalchemy.sql.dml import Delete, Insert


class Write(NamedTuple):
    """A change: a statement, and the values of one row."""

    statement: Insert | Delete
    row: dict[str, Any]


_ADD_EVENT = insert(journal)
_ADD_SUBMISSION = insert(submissions)
_ADD_RUN = insert(runs)
_ADD_JOB = insert(jobs)
_runs = jobs.alias()
_LAST = select(func.max(_runs.c.id)).where(_runs.c.job_id == bindparam("key")).scalar_subquery()
_DROP_LAST = delete(jobs).where(jobs.c.id == _LAST)
_ADD_SNAPSHOT = insert(snapshots)
_ADD_FACT = insert(facts)
_END_RUN = delete(runs).where(runs.c.job_id == bindparam("job"), runs.c.restart_count == bindparam("run"))
_DROP_FACT = delete(facts).where(facts.c.name == bindparam("fact"))
_DROP_SNAPSHOTS = delete(snapshots).where(snapshots.c.seq <= bindparam("last"))
_DROP_EVENTS = delete(journal).where(journal.c.time < bindparam("ended"), journal.c.seq < bindparam("saved"))
_DROP_JOBS = delete(jobs).where(jobs.c.end_time < bindparam("ended"))
_ADD_LETTER = insert(letters)
_DROP_LETTER = delete(letters).where(letters.c.number == bindparam("sent"))
_DROP_SUBMISSION = delete(submissions).where(submissions.c.payload == bindparam("key"))


def add_event(seq: int, time: int, event: str) -> Write:
    """Append an event to the journal."""
    return Write(_ADD_EVENT, {"seq": seq, "time": time, "event": event})


def add_submission(payload: str, data: bytes) -> Write:
    """Keep what a user has handed in."""
    return Write(_ADD_SUBMISSION, {"payload": payload, "data": data})


def add_run(job_id: int, restart_count: int, data: str) -> Write:
    """Keep what was chosen for a run."""
    return Write(_ADD_RUN, {"job_id": job_id, "restart_count": restart_count, "data": data})


def end_run(job_id: int, restart_count: int) -> Write:
    """Remove a run that has ended."""
    return Write(_END_RUN, {"job": job_id, "run": restart_count})


def add_job(row: dict[str, Any]) -> Write:
    """Add a job that has ended."""
    return Write(_ADD_JOB, row)


def replace_job(row: dict[str, Any]) -> list[Write]:
    """Put a row in the place of the last one of its job."""
    return [Write(_DROP_LAST, {"key": row["job_id"]}), add_job(row)]


def add_snapshot(seq: int, state: bytes) -> list[Write]:
    """Put a state of the engine in the place of older ones."""
    return [Write(_DROP_SNAPSHOTS, {"last": seq}), Write(_ADD_SNAPSHOT, {"seq": seq, "state": state})]


def set_fact(name: str, value: str) -> list[Write]:
    """Set a fact."""
    return [Write(_DROP_FACT, {"fact": name}), Write(_ADD_FACT, {"name": name, "value": value})]


def add_fact(name: str, value: str) -> Write:
    """Set a fact that there was not."""
    return set_fact(name, value)[-1]


def drop_fact(name: str) -> Write:
    """Remove a fact."""
    return Write(_DROP_FACT, {"fact": name})


def purge(ended_before: int, saved: int) -> list[Write]:
    """Remove jobs that ended before a time, and events before it that a snapshot with the number ``saved`` includes."""
    return [
        Write(_DROP_JOBS, {"ended": ended_before}),
        Write(_DROP_EVENTS, {"ended": ended_before, "saved": saved}),
    ]


def drop_submission(payload: str) -> Write:
    """Remove what a user has handed in."""
    return Write(_DROP_SUBMISSION, {"key": payload})


def add_letter(number: int, letter: str) -> Write:
    """Keep a letter until it is sent."""
    return Write(_ADD_LETTER, {"number": number, "letter": letter})


def drop_letter(number: int) -> Write:
    """Remove a letter that was sent."""
    return Write(_DROP_LETTER, {"sent": number})
