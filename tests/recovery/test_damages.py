"""Random damages: what a controller would go on with is whole and true, or it says what is lost. Never neither.

``make damages DAMAGES=300 SEED=1`` tries more of them.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from .damages import damage
from .scene import Scene, seeds

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Scene(tmp_path_factory.mktemp("scene")) as found:
        yield found


def _try(scene: Scene, first: int, count: int) -> set[str]:
    verdicts = set()
    for seed, how in seeds(first, count):
        state = scene.copy(how)
        what = damage(state, scene.older, Random(seed))  # noqa: S311 - the same damages each time
        try:
            verdicts.add(scene.judge(state, how))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {what}: {error}") from error
    return verdicts


def test_no_damage_is_no_finding(scene: Scene) -> None:
    assert {scene.judge(scene.copy(how), how) for _, how in seeds(0, 2)} == {"whole"}


def test_a_few_damages(scene: Scene) -> None:
    assert _try(scene, 1, 6) >= {"told"}


@pytest.mark.slow
def test_many_damages(scene: Scene) -> None:
    assert _try(scene, 100, 40) >= {"told", "mended"}
