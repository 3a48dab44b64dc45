"""A live cluster whose database is a real PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, delete, insert, select

from rota.store.schema import metadata
from rota.testing.live import LiveCluster


def test_a_cluster_in_postgresql(postgresql: str, tmp_path: Path) -> None:
    with LiveCluster(tmp_path, options=("--database", postgresql)) as cluster:
        job_id = cluster.submit("-o", "out", "--wrap", "echo begun; until [ -e go ]; do sleep 0.05; done; exit 4")
        cluster.wait((tmp_path / "out").exists)
        array = cluster.submit("-H", "-a", "1-3", "--wrap", "true")
        cluster.kill()
        cluster.up()
        (tmp_path / "go").touch()
        cluster.run("scontrol", "release", str(array))
        cluster.idle()
        shown = cluster.run("sacct", "-n", "-X", "-P", "-o", "JobID,State,ExitCode").stdout.splitlines()
        expected = [f"{job_id}|FAILED|4:0", *(f"{array}_{task}|COMPLETED|0:0" for task in (1, 2, 3))]
        assert sorted(shown) == sorted(expected)
        assert not (cluster.state / "rota.db").exists()


def test_an_older_dump_that_was_restored(postgresql: str, tmp_path: Path) -> None:
    with LiveCluster(tmp_path, options=("--database", postgresql)) as cluster:
        first = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
        cluster.rota("down")
        engine = create_engine(postgresql)
        with engine.begin() as connection:
            dump = {one: [*connection.execute(select(one)).mappings()] for one in metadata.sorted_tables}
        cluster.up()
        later = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
        runs = cluster.submit("-o", "out", "--wrap", "echo begun; until [ -e go ]; do sleep 0.05; done; exit 4")
        cluster.wait((tmp_path / "out").exists)
        cluster.rota("down")
        with engine.begin() as connection:
            for table, rows in dump.items():
                connection.execute(delete(table))
                if rows:
                    connection.execute(insert(table), [dict(row) for row in rows])
        engine.dispose()
        done = cluster.rota("up", check=False)
        assert done.returncode == 2
        assert "the database has come to event" in done.stderr
        program = [sys.executable, str(Path(__file__).parents[1] / "recovery" / "fails.py"), str(cluster.state)]
        failed = subprocess.run(program, capture_output=True, text=True, check=False)
        assert (failed.returncode, failed.stderr) == (2, "rota: error: the disk is full\n")
        assert cluster.rota("up", check=False).stderr == done.stderr  # everything is where it was
        cluster.rota("recover", "--yes")
        cluster.up()
        assert cluster.submit("-H", "--wrap", "true") == runs + 1
        (tmp_path / "go").touch()
        cluster.wait(lambda: runs in cluster.ended())
        assert cluster.ended()[runs]["exit_code"] == 4
        assert first in cluster.ended()
        assert later not in cluster.ended()


def test_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://rota:secret@/rota?host={tmp_path}"
    cluster = LiveCluster(tmp_path, options=("--database", url))
    with pytest.raises(AssertionError, match="connection") as caught:
        cluster.up()
    assert "secret" not in str(caught.value.args[0]).partition("2: ")[2]
