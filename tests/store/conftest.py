"""A real PostgreSQL, where there is one."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.store import Database, make_or_upgrade

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_NUMBERS = count(1)


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start a server; give the directory of its socket."""
    if not _PROGRAMS:
        pytest.skip("PostgreSQL's server is not installed")
    folder = tmp_path_factory.mktemp("pg")
    if os.geteuid() == 0:  # the server refuses to run as root
        found = pwd.getpwnam("postgres")
        for one in folder.parents:
            if not one.stat().st_mode & 0o001:
                one.chmod(one.stat().st_mode | 0o011)
        os.chown(folder, found.pw_uid, found.pw_gid)
    data = str(folder / "data")
    _run("initdb", "-D", data, "-A", "trust", "-U", "rota")
    _run("pg_ctl", "-w", "-D", data, "-o", f"-k {folder} -c listen_addresses=''", "-l", str(folder / "log"), "start")
    yield folder
    _run("pg_ctl", "-w", "-D", data, "-m", "immediate", "stop")


def _run(program: str, *words: str) -> None:
    runuser = shutil.which("runuser", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")  # not on the path of all users
    as_user = [runuser or "runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    command = [*as_user, str(_PROGRAMS[-1] / program), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


@pytest.fixture
def postgresql(_server: Path) -> str:
    """Make an empty database; give its URL."""
    name = f"rota{next(_NUMBERS)}"
    _run("createdb", "-h", str(_server), "-U", "rota", name)
    return f"postgresql+psycopg://rota@/{name}?host={_server}"


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A new database: of SQLite, or as the test says."""
    is_file = getattr(request, "param", "sqlite") == "sqlite"
    url = f"sqlite:///{tmp_path}/rota.db" if is_file else str(request.getfixturevalue("postgresql"))
    make_or_upgrade(url, print)
    database = Database(url)
    yield database
    database.close()
