"""JupyterHub with batchspawner: servers of notebooks as jobs."""

from __future__ import annotations

import json
import socket
import subprocess
from getpass import getuser
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from .conftest import ENVIRONMENTS, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.testing.live import LiveCluster

_TOKEN = "of-the-test"


class Hub:
    """A JupyterHub.

    Args:
        cluster: Where its servers run.
    """

    def __init__(self, cluster: LiveCluster) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        home = ENVIRONMENTS / "batchspawner"
        path = f"{home / 'bin'}:{cluster.environment['PATH']}"
        own = {"PATH": path, "HUB_PORT": str(self._port), "HUB_TOKEN": _TOKEN}
        with (cluster.directory / "hub.log").open("w") as log:
            self.process = subprocess.Popen(
                [home / "bin" / "jupyterhub", "-f", PROGRAMS / "jupyterhub_config.py"],
                cwd=cluster.directory,
                env={**cluster.environment, **own},
                stdout=log,
                stderr=log,
            )

    def ask(self, path: str, method: str = "GET") -> Any:
        """Ask its API; ``None``: it does not answer, or has nothing to say."""
        request = Request(f"http://127.0.0.1:{self._port}/hub/api{path}", method=method)
        request.add_header("Authorization", f"token {_TOKEN}")
        try:
            with urlopen(request, timeout=60) as answer:  # noqa: S310 - the address is above
                return json.loads(answer.read() or "null")
        except URLError:
            return None


@pytest.fixture
def hub(cluster: LiveCluster) -> Iterator[Hub]:
    """A JupyterHub, with one user."""
    if not (ENVIRONMENTS / "batchspawner").is_dir():
        pytest.skip("batchspawner is not installed: `make clients`")
    hub = Hub(cluster)
    try:
        cluster.wait(lambda: hub.ask("/"))
        yield hub
    finally:
        hub.process.terminate()
        hub.process.wait(60)


def _state(cluster: LiveCluster) -> str:
    return cluster.run("squeue", "-h", "-t", "all", "-o", "%T %j %C %l %m").stdout.strip()


def test_a_server_is_a_job_until_it_is_stopped(cluster: LiveCluster, hub: Hub) -> None:
    user = f"/users/{getuser()}"

    def ready() -> bool:
        server: dict[str, Any] = (hub.ask(user) or {}).get("servers", {}).get("", {})
        return bool(server.get("ready"))

    hub.ask(user, "POST")
    hub.ask(f"{user}/server", "POST")
    cluster.wait(ready)
    assert _state(cluster) == "RUNNING spawner-jupyterhub 2 30:00 500M"
    # While there is no controller, the hub keeps the server, as it asks every second and is told what Slurm would say.
    cluster.kill()
    log = cluster.directory / "hub.log"
    cluster.wait(lambda: log.read_text().count("Unable to contact slurm controller") > 1)
    assert ready()
    cluster.up()
    hub.ask(f"{user}/server", "DELETE")
    cluster.idle()
    assert _state(cluster).startswith("CANCELLED ")
    assert not ready()


def test_a_server_that_is_cancelled_is_noticed(cluster: LiveCluster, hub: Hub) -> None:
    user = f"/users/{getuser()}"
    hub.ask(user, "POST")
    hub.ask(f"{user}/server", "POST")
    cluster.wait(lambda: hub.ask(user)["server"])
    cluster.run("scancel", "-n", "spawner-jupyterhub")
    cluster.wait(lambda: not hub.ask(user)["server"])
