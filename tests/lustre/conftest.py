"""The texts that users of Lustre have published."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the samples: see ``SOURCES.md`` there."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def samples(data: Path) -> dict[str, bytes]:
    """The content of each sample, by the name of its file."""
    return {path.name: path.read_bytes() for path in sorted(data.iterdir()) if path.suffix != ".md"}
