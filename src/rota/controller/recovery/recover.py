"""Saving what can be saved: a new database from what can be read, with the state that agrees with the supervisor.

The files that were there are moved aside as they are; nothing is deleted.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError

from rota.controller.driver import NEXT_JOB_ID, OTHERS
from rota.controller.recovery.inspection import CLUSTER, GENERATION
from rota.controller.recovery.state import next_ids
from rota.core.plain import shape_of
from rota.executor.traces import mend_log, move_log
from rota.model import ClusterConfig
from rota.store import Database, DatabaseError, make_or_upgrade
from rota.store.connection import cause, engine_of
from rota.store.heads import Generation, Head, Heads, places
from rota.store.location import database_url, sqlite_path
from rota.store.schema import metadata
from rota.store.writes import (
    add_event,
    add_job,
    add_letter,
    add_run,
    add_snapshot,
    add_submission,
    set_fact,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rota.controller.recovery.inspection import Inspection
    from rota.controller.recovery.state import Rebuilt
    from rota.store import Write

#: The facts that are made anew, and are not taken over.
_OWN = {CLUSTER, GENERATION, NEXT_JOB_ID, OTHERS, "version"}


class Plan:
    """What is saved, and where it goes.

    Args:
        inspection: What was found.
        made: The state from which the cluster goes on.
        config: Its configuration (slurm.conf).
    """

    def __init__(self, inspection: Inspection, made: Rebuilt, config: ClusterConfig) -> None:
        self._inspection = inspection
        self._made = made
        self._config = config
        self.next_job_id, self._seq = next_ids(inspection, made)
        stamp = time.strftime("%Y%m%dT%H%M%S")
        #: Where the files go that are there now.
        self.aside: Path = inspection.state / f"damaged-{stamp}"

    def describe(self) -> dict[str, Any]:
        """Say as JSON data what is wrong, what is saved, and what is lost."""
        made, found = self._made, self._inspection
        return {
            "state": str(found.state),
            "findings": [one._asdict() for one in [*found.findings, *made.findings]],
            "saved": {
                "snapshot": made.snapshot,
                "events": made.seq - made.snapshot,
                "ended_jobs": len(found.remains.jobs),
                "submissions": len(found.remains.submissions),
            },
            "jobs": {
                "running": made.running,
                "found": made.found,
                "held": made.held,
                "cancelled": made.cancelled,
                "ended": made.ended,
                "unknown": made.unknown,
            },
            "next_job_id": self.next_job_id,
            "aside": str(self.aside),
        }

    def carry_out(self) -> None:
        """Write the new database, and move what was there aside.

        Raises:
            DatabaseError: it cannot be written; then everything is where it was.
        """
        state = self._inspection.state
        url = database_url(state)
        self.aside.mkdir(mode=0o700)
        _put_aside(state, url, self.aside)
        try:
            make_or_upgrade(url, lambda _: None)
            database = Database(url)
            try:
                database.write(self._writes())
            finally:
                database.close()
        except BaseException:
            _put_back(state, url, self.aside)
            raise
        self._mend_supervisor()
        heads = Heads(state)
        heads.write(Head(self._cluster, str(self._generation), self._seq, self.next_job_id), sync=True)
        heads.close()

    def _mend_supervisor(self) -> None:
        found, state = self._inspection.traces, self._inspection.state
        if found.is_watched:
            return
        if found.cluster not in ("", self._cluster):
            move_log(state, self.aside)
        elif found.wrong or (self._made.running and not found.is_there):
            mend_log(state, self.aside)

    @cached_property
    def _cluster(self) -> str:
        """The cluster's identity: that of the jobs that run, if there are any."""
        found = self._inspection
        known = found.head.cluster if found.head is not None else ""
        first, second = found.traces.cluster, found.cluster
        return (first if found.traces.runs or found.traces.is_watched else "") or second or known or os.urandom(8).hex()

    @cached_property
    def _generation(self) -> Generation:
        """A generation after all that are known."""
        known = [self._inspection.position.generation]
        known += [self._inspection.head.generation] if self._inspection.head is not None else []
        return Generation().next(above=max((int(one.partition(":")[0] or 0) for one in known), default=0))

    def _writes(self) -> list[Write]:
        made, remains = self._made, self._inspection.remains
        config = shape_of(ClusterConfig).encode(self._config)
        facts = {name: value for name, value in remains.facts.items() if name not in _OWN}
        facts |= {CLUSTER: self._cluster, GENERATION: str(self._generation), NEXT_JOB_ID: str(self.next_job_id)}
        writes = [one for name, value in facts.items() for one in set_fact(name, value)]
        state = json.dumps({"engine": made.save(), "config": config}, separators=(",", ":")).encode()
        writes += add_snapshot(self._seq, zlib.compress(state, 1))
        writes += [add_event(*one) for one in (*remains.history, *remains.events)]
        writes += [add_submission(*one) for one in {**remains.submissions, **made.submissions}.items()]
        writes += [add_run(*key, data) for key, data in remains.runs.items() if key[0] in made.running]
        writes += [add_letter(*one) for one in remains.letters.items()]
        ended = ({**row, "record": json.loads(row["record"])} for row in remains.jobs)
        return [*writes, *(one for row in (*ended, *made.rows) for one in add_job(row))]


def _put_aside(state: Path, url: str, aside: Path) -> None:
    """Move the database, and what says how far it had come, into a directory; tables of PostgreSQL into a schema."""
    if sqlite_path(url) is None:
        _move_tables(url, _schema(aside))
    for path, other in _files(state, url, aside):
        if path.exists():
            path.rename(other)


def _put_back(state: Path, url: str, aside: Path) -> None:
    """Undo `_put_aside`; what was made in the place of what is there is no more."""
    if sqlite_path(url) is None:
        _move_tables(url, _schema(aside), back=True)
    for path, other in _files(state, url, aside):
        path.unlink(missing_ok=True)
        if other.exists():
            other.rename(path)
    aside.rmdir()


def _files(state: Path, url: str, aside: Path) -> Iterator[tuple[Path, Path]]:
    """Give the files that are moved, each with where it goes."""
    for number, path in enumerate(places(state)):
        yield path, aside / f"{path.name}.{number + 1}"
    if (database := sqlite_path(url)) is not None:
        for end in ("", "-wal", "-shm"):
            yield database.with_name(database.name + end), aside / f"{database.name}{end}"


def _schema(aside: Path) -> str:
    return aside.name.replace("-", "_").lower()  # as PostgreSQL takes it without quotes


def _move_tables(url: str, schema: str, *, back: bool = False) -> None:
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            known = inspect(connection)
            if back:
                metadata.drop_all(connection)
                own = known.default_schema_name
                for name in known.get_table_names(schema):
                    connection.execute(text(f"ALTER TABLE {schema}.{name} SET SCHEMA {own}"))
                connection.execute(text(f"DROP SCHEMA {schema}"))
                return
            connection.execute(text(f"CREATE SCHEMA {schema}"))
            for name in known.get_table_names():
                if name in metadata.tables:
                    connection.execute(text(f"ALTER TABLE {name} SET SCHEMA {schema}"))
    except SQLAlchemyError as error:
        raise DatabaseError(cause(error)) from None
    finally:
        engine.dispose()
