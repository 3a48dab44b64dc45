"""rota decides as a real Slurm in random scenarios; `python -m slurm`, in this folder's parent, draws for longer."""

from __future__ import annotations

import io

import pytest

from .draw import KINDS, draw
from .real import missing
from .run import Run, table

#: The least share of records that are equal, for a run as short as this one.
LEAST = 0.6


def test_a_seed_draws_the_same_scenario_again() -> None:
    assert [draw(seed) for seed in range(26)] == [draw(seed) for seed in range(26)]
    assert {draw(seed).kind for seed in range(26)} == set(KINDS)


@pytest.mark.slow
def test_records_are_as_with_slurm() -> None:
    if missing():
        pytest.skip(f"a real Slurm is not there: {', '.join(missing())}")
    run = Run(seed=1, tries=0)
    run.all(seconds=60, at_once=1, log=io.StringIO())
    records, unequal = (sum(getattr(one, name) for one in run.results) for name in ("records", "unequal"))
    assert records, run.results
    assert unequal <= (1 - LEAST) * records, table(run.results)
