"""The plugins of a replay: checked, loaded, and named in its provenance."""

from __future__ import annotations

import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from sysconfig import get_path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from rota.loader import PluginHost
from rota.model import InputError
from rota.resources import shares_nodes
from rota.results.provenance import SourceFile, source_files
from rota.runtime.boot import Plugins, load_named, other_type

if TYPE_CHECKING:
    from contextlib import ExitStack

    from rota.loader.loaded import LoadedPlugin
    from rota.model import ClusterConfig
    from rota.replays.options import ReplayOptions
    from rota.replays.scenario import Scenario
    from rota.results.provenance import Provenance


def check_types(options: ReplayOptions, config: ClusterConfig) -> None:
    """Refuse plugins of the wrong API; everything else is checked by the host.

    Raises:
        InputError: one is of another type than its option asks for.
    """
    _check_type(options.scheduler, "sched", "scheduler", config, "SchedulerType")
    _check_type(options.priority, "priority", "priority", config, "PriorityType")
    _check_type(options.select, "select", "select", config, "SelectType")


def _check_type(plugin_type: str, major: str, option: str, config: ClusterConfig, key: str) -> None:
    if problem := other_type(plugin_type, major):
        raise config.error(key, problem) if config.get(key) == plugin_type else InputError(problem, field=option)


def load_plugins(stack: ExitStack, scenario: Scenario) -> tuple[PluginHost, Plugins]:
    """Load the plugins of a scenario, to be started by `boot`; the stack unloads them.

    Raises:
        PluginError: a plugin cannot be used.
    """
    options = scenario.options
    host = stack.enter_context(PluginHost(options.plugin_dir, report=options.report))
    config = scenario.config
    priority = load_named(host, config, "PriorityType", options.priority)
    sched = load_named(host, config, "SchedulerType", options.scheduler)
    select = load_named(host, config, "SelectType", options.select) if shares_nodes(config) else None
    return host, Plugins(priority, sched, select)


def with_plugins(provenance: Provenance, plugins: Plugins) -> Provenance:
    """Add the files of plugins that are not rota's own, and those of the modules that they import."""
    files: list[SourceFile] = []
    for one in plugins:
        if one is not None and not one.is_built_in:
            role, code = one.plugin_type, one.candidate.code
            files.append(SourceFile(role=role, path=one.candidate.where, sha256=sha256(code).hexdigest()))
            for name, path in _imported(one).items():
                files += [replace(file, path=name) for file in source_files(role, [path])]
    return replace(provenance, files=(*provenance.files, *files))


def _imported(plugin: LoadedPlugin) -> dict[str, Path]:
    """Give the files of the modules that a plugin has imported, and that these have, by the modules' names.

    Those of Python, of rota and of other installed packages are not of it.
    """
    package = plugin.candidate.module.partition(".")[0]
    installed = [Path(get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found: dict[str, Path] = {}
    waiting = [] if plugin.module is None else [plugin.module]
    while waiting:
        for value in vars(waiting.pop()).values():
            module = sys.modules.get(str(value.__module__)) if isinstance(value, FunctionType | type) else value
            if not isinstance(module, ModuleType) or module is plugin.module or module.__name__ in found:
                continue
            top, file = module.__name__.partition(".")[0], getattr(module, "__file__", None)
            if file is None or top == "rota":
                continue
            path = Path(file).resolve()
            if top == package or not any(path.is_relative_to(one) for one in installed):
                found[module.__name__] = path
                waiting.append(module)
    return dict(sorted(found.items()))
