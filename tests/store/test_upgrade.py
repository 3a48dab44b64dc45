"""Databases that earlier versions have written are upgraded, all or nothing.

`recorded/record.py` says how they were written, with the listings that each version itself showed of its own.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    Table,
    column,
    create_engine,
    insert,
    inspect,
    make_url,
    select,
    table,
    update,
)

from rota.controller.run import Run
from rota.core.plain import shape_of
from rota.model.accounting import AccountingRecord
from rota.store import Database, DatabaseError, make_or_upgrade
from rota.store.location import database_url, set_database_url
from rota.store.migrations import MIGRATIONS, version_2
from rota.store.schema import VERSION, facts, metadata
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_HERE = Path(__file__).parent
_RECORDED = _HERE / "recorded"
#: A job that is requeued as its run is lost, with the time of that, which is told as that of its submission.
_REQUEUED = re.compile(r"^(17_[78]\|requeued\|.*\|)[\d-]{10}T[\d:]{8}(?=\||$)", re.MULTILINE)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty PostgreSQL database, or nothing: SQLite."""
    return str(request.getfixturevalue("postgresql")) if request.param == "postgresql" else ""


@pytest.fixture
def state(database: str, tmp_path: Path) -> Path:
    """The state directory of a cluster whose database is of version 1."""
    return _state(tmp_path, database, 1)


def _state(folder: Path, database: str, version: int) -> Path:
    state = folder / "state"
    state.mkdir()
    recorded = folder / "recorded.db" if database else state / "rota.db"
    recorded.write_bytes(gzip.decompress((_RECORDED / f"version_{version}.db.gz").read_bytes()))
    for name in ("journal.head", "supervisor.log", "supervisor.tail"):
        if (beside := _RECORDED / f"version_{version}.{name}").exists():
            shutil.copy(beside, state / name)
    if database:
        set_database_url(state, database)
        with closing(sqlite3.connect(recorded)) as old, _connected(database_url(state)) as new:
            _copy(old, new, version)
    return state


def _copy(old: sqlite3.Connection, new: Connection, version: int) -> None:
    for statement in (_RECORDED / f"version_{version}.sql").read_text().split(";\n")[:-1]:
        new.exec_driver_sql(statement)
    for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = old.execute(f"SELECT * FROM {name}")  # noqa: S608 - a name of the file's own
        names = [one[0] for one in rows.description]
        values = [dict(zip(names, row, strict=True)) for row in rows]
        if values:
            new.execute(insert(table(name, *map(column, names))), values)
    new.exec_driver_sql("SELECT setval('jobs_id_seq', (SELECT max(id) FROM jobs))")


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _all(url: str) -> dict[str, list[Any]]:
    """Give everything that is in a database."""
    with _connected(url) as connection:
        tables = MetaData()
        tables.reflect(connection)
        return {name: sorted(map(tuple, connection.execute(select(one)))) for name, one in tables.tables.items()}


def _set_version(url: str, version: int) -> None:
    with _connected(url) as connection:
        connection.execute(update(facts).where(facts.c.name == "version").values(value=str(version)))


def _place(state: Path) -> str:
    """Give what messages call the database."""
    file = state / "rota.db"
    return str(file) if file.exists() else str(make_url(database_url(state)))


