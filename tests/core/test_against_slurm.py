"""What Slurm 22.05 did in the same situation; data/real_slurm/README.md says how that was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from .scenarios import Player, Scenario, read_scenarios

DATA = Path(__file__).parent / "data" / "real_slurm"
SCENARIOS = [one for path in sorted(DATA.glob("*.txt")) for one in read_scenarios(path)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_it_is_as_with_slurm(scenario: Scenario, tmp_path: Path) -> None:
    assert Player(scenario, tmp_path).play() == []
