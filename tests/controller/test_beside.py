"""What users see of a live cluster, beside what a real Slurm 22.05.8 showed them in the same scenarios, field by field.

`beside/scenarios` has the scenarios, `beside/recorded` what Slurm told (made by `record.py` there), `beside/answers.py`
says what is compared, of JSON `beside/documents.py`, and `beside/intended.py` what differs on purpose.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from .beside.answers import HERE, SCENARIOS, read_recording, read_usual
from .beside.compare import differences
from .beside.intended import INTENDED, Intended, intended
from .beside.machine import live

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .beside.compare import Difference

#: Runs for more than a minute, as no time limit is shorter: it has a cluster of its own.
_LONG = "time-limit"
#: How often what differs is played again.
_AGAIN = 2


def _found(folder: Path, scenarios: Sequence[str]) -> dict[str, list[Difference]]:
    """Run scenarios on a new cluster; give what differs."""
    folder.mkdir()
    usual = read_usual((HERE / "usual.txt").read_text())
    with live(folder) as machine:
        return {
            name: list(
                differences(read_recording((HERE / "recorded" / f"{name}.txt").read_text(), usual), machine.play(name))
            )
            for name in scenarios
        }


def _not_intended(found: dict[str, list[Difference]]) -> dict[str, list[Difference]]:
    problems = {name: [one for one in each if intended(name, one) is None] for name, each in found.items()}
    return {name: each for name, each in problems.items() if each}


def _require_none(problems: dict[str, list[Difference]], folder: Path) -> None:
    """Fail if something differs again when it is played again: plans are looked at while they are made anew."""
    for number in range(_AGAIN):
        if problems:
            again = _not_intended(_found(folder / f"again-{number}", [*problems]))
            problems = {name: [one for one in each if one in again.get(name, ())] for name, each in problems.items()}
            problems = {name: each for name, each in problems.items() if each}
    assert not problems, "\n".join(f"{name}: {one}" for name, each in problems.items() for one in each)


def test_a_scenario(tmp_path: Path) -> None:
    _require_none(_not_intended(_found(tmp_path / "live", ["hold"])), tmp_path)


@pytest.mark.slow
def test_all_scenarios(tmp_path: Path) -> None:
    others = [name for name in SCENARIOS if name != _LONG]
    with ThreadPoolExecutor() as pool:
        parts = [
            pool.submit(_found, tmp_path / str(number), part)
            for number, part in enumerate([[_LONG], others[::2], others[1::2]])
        ]
        found = {name: each for part in parts for name, each in part.result().items()}
    _require_none(_not_intended(found), tmp_path)
    seen: set[Intended | None] = {intended(name, one) for name, each in found.items() for one in each}
    unseen = [row for row in INTENDED if row not in seen]
    assert not unseen, "these do not differ any more:\n" + "\n".join(map(str, unseen))
