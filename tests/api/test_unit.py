"""``rota unit``: what systemd would run brings up a cluster with HTTP."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from configparser import ConfigParser
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

from .client import Client

if TYPE_CHECKING:
    from pathlib import Path


def _command(unit: str) -> list[str]:
    """Read ``ExecStart`` as systemd.service(5) says: words quoted as in C, and ``%`` and ``$`` written twice."""
    parser = ConfigParser(interpolation=None)
    parser.read_string(unit)
    assert parser["Service"]["Type"] == "exec"
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(parser["Service"]["ExecStart"])]


@pytest.mark.slow
def test_the_command_of_the_unit_serves_http(tmp_path: Path) -> None:
    folder = tmp_path / "with blanks, 100 %"
    folder.mkdir()
    cluster = LiveCluster(folder, "NodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    words = ["--state", str(cluster.state), "--config", str(cluster.conf), "--keep", "1-0", "--http"]
    command = _command(cluster.rota("unit", *words).stdout)
    assert command == [sys.executable, "-m", "rota", "up", "--foreground", *words]
    process = subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL)
    try:
        cluster.wait((cluster.state / "http.sock").exists)
        assert "p" in str(Client(cluster.state / "http.sock").get("/v1/partitions"))
        assert cluster.run("sinfo", "-h").returncode == 0
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    cluster.wait(lambda: not (cluster.state / "http.sock").exists())


def test_units_of_root_and_of_users(tmp_path: Path) -> None:
    cluster = LiveCluster(tmp_path)
    assert "WantedBy=multi-user.target\n" in cluster.rota("unit", "--system").stdout
    assert "WantedBy=default.target\n" in cluster.rota("unit").stdout
    refused = cluster.rota("unit", "--keep", "soon", check=False)
    assert (refused.returncode, "--keep" in refused.stderr) == (2, True)
