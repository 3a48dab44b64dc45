"""Daemons are killed at random moments under all that users do, and nothing is lost, twice or untrue: see `kills`.

`make kills` does it for hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kills.play import KINDS, play

if TYPE_CHECKING:
    from pathlib import Path


def test_a_few_kills(tmp_path: Path) -> None:
    played = play(tmp_path, seed=1, kills=6, kinds=KINDS | {"timeout": 0}, users=4)  # which takes a minute
    assert not played.findings, str(played)


@pytest.mark.slow
def test_sixty_kills(tmp_path: Path) -> None:
    played = play(tmp_path, seed=1, kills=60)
    assert not played.findings, str(played)
