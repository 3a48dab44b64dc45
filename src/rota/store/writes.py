"""Changes of the database that are written together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, exists, func, insert, or_, select, update

from rota.store.forms import WEEK, number_of, split
from rota.store.schema import facts, forms, jobs, journal, letters, runs, snapshots, submissions
from rota.store.sums import sealed, sum_of

if TYPE_CHECKING:
    from sqlalchemy.sql.dml import Delete, Insert, Update


class Write(NamedTuple):
    """A change: a statement, and the values of one row."""

    statement: Insert | Delete | Update
    row: dict[str, Any]


_ADD_EVENT = insert(journal)
_ADD_SUBMISSION = insert(submissions)
_ADD_RUN = insert(runs)
_ADD_JOB = insert(jobs)
_form = bindparam("number", type_=forms.c.form.type)
ADD_FORM = insert(forms).from_select(
    ["form", "week", "text", "sum"],
    select(
        _form,
        bindparam("in_week", type_=forms.c.week.type),
        bindparam("form_text", type_=forms.c.text.type),
        bindparam("form_sum", type_=forms.c.sum.type),
    ).where(~exists().where(forms.c.form == _form)),
)
_runs = jobs.alias()
_LAST = select(func.max(_runs.c.id)).where(_runs.c.job_id == bindparam("key")).scalar_subquery()
_DROP_LAST = delete(jobs).where(jobs.c.id == _LAST)
_ADD_SNAPSHOT = insert(snapshots)
_ADD_FACT = insert(facts)
_END_RUN = delete(runs).where(runs.c.job_id == bindparam("job"), runs.c.restart_count == bindparam("run"))
_DROP_FACT = delete(facts).where(facts.c.name == bindparam("fact"))
_states = snapshots.alias()
_BEFORE = select(func.max(_states.c.seq)).where(_states.c.seq < bindparam("last")).scalar_subquery()
_DROP_SNAPSHOTS = delete(snapshots).where(or_(snapshots.c.seq < _BEFORE, snapshots.c.seq >= bindparam("last")))
_DROP_SNAPSHOT = delete(snapshots).where(snapshots.c.seq == bindparam("bad"))
_END_SNAPSHOTS = update(snapshots).where(snapshots.c.until.is_(None)).values(until=bindparam("last"))
#: Number of jobs, and of events, that are removed together, as others wait meanwhile.
_TOGETHER = 2000
_ended, _jobs = bindparam("ended", type_=jobs.c.end_time.type), jobs.alias()
_DROP_JOBS = delete(jobs).where(
    jobs.c.id.in_(select(_jobs.c.id).where(_jobs.c.end_time < _ended).order_by(_jobs.c.end_time).limit(_TOGETHER))
)
_FIRST = select(func.min(jobs.c.end_time)).scalar_subquery()
#: A week more, for those who have read the last jobs of a form, and are about to read the form.
_END = (forms.c.week + 2) * WEEK
DROP_FORMS = delete(forms).where(_ended >= _END, _FIRST >= _END)
_events = journal.alias()
_SAVED = _events.c.seq < select(func.min(_states.c.seq)).scalar_subquery()
_OF_NODES = _events.c.event.startswith('{"event":"UpdateNode"', autoescape=True)
_DROP_EVENTS = delete(journal).where(
    journal.c.seq.in_(
        select(_events.c.seq)
        .where(_SAVED, or_(~_OF_NODES, _events.c.time < _ended))
        .order_by(_events.c.seq)
        .limit(5 * _TOGETHER)
    )
)
_ADD_LETTER = insert(letters)
_DROP_LETTER = delete(letters).where(letters.c.number == bindparam("sent"))
#: The columns beside a record of accounting, in the order of its sum.
_BESIDE = [one.name for one in jobs.columns if one.name not in ("id", "record")]
_DROP_SUBMISSION = delete(submissions).where(submissions.c.payload == bindparam("key"))


def add_event(seq: int, time: int, event: str) -> Write:
    """Append an event to the journal."""
    return Write(_ADD_EVENT, {"seq": seq, "time": time, "event": event, "sum": sum_of("journal", seq, time, event)})


def add_submission(payload: str, data: bytes) -> Write:
    """Keep what a user has handed in."""
    return Write(_ADD_SUBMISSION, {"payload": payload, "data": data, "sum": sum_of("submissions", payload, data)})


def add_run(job_id: int, restart_count: int, data: str) -> Write:
    """Keep what was chosen for a run."""
    total = sum_of("runs", job_id, restart_count, data)
    return Write(_ADD_RUN, {"job_id": job_id, "restart_count": restart_count, "data": data, "sum": total})


def end_run(job_id: int, restart_count: int) -> Write:
    """Remove a run that has ended."""
    return Write(_END_RUN, {"job": job_id, "run": restart_count})


def add_job(row: dict[str, Any]) -> list[Write]:
    """Add a job that has ended, with its record as JSON data."""
    form, values = split(row["record"])
    week = row["end_time"] // WEEK
    number = number_of(form, week)
    stored = {**row, "form": number}
    return [
        add_form(number, week, form),
        Write(_ADD_JOB, {**stored, "record": sealed(values, *(stored[name] for name in _BESIDE))}),
    ]


def add_form(number: int, week: int, text: str) -> Write:
    """Add what accounting records have in common, if it is not there."""
    total = sum_of("forms", number, week, text)
    return Write(ADD_FORM, {"number": number, "in_week": week, "form_text": text, "form_sum": total})


def replace_job(row: dict[str, Any]) -> list[Write]:
    """Put a row in the place of the last one of its job."""
    return [Write(_DROP_LAST, {"key": row["job_id"]}), *add_job(row)]


def add_snapshot(seq: int, state: bytes, *, leads_on: bool = True) -> list[Write]:
    """Put a state of the engine in the place of older ones, but the last of these.

    Args:
        seq: Number of the last event before it.
        state: The state.
        leads_on: Whether those before it, and the events after them, lead to this one.
    """
    ends = [] if leads_on else [Write(_END_SNAPSHOTS, {"last": seq})]
    row = {"seq": seq, "state": state, "until": None, "sum": sum_of("snapshots", seq, state)}
    return [*ends, Write(_DROP_SNAPSHOTS, {"last": seq}), Write(_ADD_SNAPSHOT, row)]


def drop_snapshot(seq: int) -> Write:
    """Remove a state that is damaged."""
    return Write(_DROP_SNAPSHOT, {"bad": seq})


def set_fact(name: str, value: str) -> list[Write]:
    """Set a fact."""
    return [Write(_DROP_FACT, {"fact": name}), Write(_ADD_FACT, fact_row(name, value))]


def fact_row(name: str, value: str) -> dict[str, Any]:
    """Give the row of a fact."""
    return {"name": name, "value": value, "sum": sum_of("facts", name, value)}


def add_fact(name: str, value: str) -> Write:
    """Set a fact that there was not."""
    return set_fact(name, value)[-1]


def drop_fact(name: str) -> Write:
    """Remove a fact."""
    return Write(_DROP_FACT, {"fact": name})


def purge(ended_before: int) -> list[Write]:
    """Remove some of the jobs that ended before a time, and of the events that are needed no more.

    These are those before a snapshot. Events about nodes, which tell when these were down, stay as long as jobs.
    """
    return [Write(statement, {"ended": ended_before}) for statement in (_DROP_JOBS, DROP_FORMS, _DROP_EVENTS)]


def drop_submission(payload: str) -> Write:
    """Remove what a user has handed in."""
    return Write(_DROP_SUBMISSION, {"key": payload})


def add_letter(number: int, letter: str) -> Write:
    """Keep a letter until it is sent."""
    return Write(_ADD_LETTER, {"number": number, "letter": letter, "sum": sum_of("letters", number, letter)})


def drop_letter(number: int) -> Write:
    """Remove a letter that was sent."""
    return Write(_DROP_LETTER, {"sent": number})
