"""Ended jobs are kept for 30 days, or as somebody has said, also after a restart, and those before are removed."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from store.ended import accounting

from rota.controller.housekeeping import Housekeeping
from rota.controller.job_rows import job_row
from rota.store import Database
from rota.store.location import database_url
from rota.store.writes import add_job
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from rota.store import Write

_DAY = 86_400


def test_a_cluster_remembers_for_how_long_it_keeps_ended_jobs(tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as cluster:
        assert "ended jobs kept   for 30-00:00:00\n" in cluster.rota("status").stdout
        now = cluster.status()["now"]
        cluster.rota("down")
        database = Database(database_url(cluster.state))
        days = (50, 31, 29, 1)  # ago
        for number, day in enumerate(days, 101):
            database.write(add_job(job_row(accounting(number, now - day * _DAY))))
        database.close()

        def kept() -> list[str]:
            return cluster.run("sacct", "-a", "-n", "-X", "-S", "2020-01-01", "-o", "JobID%5").stdout.split()

        cluster.rota("up", "--keep", "40-0")
        cluster.wait(lambda: kept() == ["102", "103", "104"])
        cluster.rota("down")
        cluster.rota("up")
        assert cluster.status()["keep"] == 40 * _DAY
        cluster.rota("down")
        cluster.rota("up", "--keep", "30-0")
        cluster.wait(lambda: kept() == ["103", "104"])
        cluster.rota("down")
        cluster.rota("up", "--keep", "UNLIMITED")
        assert "ended jobs kept   for ever\n" in cluster.rota("status").stdout


def _purges(housekeeping: Housekeeping, written: list[Write], *times: int) -> list[int]:
    """Give before which ends jobs are removed, in rounds at some times."""
    written.clear()
    for now in times:
        housekeeping._purge(now)
    return [one.row["ended"] for one in written[::3]]


def test_a_clock_that_jumps_ahead_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Write] = []
    driver: Any = SimpleNamespace(trouble="", write=written.extend)
    since, oldest = 1000.0, 5 * _DAY
    monkeypatch.setattr(time, "monotonic", lambda: since)
    found = Housekeeping(
        driver,
        driver,
        keep=30 * _DAY,
        oldest=lambda: oldest,
        last=50 * _DAY,
        looks=(),
        forget=lambda _: [],
        log=lambda _: None,
    )
    assert _purges(found, written, 50 * _DAY, 50 * _DAY + 2) == [20 * _DAY, 20 * _DAY + 2]  # there is more
    assert _purges(found, written, 3650 * _DAY, 3650 * _DAY + 2) == []
    assert _purges(found, written, 50 * _DAY) == []  # it has come back
    since += 2 * _DAY
    oldest = 25 * _DAY
    assert _purges(found, written, 51 * _DAY, 51 * _DAY + 2) == [21 * _DAY]
    since += 700
    driver.trouble = "the disk is full"
    assert _purges(found, written, 51 * _DAY + 700) == []
    driver.trouble = ""
    assert _purges(found, written, 51 * _DAY + 702) == [21 * _DAY + 702]
