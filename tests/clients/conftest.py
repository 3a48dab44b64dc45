"""Programs that call Slurm, as PyPI has them, and the cluster that they find.

Each has an environment of its own, as they do not agree on the versions of what they share: `make clients` makes them
of ``requirements/clients``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

#: What the fixture `program` gives.
Program: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"

ENVIRONMENTS = Path(__file__).parents[2] / ".venv" / "clients"
PROGRAMS = Path(__file__).parent / "programs"
#: Seconds in which a program has to end.
_PATIENCE = 300.0
CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES MaxTime=1-0 DefMemPerCPU=100
KillWait=2
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let all tests of this folder count as slow ones."""
    folder = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """A live cluster with four nodes of four processors."""
    with LiveCluster(tmp_path, CONF) as cluster:
        yield cluster


@pytest.fixture
def program(cluster: LiveCluster) -> Program:
    """Run a program of the folder ``programs``, or a command of a client, in the client's environment.

    It is given the name of the client and of the program or command, arguments, and by the keyword ``environment``
    further variables, by ``launcher`` what starts it, such as ``srun``, and by ``status`` how it is to end. The
    commands of the client and of the cluster are on its PATH. If it ends otherwise, the test fails.
    """

    def run(
        client: str,
        name: str,
        *words: str,
        environment: dict[str, str] | None = None,
        launcher: tuple[str, ...] = (),
        status: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        home = ENVIRONMENTS / client
        if not home.is_dir():
            pytest.skip(f"{client} is not installed: `make clients`")
        path = f"{home / 'bin'}:{cluster.environment['PATH']}"
        # Without the last, what a program prints itself would come after what its commands do.
        further = {"PATH": path, "VIRTUAL_ENV": str(home), "PYTHONUNBUFFERED": "1", **(environment or {})}
        bin_ = home / "bin"
        started = [bin_ / "python", PROGRAMS / name] if name.endswith(".py") else [bin_ / name]
        command = (*launcher, *map(str, started), *words)
        done = cluster.run(*command, environment=further, patience=_PATIENCE, check=not status)
        assert done.returncode == status, done.stderr
        return done

    return run
