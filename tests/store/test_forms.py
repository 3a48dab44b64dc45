"""Accounting records are stored in two parts, and read as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.controller.job_rows import job_row
from rota.core.plain import shape_of
from rota.model.accounting import AccountingRecord
from rota.store import DatabaseError
from rota.store.forms import WEEK, filler, split
from rota.store.schema import forms, jobs
from rota.store.writes import add_job
from store.ended import accounting

if TYPE_CHECKING:
    from rota.store import Database

#: Texts with what has a meaning in forms, in lines of values, and in Python's templates.
_TEXTS = st.text(st.sampled_from('a$01"\\\n%s{}é\x00\ud800'))
_VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_DATA = st.recursive(_VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3))


def _part(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names) | _TEXTS, _DATA, max_size=6)


_STEPS = st.lists(_part("nodes", "usage", "start_time", "state"), max_size=6)


@st.composite
def _records(draw: st.DrawFn) -> dict[str, Any]:
    job = draw(_part("job_id", "name", "nodes", "end_time", "user")) | {"job_id": draw(st.integers()), "name": "a"}
    job["request"] = draw(_part("name", "payload", "user", "dependency"))
    steps = draw(_STEPS)
    details = draw(_part("submit_line", "work_dir", "std_out", "submit_host"))
    return {"job": job, "details": details} | ({"steps": steps} if steps else {})


@given(_records())
def test_records_are_as_they_were(record: dict[str, Any]) -> None:
    form, values = split(record)
    assert json.loads(filler(form)(values)) == record
    assert "\n" not in form


def test_what_jobs_have_in_common_is_stored_once(opened: Database) -> None:
    database, end = opened, 10 * WEEK
    records = [accounting(number, end + number) for number in range(1, 501)]
    for first in range(0, 500, 50):
        database.write(write for one in records[first : first + 50] for write in add_job(job_row(one)))
    kept = [*database.job_records()]
    assert kept == [json.loads(json.dumps(shape_of(AccountingRecord).encode(one))) for one in records]
    assert len(database._rows(forms.select())) == 1
    stored = sum(len(record) for (record,) in database._rows(jobs.select().with_only_columns(jobs.c.record)))
    assert stored < sum(len(json.dumps(one, separators=(",", ":"))) for one in kept) / 3
    database._forms, database._written = {}, set()
    assert [*database.job_records()] == kept


def test_a_form_that_is_missing_is_told(opened: Database) -> None:
    database = opened
    database.write(add_job(job_row(accounting(1, WEEK))))
    with database._engine.begin() as connection:
        connection.execute(forms.delete())
    with pytest.raises(DatabaseError, match="table forms: record "):
        [*database.job_records()]
