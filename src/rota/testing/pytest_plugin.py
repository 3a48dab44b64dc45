"""A fixture of pytest, there wherever rota is installed: a cluster of four virtual nodes for programs that call Slurm.

::

    def test_my_tool(rota_cluster):
        subprocess.run(["my-tool", "submit"], check=True)
        rota_cluster.idle()
        assert rota_cluster.records()[-1]["state"] == "COMPLETED"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.testing.live import LiveCluster


@pytest.fixture(scope="session")
def rota_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of four virtual nodes with four processors each, whose commands are on the path; one for all tests."""
    from rota.testing.live import LiveCluster, virtual_nodes

    with LiveCluster(tmp_path_factory.mktemp("rota"), virtual_nodes()) as cluster, cluster.on_path():
        yield cluster
