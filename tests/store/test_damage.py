"""What a database says of records that are not as they were written, and how far it has come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Engine, create_engine, select, text

from rota.controller.job_rows import job_row
from rota.store import Database, DatabaseError, make_or_upgrade
from rota.store.database import RECORD, compress
from rota.store.heads import Generation, Head, Heads, places, read_heads
from rota.store.location import database_url
from rota.store.remains import read_remains
from rota.store.writes import add_event, add_job, add_snapshot, purge, set_fact
from store.ended import accounting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EVENT = '{"event":"Tick"}'


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    make_or_upgrade(database_url(tmp_path), lambda _: None)
    found = Database(database_url(tmp_path))
    yield found
    found.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    found = create_engine(database_url(tmp_path))
    yield found
    found.dispose()


def _change(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount


def test_two_snapshots_stay_and_the_events_after_the_first(database: Database, engine: Engine) -> None:
    for seq in (2, 4, 6):
        database.write([add_event(number, number, _EVENT) for number in (seq - 1, seq)])
        database.write(add_snapshot(seq, compress({"at": seq})))
    database.write(purge(10))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT seq, until FROM snapshots ORDER BY seq")).all() == [(4, None), (6, None)]
        assert connection.execute(text("SELECT seq FROM journal ORDER BY seq")).all() == [(4,), (5,), (6,)]
    _change(engine, "UPDATE snapshots SET state = substr(state, 2) WHERE seq = 6")
    assert database.last_snapshot() == (4, {"at": 4})
    assert database.bad_snapshots == [6]
    assert [number for number, _, _ in database.events_after(4)] == [5, 6]


def test_a_snapshot_of_another_slurm_conf_does_not_lead_on(database: Database, engine: Engine) -> None:
    database.write(add_snapshot(2, compress({"at": 2})))
    database.write(add_snapshot(4, compress({"at": 4}), leads_on=False))
    _change(engine, "UPDATE snapshots SET seq = 5 WHERE seq = 4")  # it is in the place of another one
    with pytest.raises(DatabaseError, match="table snapshots: record 5 is not as it was written"):
        database.last_snapshot()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM journal WHERE seq = 2", "record 2 is missing"),
        ("UPDATE journal SET event = 'x' WHERE seq = 2", "record 2 is not as it was written"),
        ("UPDATE journal SET time = 9 WHERE seq = 3", "record 3 is not as it was written"),
    ],
)
def test_missing_and_altered_events(database: Database, engine: Engine, statement: str, said: str) -> None:
    database.write([add_event(number, number, _EVENT) for number in (1, 2, 3)])
    _change(engine, statement)
    with pytest.raises(DatabaseError, match=f"table journal: {said}: .*`rota recover`"):
        list(database.events_after(0))


def _found(folder: Path) -> list[str]:
    return [one.what for one in read_remains(database_url(folder)).findings]


def test_a_record_of_accounting_that_was_altered(database: Database, engine: Engine, tmp_path: Path) -> None:
    database.write(add_job(job_row(accounting(7, 604_800))))
    assert [record["job"]["job_id"] for record in database.job_records()] == [7]
    assert not _found(tmp_path)
    _change(engine, "UPDATE jobs SET state = 'FAILED'")
    assert _found(tmp_path) == ["table jobs: record 1 is not as it was written"]
    _change(engine, "UPDATE jobs SET record = replace(record, '/home', '/hope')")
    with pytest.raises(DatabaseError, match="table jobs: record"):
        database.job_texts(select(*RECORD))


def test_what_records_have_in_common_that_was_altered(database: Database, engine: Engine, tmp_path: Path) -> None:
    database.write(add_job(job_row(accounting(7, 604_800))))
    _change(engine, "UPDATE forms SET text = replace(text, 'COMPLETED', 'CANCELLED')")
    (what,) = _found(tmp_path)
    assert what.startswith("table forms: record ")
    assert what.endswith(" is not as it was written")
    with pytest.raises(DatabaseError, match=r"table forms: record \d+ is not as it was written"):
        database.job_texts(select(*RECORD))


def test_a_fact_that_was_altered(database: Database, engine: Engine) -> None:
    database.write(set_fact("next_job_id", "7"))
    _change(engine, "UPDATE facts SET value = '3' WHERE name = 'next_job_id'")
    with pytest.raises(DatabaseError, match="table facts: record next_job_id"):
        database.facts()


def test_looking_leaves_the_log_of_changes_alone(database: Database, tmp_path: Path) -> None:
    database.write([add_event(1, 1, _EVENT)])
    log = tmp_path / "rota.db-wal"
    data = bytearray(log.read_bytes())
    data[-100] ^= 1
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "rota.db").write_bytes((tmp_path / "rota.db").read_bytes())
    (tmp_path / "copy" / "rota.db-wal").write_bytes(data)
    assert read_remains(database_url(tmp_path / "copy")).seq == 0
    assert (tmp_path / "copy" / "rota.db-wal").read_bytes() == data


def test_how_far_it_has_come(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    generation = Generation().next()
    for seq in (1, 2):
        heads.write(Head("c", str(generation), seq, 5), sync=seq == 1)
    heads.close()
    assert read_heads(tmp_path) == (Head("c", str(generation), 2, 5), [])
    first, second = places(tmp_path)
    whole = first.read_bytes()
    first.write_bytes(whole[:20] + b"9" + whole[21:])
    assert read_heads(tmp_path) == (Head("c", str(generation), 2, 5), [f"{first} is not as it was written"])
    second.unlink()
    assert read_heads(tmp_path)[0] is None


def test_generations() -> None:
    first = Generation().next()
    second = first.next()
    assert second.follows(second)
    assert second.follows(first)
    assert not first.follows(second)
    assert not first.next().next().follows(second)  # somebody has gone on with another copy
    assert Generation.read(str(second)) == second
