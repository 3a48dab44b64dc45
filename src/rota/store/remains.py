"""What can be read of a cluster's database, be it damaged or not, and what is wrong with it.

The database is read alone, and nothing of it is changed: SQLite would else repair its log of changes, with which it
loses what cannot be read of it.
"""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import URL, create_engine, func, make_url, select
from sqlalchemy.exc import SQLAlchemyError

from rota.store.connection import DAMAGED, DatabaseError, cause, place_of, version_of
from rota.store.forms import filler
from rota.store.schema import VERSION, facts, forms, jobs, journal, letters, runs, snapshots, submissions
from rota.store.sums import fits, sum_of, unsealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection, Row, Table

#: Bytes of an SQLite file up to which the structure of all tables and indexes is looked at, which takes a tenth of a
#: second; of a larger one that of all tables but `jobs`.
_SMALL = 1 << 26
#: The last ended jobs whose records are looked at when a controller starts. Others are when somebody asks for them.
MOST_JOBS = 5_000
#: Errors of SQLite by which a file is damaged. The last one is also that of a format that there is not, by its header.
_DAMAGED = {*DAMAGED, sqlite3.SQLITE_ERROR}
_ALTERED = "is not as it was written"
#: The column of a row of ``jobs`` whose record is whole; it is not in the sum of the columns.
_WHOLE = "form", None
#: What is lost with a form; and the number of forms that are read together.
_OF_FORM = "what jobs have done whose records have it"
_TOGETHER = 500


class Finding(NamedTuple):
    """Something that is wrong with what is kept."""

    #: What, with the file, table and record.
    what: str
    #: What is lost by it; empty: nothing, as it is known from elsewhere and can be written again.
    lost: str = ""


