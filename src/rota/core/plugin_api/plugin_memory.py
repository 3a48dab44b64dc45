"""What plugins remember, and want to know again after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.plugin_api.guard import PluginGuard


class PluginMemory:
    """What plugins have wanted kept, by their types; those that are not loaded now keep what they had."""

    __slots__ = ("_kept", "_sources")

    def __init__(self) -> None:
        #: What gives what is to be kept.
        self._sources: dict[str, tuple[PluginGuard, Callable[[], object]]] = {}
        #: What was kept before a restart.
        self._kept: dict[str, Any] = {}

    def keep(self, guard: PluginGuard, save: Callable[[], object]) -> Any:
        """Have what ``save`` gives kept for a plugin; give what was kept before a restart, ``None``: nothing."""
        self._sources[guard.plugin_type] = guard, save
        return self._kept.get(guard.plugin_type)

    def save(self) -> dict[str, Any]:
        """Ask the plugins; give it as data that JSON can hold."""
        kept = dict(self._kept)
        for name, (guard, save) in self._sources.items():
            found = guard.callback(save)()
            if problem := shape_of(object).problem(found):
                guard.report("keep", None, f"returned what JSON cannot hold{problem}")
            else:
                kept[name] = shape_of(object).encode(found)
        return kept

    def restore(self, saved: dict[str, Any]) -> None:
        """Take up what was saved, before the plugins' ``init``."""
        self._kept = saved
