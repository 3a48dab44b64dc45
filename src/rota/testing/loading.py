"""Loading the plugins of a harness: by type as rota itself does, or symbol containers of the test."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rota.interfaces import APIS
from rota.loader import Candidate, LoadedPlugin, PluginHost, PluginRefusedError, Source, load
from rota.loader.symbols import check_symbols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rota.loader import Selection


def load_plugin(plugin: object, directories: Sequence[Path]) -> LoadedPlugin:
    """Load a plugin by its type, or check a symbol container as the loader would.

    Args:
        plugin: A plugin type, or a symbol container, or a function or class that makes a new one.
        directories: Directories that are searched first for plugin types.

    Raises:
        PluginError: the plugin cannot be used.
    """
    if isinstance(plugin, str):
        chosen = (_look(plugin, directories) if directories else _look_at_built_in(plugin)).require()
        return load(chosen.candidate, chosen.spoken or 0)
    if callable(plugin):
        plugin = plugin()
    plugin_type = str(getattr(plugin, "plugin_type", "?/?"))
    candidate = Candidate(
        plugin_type=plugin_type, source=Source.BUILT_IN, order=0, path=None, declared=f"{plugin_type} of the test"
    )
    functions, problems = check_symbols(plugin, APIS[plugin_type.partition("/")[0]])
    if problems:
        raise PluginRefusedError(candidate, problems)
    return LoadedPlugin(candidate, plugin, functions, spoken_major=0, module_name="")


def _look(plugin_type: str, directories: Sequence[Path]) -> Selection:
    return PluginHost(directories, entry_points=False).select(plugin_type)


@cache
def _look_at_built_in(plugin_type: str) -> Selection:
    """Read a built-in plugin once, since its file does not change. Each load still runs a new copy."""
    return _look(plugin_type, [])
