"""FireWorks: the queue adapter behind its `qlaunch`, which would need a MongoDB."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_queue(program: Program, cluster: LiveCluster) -> None:
    environment = {"HOME": str(cluster.directory)}
    assert program("fireworks", "fireworks_queue.py", getpass.getuser(), environment=environment).stdout == "1 0 1\n"
    cluster.idle()
    asked = ("sacct", "-X", "-n", "-P", "-o", "JobName,State,NNodes,NTasks,ReqCPUS,Timelimit")
    assert cluster.run(*asked).stdout == "fw|COMPLETED|2||2|00:05:00\n"
    assert len((cluster.directory / "ran").read_text().splitlines()) == 2
