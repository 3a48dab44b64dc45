"""``SlurmVersion``: what is decided as by which version of Slurm."""

from __future__ import annotations

import pytest

from rota.model import InputError
from rota.model.slurm_version import Since
from rota.testing import cluster


@pytest.mark.parametrize(
    ("version", "there"),
    [
        ("", set()),
        ("22.05", set()),
        ("22.05.8", set()),
        ("23.02", {"ENDS_ROUNDED_UP"}),
        ("25.11", {"ENDS_ROUNDED_UP", "PLANS_FROM_START"}),
        ("26.05", {"ENDS_ROUNDED_UP", "PLANS_FROM_START", "FIRST_FIT"}),
    ],
)
def test_what_a_version_does(version: str, there: set[str]) -> None:
    config = cluster(nodes=1, SlurmVersion=version)
    assert {one.name for one in Since if config.has(one.name)} == there


@pytest.mark.parametrize("text", ["22", "21.08", "27.05", "22.05.8.1", "new", "22.x"])
def test_no_version(text: str) -> None:
    with pytest.raises(InputError, match="SlurmVersion"):
        cluster(nodes=1, SlurmVersion=text).has("FIRST_FIT")
