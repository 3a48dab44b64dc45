"""A cluster that is to be damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, virtual_nodes(4)) as found:
        yield found
