"""IPython Parallel: engines as tasks of a job, by its Slurm launcher; the job is cancelled when the cluster stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_engines(program: Program, cluster: LiveCluster) -> None:
    environment = {"HOME": str(cluster.directory), "IPYTHONDIR": str(cluster.directory / "ipython")}
    told = program("ipyparallel", "ipyparallel_engines.py", environment=environment).stdout.splitlines()
    assert told[-2:] == ["[('1', '0'), ('1', '1'), ('1', '2')]", "[0, 1, 4, 9, 16]"]
    cluster.idle()
    assert cluster.run("sacct", "-X", "-n", "-P", "-o", "State,ReqCPUS").stdout.startswith("CANCELLED by ")
