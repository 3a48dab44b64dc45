"""Which points of a grid are run."""

from __future__ import annotations

import pytest

from rota.model import InputError
from rota.sweep.axes import Axis
from rota.sweep.search import Rung, replicates_of, rungs_of, settings_of

AXES = [Axis("a", ("1", "2", "3")), Axis("seed", ("7", "8")), Axis("b", ("x", "y"))]


def test_a_grid_has_all_combinations_and_the_last_axis_changes_fastest() -> None:
    found = [(point["a"], point["b"]) for point in settings_of(AXES, "grid", None, 0)]
    assert found == [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y"), ("3", "x"), ("3", "y")]


def test_seeds_are_no_settings() -> None:
    assert replicates_of(AXES) == [{"seed": "7"}, {"seed": "8"}]
    assert replicates_of(AXES[:1]) == [{}]


def test_random_search_draws_different_settings_the_same_each_time() -> None:
    grid = settings_of(AXES, "grid", None, 0)
    drawn = settings_of(AXES, "random", 4, 1)
    assert len(drawn) == 4
    assert [point for point in grid if point in drawn] == drawn
    assert drawn == settings_of(AXES, "random", 4, 1)
    assert any(settings_of(AXES, "random", 4, draw) != drawn for draw in range(2, 9))
    assert settings_of(AXES, "random", 99, 1) == grid


def test_of_a_grid_beyond_all_bounds_some_settings_can_be_drawn() -> None:
    axes = [Axis(name, tuple(map(str, range(1000)))) for name in "abcd"]
    assert len(settings_of(axes, "random", 16, 0)) == 16
    with pytest.raises(InputError, match="too many for a grid"):
        settings_of(axes, "grid", None, 0)


@pytest.mark.parametrize(
    ("settings", "rungs"),
    [
        (1, [(1, 1.0)]),
        (2, [(2, 0.5), (1, 1.0)]),
        # The budget of each round is the same, 8 × 1/8: Jamieson and Talwalkar 2016, algorithm 1.
        (8, [(8, 0.125), (4, 0.25), (2, 0.5), (1, 1.0)]),
        (11, [(11, 0.125), (5, 0.25), (2, 0.5), (1, 1.0)]),
    ],
)
def test_each_round_of_halving_has_half_the_settings_and_twice_the_log(
    settings: int, rungs: list[tuple[int, float]]
) -> None:
    assert rungs_of(settings) == [Rung(*one) for one in rungs]
