"""Jobs that ended long ago are removed in small steps, with what only they needed; the space is used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.controller.job_rows import job_row
from rota.store.forms import WEEK
from rota.store.schema import forms, journal
from rota.store.writes import add_event, add_job, add_snapshot, purge
from store.ended import accounting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rota.store import Database

_BOTH = pytest.mark.parametrize("opened", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)


def _write(database: Database, ends: Iterable[int], first: int = 1) -> None:
    database.write(
        write for number, end in enumerate(ends, first) for write in add_job(job_row(accounting(number, end)))
    )


def _forms(database: Database) -> set[int]:
    return {week for _, week, *_ in database._rows(forms.select())}


def _events(database: Database) -> list[int]:
    return sorted(seq for seq, *_ in database._rows(journal.select()))


@_BOTH
def test_jobs_are_removed_in_steps_and_forms_with_the_last_of_them(opened: Database) -> None:
    database, old = opened, 10 * WEEK + 7
    _write(database, [old] * 4500)
    _write(database, [old + 3 * WEEK], first=5000)
    left = []
    while (oldest := database.oldest_end()) is not None and oldest <= old:
        database.write(purge(old + 1))
        left.append(database.job_count())
    assert left == [2501, 501, 1]
    assert _forms(database) == {10, 13}  # a week more, for those who read
    database.write(purge(old + 2 * WEEK))
    assert _forms(database) == {13}
    _write(database, [old], first=5001)  # an end that was heard of late needs a form again
    assert {record["job"]["job_id"] for record in database.job_records()} == {5000, 5001}
    database.write(purge(0))
    assert (database.job_count(), _forms(database)) == (2, {10, 13})


@_BOTH
def test_events_before_a_snapshot_are_removed_but_those_about_nodes(opened: Database) -> None:
    database = opened
    node, other = '{"event":"UpdateNode","name":"n1"}', '{"event":"SchedulePass"}'
    database.write(add_event(seq, seq, node if seq % 5 == 0 else other) for seq in range(1, 21))
    database.write(purge(10))
    assert _events(database) == [*range(1, 21)]  # nothing includes them yet
    database.write(add_snapshot(18, b""))
    database.write(purge(0))
    assert _events(database) == [5, 10, 15, 18, 19, 20]
    database.write(purge(11))
    assert _events(database) == [15, 18, 19, 20]
    assert database.last_time() == 20


def test_the_space_of_jobs_that_were_removed_is_used_again(opened: Database, tmp_path: Path) -> None:
    database, sizes = opened, []
    for day in range(6):
        _write(database, [day] * 1000, first=1000 * day)
        database.write(purge(day))
        with database._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        sizes.append((tmp_path / "rota.db").stat().st_size)
    assert max(sizes) < 2.5 * sizes[0]
    assert sizes[-1] <= sizes[2] * 1.02
