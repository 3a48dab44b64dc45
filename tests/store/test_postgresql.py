"""A live cluster whose database is a real PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
pytestmark = pytest.mark.skipif(not _PROGRAMS, reason="PostgreSQL's server is not installed")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Start a server with an empty database; give its URL."""
    folder = tmp_path / "pg"
    folder.mkdir()
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        found = pwd.getpwnam("postgres")
        for one in (tmp_path, *tmp_path.parents[:2]):
            one.chmod(one.stat().st_mode | 0o011)
        os.chown(folder, found.pw_uid, found.pw_gid)
        as_user = [shutil.which("runuser") or "runuser", "-u", "postgres", "--"]

    def run(program: str, *words: str) -> None:
        command = [*as_user, str(_PROGRAMS[-1] / program), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    data = str(folder / "data")
    run("initdb", "-D", data, "-A", "trust", "-U", "rota")
    run("pg_ctl", "-w", "-D", data, "-o", f"-k {folder} -c listen_addresses=''", "-l", str(folder / "log"), "start")
    try:
        run("createdb", "-h", str(folder), "-U", "rota", "rota")
        yield f"postgresql+psycopg://rota@/rota?host={folder}"
    finally:
        run("pg_ctl", "-w", "-D", data, "-m", "immediate", "stop")


def test_a_cluster_in_postgresql(server: str, tmp_path: Path) -> None:
    with LiveCluster(tmp_path, options=("--database", server)) as cluster:
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


def test_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://rota:secret@/rota?host={tmp_path}"
    cluster = LiveCluster(tmp_path, options=("--database", url))
    with pytest.raises(AssertionError, match="connection") as caught:
        cluster.up()
    assert "secret" not in str(caught.value.args[0]).partition("2: ")[2]
