"""Which plugins there are, and which of them an id goes to. Plugins are loaded when they are first needed.

One file system's statistics mix ids of several kinds: of jobs, and of processes on login nodes and servers that belong
to no job. So each id is judged by its own form (the plugins' ``matches``), in this order:

1. the plugin that Lustre's ``jobid_var`` names, if the form is its own;
2. ``jobid_name`` and ``procname_uid``, whose ids Lustre makes where that variable is not set;
3. the plugin that ``jobid_var`` names, if it has no ``matches`` and so takes anything;
4. the one plugin whose form it is and whose scheduler's programs are there. If there are several, nobody can know, and
   the id goes to none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interrupts import raise_if_interrupted
from rota.jobmeta.plugin import Plugin
from rota.jobmeta.run import Runner
from rota.loader import PluginHost
from rota.model import PluginError, RotaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.loader.discover import PluginDir

#: The plugins for ids that Lustre makes of a process, with those of any format first.
OF_PROCESSES = ("jobid_name", "procname_uid")
#: Values of ``jobid_var`` that name no variable of the environment.
NO_VARIABLE = frozenset({"", "disable", "nodelocal", "session", "procname_uid"})


class Registry:
    """The plugins. It is used by one thread at a time."""

    def __init__(
        self,
        plugin_dir: PluginDir,
        *,
        variable: str,
        jobid_name: str,
        timeout: float,
        report: Callable[[str], object],
    ) -> None:
        self._host = PluginHost(plugin_dir, report=report)
        self._hint = "" if variable.lower() in NO_VARIABLE else variable.lower()
        self._jobid_name = jobid_name
        self._timeout = timeout
        self._report = report
        self._plugins: dict[str, Plugin | None] = {}
        self._known: list[str] | None = None
        self._here: dict[str, bool] = {}
        self._ambiguous: set[str] = set()

    def close(self) -> None:
        """Unload all plugins."""
        self._host.close()

    def get(self, name: str) -> Plugin:
        """Load a plugin, or give the one that was loaded.

        Raises:
            PluginError: there is none of that name, or it cannot be used.
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        plugin = self._plugins.get(name)
        if plugin is None:
            loaded = self._host.load(f"jobmeta/{name}")
            if (use_format := loaded.functions.get("use_format")) is not None and self._jobid_name:
                try:
                    use_format(self._jobid_name)
                except BaseException as exc:
                    raise_if_interrupted()
                    raise PluginError(f"plugin jobmeta/{name}: jobid_name={self._jobid_name!r}: {exc}") from exc
            plugin = self._plugins[name] = Plugin(loaded, Runner(self._timeout))
        return plugin

    def names(self) -> list[str]:
        """Name all plugins that can be used, as far as that is known without running them."""
        if self._known is None:
            found = self._host.survey("jobmeta")
            for one in found:
                for verdict in one.verdicts if one.chosen is None else ():
                    self._report(f"plugin {one.plugin_type} ({verdict.candidate.where}) is rejected: {verdict.why}")
            self._known = [one.plugin_type.partition("/")[2] for one in found if one.chosen is not None]
        return self._known

    def here(self) -> list[Plugin]:
        """Give the plugins whose schedulers are there, as far as that can be known."""
        found = [plugin for name in self.names() if name != "none" and (plugin := self._usable(name)) is not None]
        return [plugin for plugin in found if plugin.name == self._hint or plugin.is_here]

    def plugin_of(self, job_id: str, *, composite: bool = True) -> Plugin | None:
        """Give the plugin that an id goes to; ``None``: no plugin has ids of this form, or several have.

        Args:
            job_id: The id.
            composite: Whether it may hold another id.
        """
        hinted = self._usable(self._hint) if self._hint else None
        if hinted is not None and hinted.has_matches and hinted.matches(job_id):
            return hinted
        for name in OF_PROCESSES if composite else ():
            plugin = self._usable(name)
            if plugin is not None and plugin.has_matches and plugin.matches(job_id):
                return plugin
        if hinted is not None and not hinted.has_matches:
            return hinted
        fitting = [plugin for name in self.names() if (plugin := self._fits(name, job_id)) is not None]
        if len(fitting) > 1 and (names := " or ".join(plugin.name for plugin in fitting)) not in self._ambiguous:
            self._ambiguous.add(names)
            self._report(f"ids such as {job_id!r} may be of {names}: give the variable from which Lustre takes its ids")
        return fitting[0] if len(fitting) == 1 else None

    def _fits(self, name: str, job_id: str) -> Plugin | None:
        if name in {*OF_PROCESSES, "none", self._hint}:
            return None
        plugin = self._usable(name)
        if plugin is None or not plugin.has_matches or not plugin.matches(job_id):
            return None
        if name not in self._here:
            self._here[name] = plugin.is_here
        return plugin if self._here[name] else None

    def _usable(self, name: str) -> Plugin | None:
        """Load a plugin that nobody has asked for by name: if it cannot be used, that is reported once."""
        if name not in self._plugins:
            try:
                return self.get(name)
            except RotaError as exc:
                self._plugins[name] = None
                self._report(str(exc))
        return self._plugins[name]
