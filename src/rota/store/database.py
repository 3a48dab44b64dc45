"""A cluster's database, in SQLite or PostgreSQL.

Writes come from one thread and reads from others, which do not wait for each other.
"""

from __future__ import annotations

import json
import zlib
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, select
from sqlalchemy.exc import SQLAlchemyError

from rota.store.connection import DatabaseError, cause, engine_of, place_of, version_of
from rota.store.forms import filler
from rota.store.schema import VERSION, facts, forms, jobs, journal, letters, runs, snapshots, submissions
from rota.store.sums import sum_of, unsealed
from rota.store.writes import ADD_FORM, DROP_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Select, Table
    from sqlalchemy.sql.dml import Delete, Insert, Update

    from rota.store.writes import Write

#: The columns of ``jobs`` that make an accounting record.
RECORD = jobs.c.form, jobs.c.record
_later = jobs.alias()
#: Condition on rows of ``jobs``: that the job was not queued again after this run, and has ended again.
LAST_RUN = ~exists().where(_later.c.job_id == jobs.c.job_id, _later.c.id > jobs.c.id)
#: Number of records that are read or parsed together; then they have the texts in common that are names of fields.
_TOGETHER = 500
#: Number of forms that are kept in memory.
_FORMS = 2000
#: What to do about damage.
_RECOVER = "stop the cluster, and see what can be saved with `rota recover`"


