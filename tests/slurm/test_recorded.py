"""Random scenarios that a real Slurm 22.05.8 has answered: rota answers as it does, but for the known differences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from core import differences

from .draw import KINDS
from .recorded import again, read, read_known

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "differences.md"
#: Of so many scenarios one is fast.
FEW = 80


def check(scenarios: dict[str, str]) -> None:
    """Compare what differs with what is known to."""
    known = read_known()
    found = {one.name: one.what for one in again(scenarios) if one.unequal}
    assert found == {name: known[name].what for name in scenarios if name in known}


def test_some_scenarios() -> None:
    check(dict([*read().items()][::FEW]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_scenarios(kind: str) -> None:
    check({name: text for name, text in read().items() if name.startswith(f"{kind}-")})


def test_each_cause_is_recorded_and_told() -> None:
    """Of each difference there is the least scenario that shows it, which differs, and a row in the documentation."""
    causes = {one.cause for one in read_known().values()}
    differing = {name.partition("/")[2] for name in differences.read_known() if name.startswith("causes/")}
    assert causes == differing
    assert causes == set(re.findall(r"^\| `([\w-]+)` \|", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE))
