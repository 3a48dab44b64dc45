"""Which plugins a configuration asks for, and the directories in which they are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.interfaces.select import SELECT_API

if TYPE_CHECKING:
    from rota.model import ClusterConfig


class PluginTypes(NamedTuple):
    """One plugin type for each API."""

    sched: str
    priority: str
    select: str


def plugin_types(config: ClusterConfig, default: PluginTypes) -> PluginTypes:
    """Give ``SchedulerType``, ``PriorityType`` and ``SelectType``, or the default where one is not set."""
    select = config.get("SelectType", default.select)
    return PluginTypes(
        sched=config.get("SchedulerType", default.sched),
        priority=config.get("PriorityType", default.priority),
        select=SELECT_API.instead.get(select, select),
    )


def plugin_dirs(config: ClusterConfig, warnings: list[str]) -> list[str]:
    """Give the directories of ``PluginDir`` that exist, and add a warning for each that does not.

    The machine that slurm.conf is from may have others than the machine on which rota runs.
    """
    found = []
    for directory in filter(None, config.get("PluginDir").split(":")):
        if Path(directory).is_dir():
            found.append(directory)
        else:
            warnings.append(str(config.error("PluginDir", f"{directory} is not a directory of this machine; left out")))
    return found
