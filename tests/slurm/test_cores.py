"""Jobs of the recorded random scenarios get the same cores and GPUs as Slurm 22.05.8 gave them: ``CPU_IDs``, ``IDX``.

Compared are running jobs that are as in Slurm in all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from core.scenarios import Player, parse_scenarios

from .draw import KINDS
from .play import HEAD
from .recorded import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Of so many scenarios one is fast.
FEW = 25
#: Jobs that have other cores, by scenario: jobs before them are elsewhere.
KNOWN = {
    "limits-3100168": {"7"},
    "memory-3300221": {"6"},
    "threads-3300207": {"2", "5"},
}


def _others(scenarios: Mapping[str, str], folder: Path) -> tuple[int, dict[str, set[str]]]:
    """Count the compared jobs, and give those that have other cores or GPUs."""
    compared, others = 0, {}
    for name, text in scenarios.items():
        (scenario,) = parse_scenarios(HEAD + text)
        (folder / name).mkdir()
        player = Player(scenario, folder / name)
        player.play()
        compared += len(player.compared)
        if player.others:
            others[name] = player.others
    return compared, others


def test_some_scenarios(tmp_path: Path) -> None:
    scenarios = {name: text for name, text in [*read().items()][::FEW] if not name.startswith("linear")}
    compared, others = _others(scenarios, tmp_path)
    assert compared > 40
    assert others == {name: KNOWN[name] for name in scenarios if name in KNOWN}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "linear"])
def test_all_scenarios(kind: str, tmp_path: Path) -> None:
    scenarios = {name: text for name, text in read().items() if name.startswith(f"{kind}-")}
    compared, others = _others(scenarios, tmp_path)
    assert compared > 60
    assert others == {name: KNOWN[name] for name in scenarios if name in KNOWN}