@dataclass(slots=True)
class Remains:
    """What can be read of a database."""

    #: Version of the tables; ``None``: there are none.
    version: int | None = None
    facts: dict[str, str] = field(default_factory=dict)
    #: States by the number of the last event before them, the last one first, and up to which event one leads on.
    snapshots: dict[int, tuple[bytes, int | None]] = field(default_factory=dict)
    #: Events, with time and data, after the first of these states, up to the first one that is missing or damaged.
    events: list[tuple[int, int, str]] = field(default_factory=list)
    #: Events before them, which need not be all; they are read with all ended jobs.
    history: list[tuple[int, int, str]] = field(default_factory=list)
    submissions: dict[str, bytes] = field(default_factory=dict)
    runs: dict[tuple[int, int], str] = field(default_factory=dict)
    letters: dict[int, str] = field(default_factory=dict)
    #: Rows of ended jobs, with the whole records as JSON.
    jobs: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The number of the last event that can be read."""
        return max([*self.snapshots, *(number for number, _, _ in self.events[-1:])], default=0)


def read_remains(url: str, *, most_jobs: int | None = None) -> Remains:
    """Read what can be read of a database.

    Args:
        url: See `rota.store.Database`.
        most_jobs: Number of ended jobs to look at, the last ones; ``None``: all.

    Raises:
        DatabaseError: it cannot be reached.
    """
    found, parsed = Remains(), make_url(url)
    place = Path(parsed.database or "")
    if parsed.get_backend_name() == "sqlite":
        if not place.exists():
            return found
        query = {"mode": "ro", "uri": "true"}
        engine = create_engine(URL.create("sqlite", database=f"file:{quote(str(place))}", query=query))
    else:
        engine = create_engine(parsed)
    try:
        with engine.connect() as connection:
            found.version = version_of(connection)
            if found.version == VERSION:
                _look_at_structure(connection, place, found.findings)
                _read(connection, found, most_jobs)
    except (SQLAlchemyError, ValueError) as error:
        original = getattr(error, "orig", error)
        if not isinstance(original, ValueError) and getattr(original, "sqlite_errorcode", None) not in _DAMAGED:
            raise DatabaseError(f"{place_of(engine)}: {cause(error)}") from None
        found.findings.append(Finding(f"{place.name}: {cause(error)}", "what cannot be read of it"))
    finally:
        engine.dispose()
    return found


def _look_at_structure(connection: Connection, place: Path, findings: list[Finding]) -> None:
    """Have SQLite look whether the pages of its file fit together."""
    if connection.dialect.name != "sqlite":
        return
    whole = place.stat().st_size <= _SMALL
    check = "integrity_check" if whole else "quick_check"  # the first one looks at indexes too
    tables = [""] if whole else [f"('{one.name}')" for one in (facts, journal, snapshots, submissions, runs, letters)]
    said: list[str] = []
    for table in tables:
        try:
            said += [text for (text,) in connection.exec_driver_sql(f"PRAGMA {check}{table}") if text != "ok"]
        except SQLAlchemyError as error:
            said.append(cause(error))
    for text in said[:5]:
        line = " ".join(text.split())
        findings.append(Finding(f"{place.name}: {line}", "what was on pages that do not fit together"))


def _read(connection: Connection, found: Remains, most_jobs: int | None) -> None:
    wrong = found.findings
    found.facts = {one.name: one.value for one in _whole(connection, facts, wrong, "what it says")}
    states = _whole(connection, snapshots, wrong, "")
    found.snapshots = {one.seq: (one.state, one.until) for one in reversed(states) if _is_compressed(one, wrong)}
    found.submissions = {one.payload: one.data for one in _whole(connection, submissions, wrong, "a job's script")}
    lost = "which processors and devices a job has"
    found.runs = {(one.job_id, one.restart_count): one.data for one in _whole(connection, runs, wrong, lost)}
    found.letters = {one.number: one.letter for one in _whole(connection, letters, wrong, "a letter")}
    since = min(found.snapshots, default=0)
    found.events = _events(connection, since, wrong)
    if most_jobs is None:
        earlier = _whole(connection, journal, wrong, "an event", journal.c.seq <= since)
        found.history = [(one.seq, one.time, one.event) for one in earlier]
    found.jobs = _jobs(connection, most_jobs, wrong)


def _whole(connection: Connection, table: Table, wrong: list[Finding], lost: str, *where: Any) -> list[Row[Any]]:
    """Give the rows of a table that are as they were written."""
    names = [one.name for one in table.columns if one.name not in ("sum", "until")]
    key = len(table.primary_key.columns)
    good = []
    for row in _rows(connection, table, wrong, *where):
        values = [getattr(row, name) for name in names]
        if row.sum == sum_of(table.name, *values):
            good.append(row)
        else:
            named = " ".join(str(value) for value in values[:key])
            wrong.append(Finding(f"table {table.name}: record {named} {_ALTERED}", lost))
    return good


def _rows(connection: Connection, table: Table, wrong: list[Finding], *where: Any) -> list[Row[Any]]:
    """Give the rows of a table that can be read, from either end up to where it is damaged."""
    key = [*table.primary_key.columns]
    first, error = _until_damage(connection.execute, select(table).where(*where).order_by(*key))
    if error is None:
        return first
    wrong.append(Finding(f"table {table.name}: {cause(error)}", "records that cannot be read"))
    back = select(table).where(*where).order_by(*(one.desc() for one in key))
    known = {tuple(getattr(row, one.name) for one in key) for row in first}
    last, _ = _until_damage(connection.execute, back)
    return [*first, *(row for row in reversed(last) if tuple(getattr(row, one.name) for one in key) not in known)]


def _until_damage(execute: Callable[[Any], Iterable[Row[Any]]], query: Any) -> tuple[list[Row[Any]], Exception | None]:
    rows: list[Row[Any]] = []
    try:
        rows.extend(execute(query))  # what was read before an error stays
    except (SQLAlchemyError, ValueError) as error:  # the other: a text that is none
        return rows, error
    return rows, None


def _is_compressed(state: Row[Any], wrong: list[Finding]) -> bool:
    try:
        zlib.decompress(state.state)
    except zlib.error:
        wrong.append(Finding(f"table snapshots: record {state.seq} {_ALTERED}"))
        return False
    return True


def _events(connection: Connection, since: int, wrong: list[Finding]) -> list[tuple[int, int, str]]:
    """Give the events after one, up to the first that is missing or damaged."""
    found: list[tuple[int, int, str]] = []
    rows = _rows(connection, journal, wrong, journal.c.seq > since)
    for row in rows:
        expected = since + len(found) + 1
        if row.seq != expected or row.sum != sum_of("journal", row.seq, row.time, row.event):
            what = f"record {row.seq} {_ALTERED}" if row.seq == expected else f"record {expected} is missing"
            wrong.append(Finding(f"table journal: {what}", f"events from {expected} to {rows[-1].seq}"))
            break
        found.append((row.seq, row.time, row.event))
    return found


def _jobs(connection: Connection, most: int | None, wrong: list[Finding]) -> list[dict[str, Any]]:
    last = 0
    if most is not None:
        last = (connection.scalar(select(func.max(jobs.c.id))) or 0) - most
    found = []
    rows = _rows(connection, jobs, wrong, jobs.c.id > last)
    fill = _fillers(connection, sorted({row.form for row in rows} - {None}, key=str), wrong)
    for row in rows:
        values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's name for it
        record, form = values["record"], values["form"]
        beside = [value for name, value in values.items() if name not in ("id", "record") and (name, value) != _WHOLE]
        if not isinstance(record, str) or not fits(record, *beside):
            wrong.append(Finding(f"table jobs: record {row.id} {_ALTERED}", f"what job {row.job_id} has done"))
        elif form is None or form in fill:
            text = unsealed(record) or ""
            whole = {"record": text if form is None else fill[form](text)}
            found.append({name: one for name, one in values.items() if name not in ("id", "form")} | whole)
    return found


def _fillers(connection: Connection, numbers: list[int], wrong: list[Finding]) -> dict[int, Callable[[str], str]]:
    """Give what makes whole records, by the number of the form."""
    found: dict[int, Callable[[str], str]] = {}
    for first in range(0, len(numbers), _TOGETHER):
        chosen = forms.c.form.in_(numbers[first : first + _TOGETHER])
        found |= {row.form: filler(row.text) for row in _whole(connection, forms, wrong, _OF_FORM, chosen)}
    told = {one.what for one in wrong}
    missing = [one for one in numbers if one not in found and f"table forms: record {one} {_ALTERED}" not in told]
    wrong += [Finding(f"table forms: record {number} is missing", _OF_FORM) for number in missing]
    return found
