"""Open MPI and MPICH of PyPI on two virtual nodes, as the table of docs/mpi.md has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mpi.installed import LIBRARIES, Library, measured, row

from .conftest import ENVIRONMENTS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

_TABLE = (Path(__file__).parents[2] / "docs" / "mpi.md").read_text()


@pytest.mark.parametrize("package", LIBRARIES)
def test_it_runs_as_the_table_says(cluster: LiveCluster, package: str) -> None:
    programs = ENVIRONMENTS / package / "bin"
    if not programs.is_dir():
        pytest.skip(f"{package} is not installed: `make clients`")
    library = Library("PyPI", LIBRARIES[package], str(programs / "mpicc"), str(programs / "mpirun"))
    found = measured(cluster, library)
    assert found.ways == ("2", "2", "2")
    assert row(library, found) in _TABLE
