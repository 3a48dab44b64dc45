"""signac-flow: the operations of a project as jobs, one by one and in bundles, and their status."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_project(program: Program, cluster: LiveCluster) -> None:
    def project(*words: str) -> str:
        return program("signac-flow", "signac_project.py", *words, environment={"HOME": str(cluster.directory)}).stdout

    project("init")
    project("submit", "--hold", "-o", "square", "--num", "1")
    assert "[Q]: 1" in project("status")
    held = cluster.run("squeue", "-h", "-o", "%i").stdout.strip()
    cluster.run("scontrol", "release", held)
    cluster.idle()
    project("submit", "-o", "square")
    cluster.idle()
    # With --after it waits for the end of the job.
    project("submit", "-o", "copy", "--bundle", "3", "--parallel", "--after", held)
    copies = sorted(path.read_text() for path in (cluster.directory / "workspace").glob("*/copy"))
    assert copies == ["16 on n1\n", "4 on n1\n", "9 on n1\n"]
    # Squares/ID/square/HASH, and Squares/bundle/HASH.
    names = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName").stdout.splitlines()
    assert [name.split("/")[-2] for name in names] == ["square", "square", "square", "bundle"]
