"""A live cluster with HTTP, for all tests that leave it as they found it."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.testing.live import LiveCluster

from .client import Client
from .lustre import EVER, Lustre, fill
from .lustre import serving as serving_lustre
from .services import running

if TYPE_CHECKING:
    from collections.abc import Iterator

CONF = """
ClusterName=api
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[1-2] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=short Nodes=n1 MaxTime=10
"""


class Served(NamedTuple):
    """A cluster that is served over HTTP."""

    cluster: LiveCluster
    #: On the Unix socket.
    client: Client
    port: int

    def with_token(self, token: str) -> Client:
        return Client(self.port, {"Authorization": f"Bearer {token}"})


def free_port() -> int:
    """Give a TCP port that nobody has now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
        return number


@contextmanager
def serving(cluster: LiveCluster, *options: str) -> Iterator[None]:
    """Serve a cluster with `rota http`, until the end."""
    with running("rota", "http", "--state", str(cluster.state), *options) as line:
        assert line.startswith("HTTP at ")
        yield


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A cluster of two nodes."""
    port = free_port()
    with LiveCluster(tmp_path_factory.mktemp("api"), CONF, ["--http-tcp", f"127.0.0.1:{port}"]) as cluster:
        yield Served(cluster, Client(cluster.state / "http.sock"), port)


@pytest.fixture(scope="session")
def lustre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lustre]:
    """A service whose store was filled before, and that reads nothing."""
    folder = tmp_path_factory.mktemp("lustre")
    fill(folder / "store")
    (folder / "empty").mkdir()
    options = ("--source", f"dir:{folder / 'empty'}", "--keep", EVER)
    with serving_lustre(folder / "store", folder / "log", free_port(), *options) as found:
        yield found