def _listings(version: int) -> dict[str, str]:
    """Give what a version showed, by command."""
    found = (_RECORDED / f"version_{version}.txt").read_text().split("$ ")[1:]
    return {command: shown for command, _, shown in (one.partition("\n") for one in found)}


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_cluster_of_another_version_goes_on(
    version: int, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = _state(tmp_path, database, version)
    monkeypatch.setenv("TZ", "UTC")  # as it was recorded
    with LiveCluster(state.parent, (_RECORDED / "slurm.conf").read_text()) as cluster:
        # On the machine that has recorded it, the processes of its jobs are looked for.
        cluster.wait(lambda: "RUNNING" not in cluster.status()["jobs"])
        for command, shown in _listings(version).items():
            found = _REQUEUED.sub(r"\1", cluster.run(*command.split()).stdout)
            recorded = _REQUEUED.sub(r"\1", shown)
            assert found == recorded if version > 1 else _without_account(found) == _without_account(recorded)
        log = (cluster.state / "controller.log").read_text()
        assert f": upgraded from version {version} to {VERSION}\n" in log
        cluster.run("scancel", "22")
        cluster.run("scontrol", "update", "partitionname=shared", "state=up")
        assert cluster.submit("--wait", "-p", "shared", "-o", "/dev/null", "--wrap", "true") == 26
        cluster.rota("down")
        cluster.up()
        assert (cluster.state / "controller.log").read_text().count("upgraded") == 1


def _without_account(shown: str) -> list[str]:
    """Leave account and QOS out: since version 1, root's jobs that had not ended are in those of a new cluster."""
    for old, new in (("|root|default|", "|root|root|"), ("||default||", "||root||"), ("|normal|", "||")):
        shown = shown.replace(old, new)
    return shown.splitlines()


def test_version_2_drops_repeated_fields_moves_usage_and_no_more(state: Path) -> None:
    with _connected(database_url(state)) as connection:
        before = _records(connection)
        version_2.upgrade(Operations(MigrationContext.configure(connection)))
        after = _records(connection)
    old, new = [json.loads(one) for one in before], [json.loads(one) for one in after]
    assert {name for one in old for name in one["job"]} >= version_2.OF_JOB
    assert {name for one in old for name in one} >= version_2.OF_RUN
    for one in old:
        one["job"] = {name: value for name, value in one["job"].items() if name not in version_2.OF_JOB}
        usage = one.pop("usage", {})
        for step in one.get("steps", ()):
            if step["step_id"] in usage:
                step["usage"] = usage[step["step_id"]]
    assert new == [{name: value for name, value in one.items() if name not in version_2.OF_RUN} for one in old]
    assert any(r"caf\udce9" in one for one in after)


def _records(connection: Connection) -> list[str]:
    statements = "SELECT record FROM jobs ORDER BY id", "SELECT data FROM runs ORDER BY job_id"
    return [text for one in statements for (text,) in connection.exec_driver_sql(one)]


def test_what_was_stored_is_valid_now(state: Path) -> None:
    make_or_upgrade(database_url(state), lambda _: None)
    database = Database(database_url(state))
    stored: list[tuple[type, Any]] = [(AccountingRecord, one) for one in database.job_records()]
    stored += [(Run, one) for one in database.runs().values()]
    database.close()
    assert len(stored) == 17 + 3
    for kind, data in stored:
        shape = shape_of(kind)
        assert not shape.problem(shape.decode(data))


@pytest.mark.slow
def test_killed_before_each_change_and_the_commit(state: Path) -> None:
    url = database_url(state)
    with _connected(url) as connection:  # more than one batch, and more than SQLite keeps in memory until it commits
        jobs = Table("jobs", MetaData(), autoload_with=connection)
        values = [one for one in jobs.c if one.name != "id"]
        for _ in range(7):
            connection.execute(insert(jobs).from_select(values, select(*values)))
    before = _all(url)
    number, killed = 1, -signal.SIGKILL
    while subprocess.run([sys.executable, _HERE / "killed.py", url, str(number)], check=False).returncode == killed:
        assert _all(url) == before
        number += 1
    assert number == 18  # of each of seven migrations what it changes, in batches; the version; the commit
    after = _all(url)
    assert {name: value for name, value, _ in after.pop("facts")}["version"] == str(VERSION)
    make_or_upgrade(url, lambda _: pytest.fail("it has been upgraded"))
    for name in ("journal", "submissions"):
        assert [row[: len(old)] for row, old in zip(after[name], before[name], strict=True)] == before[name]
    assert len(after["jobs"]) == len(before["jobs"]) == 17 << 7


def test_a_damaged_record_leaves_all_as_it_is(state: Path) -> None:
    url = database_url(state)
    with _connected(url) as connection:
        connection.exec_driver_sql("UPDATE runs SET data = '{' WHERE job_id = 19")
    before = _all(url)
    with pytest.raises(DatabaseError, match="left as it is"):
        make_or_upgrade(url, lambda _: None)
    assert _all(url) == before


def test_changed_tables_are_changed_back_if_a_migration_fails(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(operations: Operations) -> None:
        with operations.batch_alter_table("jobs") as batch:
            batch.drop_column("name")
        operations.create_table("more", Column("id", Integer, primary_key=True))
        raise ValueError("here")

    monkeypatch.setattr("rota.store.migrations.MIGRATIONS", {2: fail})
    before = _all(database_url(state))
    with pytest.raises(DatabaseError, match="here"):
        make_or_upgrade(database_url(state), lambda _: None)
    assert _all(database_url(state)) == before


def test_readers_leave_an_older_database_alone(state: Path) -> None:
    before = _all(database_url(state))
    done = LiveCluster(state.parent).rota("replay", str(state), check=False)
    assert done.returncode == 2
    assert f"{_place(state)}: its tables have version 1, and this rota uses {VERSION}: stop its cluster" in done.stderr
    assert _all(database_url(state)) == before


def test_a_newer_database_is_refused(state: Path) -> None:
    url = database_url(state)
    make_or_upgrade(url, lambda _: None)
    _set_version(url, VERSION + 1)
    before = _all(url)
    with pytest.raises(AssertionError, match="start a newer rota") as caught:
        LiveCluster(state.parent).up()
    assert f"{_place(state)}: its tables have version {VERSION + 1}, and this rota uses {VERSION}" in str(caught.value)
    assert _all(url) == before


def test_no_password_is_shown(postgresql: str) -> None:
    url = postgresql.replace("rota@", "rota:secret@")
    make_or_upgrade(url, lambda _: None)
    _set_version(url, VERSION + 1)
    with pytest.raises(DatabaseError) as caught:
        Database(url)
    assert "rota:***@" in str(caught.value)


def test_a_database_without_tables_is_for_the_controller(tmp_path: Path) -> None:
    url = database_url(tmp_path)
    with pytest.raises(DatabaseError, match="no tables yet"):
        Database(url)
    make_or_upgrade(url, lambda _: pytest.fail("there is nothing to upgrade"))
    Database(url).close()


def test_what_migrates_is_loaded_for_migrations_alone(tmp_path: Path) -> None:
    program = (
        "import sys; from rota.cli.serve import Database, make_or_upgrade\n"
        "make_or_upgrade(sys.argv[1], print); Database(sys.argv[1]).close()\n"
        "sys.exit('alembic' in sys.modules)"
    )
    for _ in ("new", "known"):
        subprocess.run([sys.executable, "-c", program, database_url(tmp_path)], check=True)


def test_migrations_make_the_tables_of_today(state: Path) -> None:
    url = database_url(state)
    make_or_upgrade(url, lambda _: None)
    with _connected(url) as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        keys = {name: inspect(connection).get_pk_constraint(name)["constrained_columns"] for name in metadata.tables}
    assert not differences, "raise VERSION in rota.store.schema, and add a migration that changes the tables"
    assert keys == {name: one.primary_key.columns.keys() for name, one in metadata.tables.items()}


def test_there_is_a_migration_to_each_version() -> None:
    assert list(MIGRATIONS) == list(range(2, VERSION + 1))