class Database:
    """A cluster's database, of the present version: `rota.store.upgrade` makes it so.

    Args:
        url: ``sqlite:////absolute/path.db``, or that of a PostgreSQL database.

    Raises:
        DatabaseError: it cannot be opened, or has another version.
    """

    def __init__(self, url: str) -> None:
        self._engine = engine_of(url)
        try:
            with self._engine.connect() as connection:
                version = version_of(connection)
        except SQLAlchemyError as error:
            raise DatabaseError(f"{place_of(self._engine)}: {cause(error)}") from None
        if version != VERSION:
            self.close()
            raise DatabaseError(f"{place_of(self._engine)}: {_other(version)}")
        #: The forms that are there, as far as is known; and of those that were read what makes records of them.
        self._written: set[int] = set()
        self._forms: dict[int, Callable[[str], str]] = {}
        #: Numbers of the snapshots that are damaged, and are not used.
        self.bad_snapshots: list[int] = []
        #: Which file it is; ``None``: no file.
        self._opened = self._file()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def after_fork(self) -> None:
        """Use connections of one's own, in a child process."""
        self._engine.dispose(close=False)

    def write(self, writes: Iterable[Write]) -> None:
        """Write changes, all or none; they are on disk afterwards. Only changes of one table are made in their order.

        Raises:
            DatabaseError: they could not be written.
        """
        if self._file() != self._opened:
            raise DatabaseError(f"{self._engine.url.database} is gone, or is another file now")
        new = {}
        try:
            with self._engine.begin() as connection:
                for statement, rows in _in_groups(writes):
                    if statement is DROP_FORMS:
                        self._written.clear()
                    if statement is ADD_FORM:
                        new = {row["number"]: row for row in rows if row["number"] not in self._written}
                    if rows := [*new.values()] if statement is ADD_FORM else rows:
                        connection.execute(statement, rows)
        except (SQLAlchemyError, UnicodeError, OverflowError) as error:  # the others: a value that it cannot hold
            raise DatabaseError(cause(error)) from None
        if len(self._written) > _FORMS:
            self._written.clear()
        self._written |= new.keys()

    def _file(self) -> tuple[int, int] | None:
        """Say which file the path of an SQLite database leads to; SQLite would go on with a file that was deleted."""
        if self._engine.dialect.name != "sqlite" or not self._engine.url.database:
            return None
        try:
            found = Path(self._engine.url.database).stat()
        except OSError:
            return 0, 0
        return found.st_dev, found.st_ino

    def facts(self) -> dict[str, str]:
        """Give all facts."""
        return {name: value for name, value in self._whole(facts)}  # noqa: C416 - pairs, and no rows

    def last_snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Give the last state, and the number of the last event before it; ``None``: there is none.

        One that is damaged is passed over, if the one before it and the events after that lead as far.

        Raises:
            DatabaseError: it is damaged, and there is no other.
        """
        self.bad_snapshots = []
        for seq, state, until, total in self._rows(select(snapshots).order_by(snapshots.c.seq.desc())):
            if total == sum_of("snapshots", seq, state) and (until is None or not self.bad_snapshots):
                return seq, json.loads(zlib.decompress(state))
            self.bad_snapshots.append(seq)
        if self.bad_snapshots:
            raise DatabaseError(damaged("snapshots", self.bad_snapshots[0]))
        return None

    def events_after(self, seq: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Give the events after one: number, time, and data.

        Raises:
            DatabaseError: one is missing or damaged.
        """
        for number, time, text in self._whole(journal, journal.c.seq > seq):
            if number != seq + 1:
                raise DatabaseError(f"table journal: record {seq + 1} is missing: {_RECOVER}")
            seq = number
            yield number, time, json.loads(text)

    def events_named(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Give all events of one kind: time, and data."""
        chosen = journal.c.event.startswith(f'{{"event":"{name}"', autoescape=True)
        for _, time, text in self._whole(journal, chosen):
            yield time, json.loads(text)

    def last_seq(self) -> int:
        """Give the number of the last event."""
        of = [select(func.max(journal.c.seq)), select(func.max(snapshots.c.seq))]
        return max(int(self._rows(one)[0][0] or 0) for one in of)

    def last_time(self) -> int:
        """Give the time of the last event, Unix seconds; 0: there is none."""
        return next((time for (time,) in self._rows(select(journal.c.time).order_by(journal.c.seq.desc()).limit(1))), 0)

    def submissions(self, payloads: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give what users have handed in, as far as it is kept, with its name."""
        wanted = [*payloads]
        for first in range(0, len(wanted), _TOGETHER):
            chosen = submissions.c.payload.in_(wanted[first : first + _TOGETHER])
            for payload, data in self._whole(submissions, chosen):
                yield payload, json.loads(zlib.decompress(data))

    def payloads(self) -> list[str]:
        """Name all that users have handed in and that is kept; see `submission`."""
        return [payload for (payload,) in self._rows(select(submissions.c.payload))]

    def runs(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Give what was chosen for the runs that have not ended, by job id and restart count."""
        return {(job_id, run): json.loads(data) for job_id, run, data in self._whole(runs)}

    def letters(self) -> dict[int, dict[str, Any]]:
        """Give the letters that have not been sent, as far as is known, by number."""
        return {number: json.loads(text) for number, text in self._whole(letters)}

    def job_records(self, query: Select[Any] | None = None) -> Iterator[dict[str, Any]]:
        """Give the accounting records of jobs that have ended.

        Args:
            query: Selects `RECORD`; ``None``: the last of each job, in the order in which they ended.
        """
        texts = self.job_texts(select(*RECORD).where(LAST_RUN).order_by(jobs.c.id) if query is None else query)
        for first in range(0, len(texts), _TOGETHER):
            yield from json.loads(f"[{','.join(texts[first : first + _TOGETHER])}]")

    def job_texts(self, query: Select[Any]) -> list[str]:
        """Give accounting records as JSON; see `job_records`.

        Raises:
            DatabaseError: one is damaged.
        """
        rows = self._rows(query)
        fill = self._fillers({form for form, _ in rows} - {None})
        return [_record(text) if form is None else fill[form](_record(text)) for form, text in rows]

    def _fillers(self, numbers: Collection[int]) -> Mapping[int, Callable[[str], str]]:
        """Give what makes records of the values of forms.

        Raises:
            DatabaseError: a form is missing or damaged.
        """
        known = self._forms if len(self._forms) < _FORMS else {}
        new = [number for number in numbers if number not in known]
        for first in range(0, len(new), _TOGETHER):
            chosen = forms.c.form.in_(new[first : first + _TOGETHER])
            known |= {number: filler(text) for number, _, text in self._whole(forms, chosen)}
        if missing := [number for number in new if number not in known]:
            raise DatabaseError(f"table forms: record {missing[0]} is missing: {_RECOVER}")
        self._forms = known
        return known

    def oldest_end(self) -> int | None:
        """Give when the job ended that ended first, Unix seconds; ``None``: there is none."""
        end: int | None = self._rows(select(func.min(jobs.c.end_time)))[0][0]
        return end

    def job_count(self, since: int = 0) -> int:
        """Count the jobs that have ended since a time, Unix seconds."""
        query = select(func.count()).select_from(jobs).where(jobs.c.end_time >= since)
        return int(self._rows(query)[0][0])

    def last_record(self) -> int:
        """Give the number of the last record of a job: at least as many as there are, and found at once."""
        return int(self._rows(select(func.max(jobs.c.id)))[0][0] or 0)

    def recent_ends(self, since: int) -> Iterator[tuple[int, int, int | None]]:
        """Give the jobs that have ended since a time, in order: when, Unix seconds, their ids and those of arrays."""
        columns = jobs.c.end_time, jobs.c.job_id, jobs.c.array_job_id
        for row in self._rows(select(*columns).where(jobs.c.end_time >= since, LAST_RUN).order_by(jobs.c.end_time)):
            yield row.end_time, row.job_id, row.array_job_id

    def _whole(self, table: Table, *where: ColumnElement[bool]) -> Iterator[Any]:
        """Give the rows of a table in the order of their keys, without their sums.

        Raises:
            DatabaseError: one is not as it was written.
        """
        for *values, total in self._rows(select(table).where(*where).order_by(*table.primary_key.columns)):
            if total != sum_of(table.name, *values):
                raise DatabaseError(damaged(table.name, values[0]))
            yield values

    def _rows(self, query: Select[Any]) -> list[Any]:
        try:
            with self._engine.connect() as connection:
                return [*connection.execute(query).all()]
        except SQLAlchemyError as error:
            raise DatabaseError(cause(error)) from None


def times_between(start: int | None, end: int | None) -> list[ColumnElement[bool]]:
    """Give conditions on rows of ``jobs``: that they ended at a time or later, and were submitted by another one.

    Args:
        start: The time of the end, Unix seconds; ``None``: any.
        end: That of the submission.
    """
    ended = [] if start is None else [jobs.c.end_time >= start]
    return ended if end is None else [*ended, jobs.c.submit_time <= end]


def damaged(table: str, key: object) -> str:
    """Say that a record is not as it was written, and what to do."""
    return f"table {table}: record {key} is not as it was written: {_RECOVER}"


def _record(text: str) -> str:
    found = unsealed(text)
    if found is None:
        raise DatabaseError(damaged("jobs", f"{text[:80]}…"))
    return found


def _in_groups(writes: Iterable[Write]) -> Iterator[tuple[Insert | Delete | Update, list[dict[str, Any]]]]:
    """Put changes together that are made by the same statement. Those of one table keep their order."""
    by_table: dict[object, list[Write]] = {}
    for one in writes:
        by_table.setdefault(one.statement.table, []).append(one)
    for several in by_table.values():
        for statement, same in groupby(several, key=lambda one: one.statement):
            yield statement, [one.row for one in same]


def _other(version: int | None) -> str:
    """Say what to do with a database of another version."""
    if version is None:
        return "there are no tables yet: start its cluster with `rota up`"
    known = f"its tables have version {version}, and this rota uses {VERSION}"
    if version > VERSION:
        return f"{known}: start a newer rota"
    return f"{known}: stop its cluster with `rota down`, if it is up, and upgrade it with `rota up`"


def compress(data: Any) -> bytes:
    """Make compressed JSON."""
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 1)
