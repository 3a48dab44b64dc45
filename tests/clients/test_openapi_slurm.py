"""A client that openapi-generator made of the OpenAPI of slurmrestd v0.0.38, with strict models of all answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

from .conftest import CONF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Program


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, CONF, ["--http-tcp", "127.0.0.1:0"]) as cluster:
        yield cluster


def test_each_operation(program: Program, cluster: LiveCluster) -> None:
    log = (cluster.state / "controller.log").read_text()
    url = log.partition("http.sock, ")[2].split()[0]
    token = cluster.rota("token").stdout.strip()
    assert program("openapi-slurm", "openapi_slurm.py", url, token).stdout == "over\n"
