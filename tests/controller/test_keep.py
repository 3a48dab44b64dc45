"""Ended jobs are kept for 30 days, or as somebody has said, also after a restart, and those before are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.ended import accounting

from rota.controller.live_runs import job_row
from rota.store import Database
from rota.store.location import database_url
from rota.store.writes import add_job
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from pathlib import Path

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
