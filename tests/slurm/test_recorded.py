"""Random scenarios that a real Slurm 22.05.8 has answered: rota answers as it does, but for the known differences."""

from __future__ import annotations

import pytest

from .draw import KINDS
from .recorded import again, read, read_known

#: Of so many scenarios one is fast.
FEW = 80


def check(scenarios: dict[str, str]) -> None:
    """Compare what differs with what is known to."""
    known = read_known()
    found = {f"{one.kind}-{one.seed}": one.known for one in again(scenarios) if one.unequal}
    assert found == {name: known[name] for name in scenarios if name in known}


def test_some_scenarios() -> None:
    check(dict([*read().items()][::FEW]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_scenarios(kind: str) -> None:
    check({name: text for name, text in read().items() if name.startswith(f"{kind}-")})
