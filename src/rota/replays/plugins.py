"""The plugins of a replay: checked, loaded, and named in its provenance."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from rota.interfaces import APIS
from rota.loader import PluginHost
from rota.model import InputError
from rota.resources import shares_nodes
from rota.results.provenance import SourceFile
from rota.runtime.boot import Plugins

if TYPE_CHECKING:
    from contextlib import ExitStack

    from rota.replays.options import ReplayOptions
    from rota.replays.scenario import Scenario
    from rota.results.provenance import Provenance


def check_types(options: ReplayOptions) -> None:
    """Refuse plugins of the wrong API; everything else is checked by the host.

    Raises:
        InputError: one is of another type than its option asks for.
    """
    _check_type(options.scheduler, "sched", "scheduler")
    _check_type(options.priority, "priority", "priority")
    _check_type(options.select, "select", "select")


def _check_type(plugin_type: str, major: str, option: str) -> None:
    other = plugin_type.partition("/")[0]
    if other != major and other in APIS:
        raise InputError(f"{plugin_type} is a plugin of type {other}: name one of type {major}", field=option)


def load_plugins(stack: ExitStack, scenario: Scenario) -> tuple[PluginHost, Plugins]:
    """Load the plugins of a scenario, to be started by `boot`; the stack unloads them.

    Raises:
        PluginError: a plugin cannot be used.
    """
    options = scenario.options
    host = stack.enter_context(PluginHost(options.plugin_dir, report=options.report))
    priority, sched = host.load(options.priority), host.load(options.scheduler)
    select = host.load(options.select) if shares_nodes(scenario.config) else None
    return host, Plugins(priority, sched, select)


def with_plugins(provenance: Provenance, plugins: Plugins) -> Provenance:
    """Add the files of plugins that are not rota's own."""
    own = [one for one in plugins if one is not None and not one.is_built_in]
    files = [
        SourceFile(role=one.plugin_type, path=one.candidate.where, sha256=sha256(one.candidate.code).hexdigest())
        for one in own
    ]
    return replace(provenance, files=(*provenance.files, *files))
