"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of large public workloads, which are not part of the project: ``ROTA_TRACES`` names another one."""
    folder = Path(os.environ.get("ROTA_TRACES") or _PROJECT.parent / "shared" / "traces")
    if not folder.is_dir():
        pytest.skip(f"the workloads are not there: {folder} (name their folder in ROTA_TRACES)")
    return folder


@pytest.fixture(scope="session")
def golden(traces: Path) -> Path:
    """The folder of published schedules to reproduce."""
    folder = traces / "golden"
    if not folder.is_dir():
        pytest.skip(f"the golden schedules are not there: {folder}")
    return folder


@pytest.fixture
def log_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file under the test's own folder."""

    def write(content: str | bytes, name: str = "log.swf") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
