"""Benches with all means of this machine, and with processes and measurement only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .bench import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MEANS = [pytest.param((), id="groups"), pytest.param(("--no-cgroups",), id="processes", marks=pytest.mark.slow)]


@pytest.fixture(params=MEANS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path / "bench", request.param) as bench:
        yield bench


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Bench]:
    """With all means of this machine only."""
    with Bench(tmp_path / "bench") as bench:
        yield bench


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Bench]:
    """With processes and measurement only."""
    with Bench(tmp_path / "bench", ("--no-cgroups",)) as bench:
        yield bench
