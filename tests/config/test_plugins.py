"""Which plugins slurm.conf asks for, and where they are looked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable
from rota.config.plugins import PluginTypes, plugin_dirs, plugin_types

if TYPE_CHECKING:
    from pathlib import Path

    from rota.model import ClusterConfig

DEFAULT = PluginTypes("sched/easy", "priority/basic", "select/cons_tres")


def configured(**parameters: str) -> ClusterConfig:
    return replace(interchangeable(4), parameters=parameters)


def test_what_is_not_set_is_the_default() -> None:
    assert plugin_types(configured(), DEFAULT) == DEFAULT
    assert plugin_types(configured(schedulertype="sched/mine"), DEFAULT) == DEFAULT._replace(sched="sched/mine")
    assert plugin_types(configured(prioritytype="priority/mine"), DEFAULT) == DEFAULT._replace(priority="priority/mine")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("select/linear", "select/cons_tres"),
        ("select/cons_res", "select/cons_tres"),
        ("select/cray_aries", "select/cons_tres"),
        ("select/mine", "select/mine"),
    ],
)
def test_plugins_in_whose_place_cons_tres_is_used(given: str, used: str) -> None:
    assert plugin_types(configured(selecttype=given), DEFAULT).select == used


def test_a_directory_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert plugin_dirs(configured(plugindir=f"{tmp_path}::/nowhere/lib/slurm"), warnings) == [str(tmp_path)]
    assert warnings == ["PluginDir: /nowhere/lib/slurm is not a directory of this machine; left out"]
