"""Which points are run: all of a grid, some of it by chance, or the best of some by successive halving.

A point has a value for each axis. ``workload`` and ``seed`` are no parameters to be chosen: each chosen setting is run
with all of their values, and is judged by the mean over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.sweep.axes import Axis

#: Values by the name of the axis, in the order of the axes.
Point: TypeAlias = dict[str, str]
SEARCHES = ("grid", "random", "halving")
#: Axes over which settings are averaged.
REPLICATES = frozenset({"seed", "workload"})
#: Most points of a grid.
MOST_POINTS = 100_000
#: Settings that are drawn unless it is said how many.
SAMPLES = 16


@dataclass(frozen=True, slots=True)
class Rung:
    """A round of successive halving: so many settings, each with so much of the log's time, from 0 to 1."""

    settings: int
    part: float


def settings_of(axes: Sequence[Axis], search: str, samples: int | None, draw: int) -> list[Point]:
    """Choose settings: points of the axes that are no `REPLICATES`.

    Args:
        axes: The axes.
        search: One of `SEARCHES`.
        samples: How many to draw, ``None``: `SAMPLES`. All, if there are no more than that.
        draw: Seed of the draw.

    Raises:
        InputError: the grid is too large.
    """
    parameters = [axis for axis in axes if axis.name not in REPLICATES]
    names, values = [axis.name for axis in parameters], [axis.values for axis in parameters]
    count = math.prod(map(len, values))
    if search != "grid":
        wanted = min(samples or SAMPLES, count)
        return [dict(zip(names, _at(values, place), strict=True)) for place in _draw(count, wanted, draw)]
    if count > MOST_POINTS:
        raise InputError(f"{count:,} settings are too many for a grid: take random", field="--search")
    return [dict(zip(names, point, strict=True)) for point in product(*values)]


def replicates_of(axes: Sequence[Axis]) -> list[Point]:
    """Give all points of the `REPLICATES`; one without values if there are none."""
    repeated = [axis for axis in axes if axis.name in REPLICATES]
    return [
        dict(zip([axis.name for axis in repeated], point, strict=True))
        for point in product(*(axis.values for axis in repeated))
    ]


def rungs_of(settings: int) -> list[Rung]:
    """Plan successive halving: each round halves the settings and doubles the part of the log; the last has all of it.

    (Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016.)
    """
    rounds = settings.bit_length() - 1
    return [Rung(settings >> place, 0.5 ** (rounds - place)) for place in range(rounds + 1)]


def _draw(count: int, wanted: int, seed: int) -> list[int]:
    """Draw places of a grid without replacement, in rising order."""
    return sorted(Random(seed).sample(range(count), wanted))  # noqa: S311 - a seeded draw, no secret


def _at(values: Sequence[Sequence[str]], place: int) -> list[str]:
    """Give the point at a place of the grid, the last axis changing fastest."""
    found = []
    for mine in reversed(values):
        place, own = divmod(place, len(mine))
        found.append(mine[own])
    return found[::-1]
