"""The plugin host, which gives a driver the plugins of its engine.

::

    with PluginHost(plugin_dir="/etc/rota/plugins") as host:
        priority, scheduler = host.load("priority/basic"), host.load("sched/easy")
        host.start(ctld)
        ...
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from rota import __version__
from rota.interfaces import APIS
from rota.loader.discover import SearchPath, discover
from rota.loader.identity import type_problem
from rota.loader.load import load
from rota.loader.negotiate import Selection, decide
from rota.model import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.interfaces import Controller, PluginApi
    from rota.loader.candidate import Candidate
    from rota.loader.discover import PluginDir
    from rota.loader.loaded import LoadedPlugin


class PluginHost:
    """Chooses, loads, starts and unloads plugins. Hosts in one process share no state.

    At the end of the ``with`` block plugins are unloaded in reverse order of loading. ``fini`` of each plugin that was
    started is called exactly once, even after exceptions.
    """

    def __init__(
        self,
        plugin_dir: PluginDir = None,
        *,
        entry_points: bool = True,
        apis: Mapping[str, PluginApi] = APIS,
        release: str = __version__,
        report: Callable[[str], object] | None = None,
    ) -> None:
        """Make a host; no plugin is read yet.

        Args:
            plugin_dir: ``PluginDir`` as in slurm.conf, colon-separated, or a list of directories.
            entry_points: Whether plugins of installed packages are found.
            apis: The supported APIs by major type.
            release: The release with which ``plugin_release`` is compared.
            report: Is called with warnings and other messages; see `messages`.
        """
        self.search = SearchPath.of(plugin_dir, entry_points=entry_points)
        self.apis = apis
        self.release = release
        #: All messages so far: rejected plugins, exceptions in ``fini`` …
        self.messages: list[str] = []
        #: Plugins in the order of loading, those that were unloaded included.
        self.plugins: list[LoadedPlugin] = []
        self._tell = report
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Unload every plugin, the last one first. A second call does nothing."""
        self._stack.close()

    def select(self, plugin_type: str) -> Selection:
        """Choose a plugin of a type without running any.

        Returns:
            Every candidate with its state and the reason for it; at least one.

        Raises:
            PluginError: the text is no plugin type, its API is unknown, or there is no plugin of the type.
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        if problem := type_problem(plugin_type):
            raise PluginError(problem)
        major = plugin_type.partition("/")[0]
        if major not in self.apis:
            raise PluginError(f"{plugin_type}: there is no API {major!r}: this rota has {', '.join(sorted(self.apis))}")
        found = discover(self.search, plugin_type)
        if not found:
            text = f"there is no plugin {plugin_type} in {self.search}: {self._misplaced(plugin_type)}"
            raise PluginError(text + self._others(major))
        return self.judge(plugin_type, found)

    def survey(self, major: str = "") -> list[Selection]:
        """Read all plugins, or those of one API.

        Returns:
            One selection for each type, sorted by type.

        Raises:
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        found: dict[str, list[Candidate]] = {}
        for candidate in discover(self.search, major=major):
            found.setdefault(candidate.plugin_type, []).append(candidate)
        return [self.judge(plugin_type, found[plugin_type]) for plugin_type in sorted(found)]

    def judge(self, plugin_type: str, found: Sequence[Candidate]) -> Selection:
        """Choose among given candidates of one type."""
        return Selection(plugin_type, decide(found, self.apis, self.release))

    def load(self, plugin_type: str) -> LoadedPlugin:
        """Choose a plugin of a type, run it as a module of its own and check its functions.

        Raises:
            PluginRefusedError: every candidate is rejected, or the chosen one cannot be used.
            PluginError, InputError: as for `select`.
        """
        selection = self.select(plugin_type)
        chosen = selection.require()
        for text in selection.warnings:
            self.report(text)
        plugin = load(chosen.candidate, chosen.spoken or 0, self.apis)
        self._stack.callback(plugin.close, self.report)
        self.plugins.append(plugin)
        return plugin

    def start(self, ctld: Controller) -> None:
        """Call ``init`` of all plugins that have not been started, in the order of loading.

        Raises:
            PluginRefusedError: an ``init`` failed. That plugin is unloaded; those before it stay started until `close`.
        """
        for plugin in self.plugins:
            plugin.start(ctld)

    def report(self, text: str) -> None:
        """Keep a message and pass it on."""
        self.messages.append(text)
        if self._tell is not None:
            self._tell(text)

    def _misplaced(self, plugin_type: str) -> str:
        """Say where a file should be that is called as if it were the plugin, and is not where plugins are."""
        name = f"{plugin_type.partition('/')[2]}.py"
        for directory in self.search.directories:
            if (directory / name).is_file():
                return f"{directory / name} would be it as {directory / plugin_type}.py; "
        return ""

    def _others(self, major: str) -> str:
        types = [one.plugin_type for one in self.survey(major) if one.chosen]
        types += self.apis[major].instead
        return f"there is {', '.join(types)}" if types else f"there is none for {major} at all"
