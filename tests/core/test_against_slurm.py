"""Comparison with Slurm 22.05, whose answers were recorded as data/real_slurm/README.md describes.

The known differences are in data/differences_from_slurm.txt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .differences import Known, differences, read_known, scenarios

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS = scenarios()
KNOWN = read_known()


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_as_with_slurm(name: str, tmp_path: Path) -> None:
    try:
        differing = differences(SCENARIOS[name], tmp_path)
    except NotImplementedError as error:
        pytest.skip(f"rota has no such request so far: {error}")
    assert differing == KNOWN.get(name, Known()).lines


def test_what_is_known_to_differ_is_there_and_has_a_reason() -> None:
    assert set(KNOWN) <= set(SCENARIOS)
    assert [name for name, known in KNOWN.items() if not (known.why and known.lines)] == []
