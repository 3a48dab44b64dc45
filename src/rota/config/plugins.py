"""Which plugins a configuration asks for, and the directories in which they are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rota.model import ClusterConfig

#: Plugins of Slurm in whose place ``select/cons_tres`` is used: it came after them, or does their work for them.
_LIKE_CONS_TRES = frozenset({"select/cons_res", "select/cray_aries", "select/linear"})


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
        select="select/cons_tres" if select in _LIKE_CONS_TRES else select,
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
