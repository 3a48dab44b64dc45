"""State of plugins that is saved with the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of
from rota.core.plugin_api.guard import PLUGIN_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.plugin_api.guard import PluginGuard


class PluginState:
    """The saved state of each plugin, by its type. That of plugins which are not loaded is kept."""

    __slots__ = ("_kept", "_sources")

    def __init__(self) -> None:
        #: Functions that give a plugin's state.
        self._sources: dict[str, tuple[PluginGuard, Callable[[], object]]] = {}
        #: State of plugins from before a restart.
        self._kept: dict[str, Any] = {}

    def keep(self, guard: PluginGuard, save: Callable[[], object]) -> Any:
        """Register the function that gives a plugin's state; give the state from before a restart, or ``None``."""
        self._sources[guard.plugin_type] = guard, save
        return self._kept.pop(guard.plugin_type, None)

    def save(self) -> dict[str, Any]:
        """Give the state of all plugins as JSON data."""
        kept = dict(self._kept)
        for name, (guard, save) in self._sources.items():
            found = guard.callback(save)()
            try:
                if problem := shape_of(object).problem(found):
                    guard.report("keep", None, f"returned what JSON cannot hold{problem}")
                else:
                    kept[name] = shape_of(object).encode(found)
            except PLUGIN_ERRORS as error:
                guard.raised("keep", None, error)
        return kept

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore the saved state, before the plugins' ``init`` is called."""
        self._kept = saved
