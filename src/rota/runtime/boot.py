"""Making an engine with its plugins, new or from a saved state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rota.config.plugins import PluginTypes, plugin_dirs, plugin_types
from rota.core import Engine
from rota.core.effects import Log, PluginFault
from rota.core.snapshot import restore, save
from rota.interfaces import APIS
from rota.loader import PluginHost, PluginRefusedError
from rota.model import PluginError
from rota.resources import shares_nodes
from rota.sacctmgr import first_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from rota.accounting import AssociationTree
    from rota.core.effects import Effect
    from rota.loader import LoadedPlugin
    from rota.model import ClusterConfig


#: The plugins of a live cluster where slurm.conf names none.
LIVE_PLUGINS = PluginTypes("sched/backfill", "priority/basic", "select/cons_tres")
#: The keys of slurm.conf that name them.
_KEYS = ("SchedulerType", "PriorityType", "SelectType")


class Plugins(NamedTuple):
    """The plugins of an engine, loaded and not started."""

    priority: LoadedPlugin
    sched: LoadedPlugin
    #: ``None``: the machine's nodes are not shared, so there is nothing to select.
    select: LoadedPlugin | None = None


def boot(
    config: ClusterConfig,
    plugins: Plugins,
    *,
    boot_time: int,
    associations: AssociationTree | None = None,
    saved: Mapping[str, Any] | None = None,
    utc_offset: Callable[[int], int] | None = None,
    clock: Callable[[], float] | None = None,
    prepare: Callable[[Engine], object] | None = None,
) -> tuple[Engine, list[Effect]]:
    """Make an engine and start its plugins: first the node selection plugin, then priority, then scheduler.

    Args:
        config: The configuration (slurm.conf).
        plugins: The plugins.
        boot_time: When the clock begins, Unix seconds.
        associations: The tree of associations, which the engine takes over; ``None``: only the root. A saved state has
            its own.
        saved: A state that `rota.core.snapshot.save` has given; ``None``: a new engine.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time; ``None``: local time is UTC.
        clock: Gives real time in seconds, to report slow plugins; ``None``: they are not reported.
        prepare: Is called with the engine before its plugins are started.

    Returns:
        The engine, and effects of restoring the saved state. The caller has to call `Engine.begin`.

    Raises:
        InputError: slurm.conf, the associations or the saved state cannot be used.
        PluginError: a plugin cannot be used.
    """
    engine = Engine(
        config,
        priority=plugins.priority.container,
        sched=plugins.sched.container,
        select=None if plugins.select is None else plugins.select.container,
        boot_time=boot_time,
        associations=associations,
        utc_offset=utc_offset,
        clock=clock,
    )
    engine.plugins_may_read_plans = not all(one is None or one.is_built_in for one in plugins)
    effects = [] if saved is None else restore(engine, saved)
    if prepare is not None:
        prepare(engine)
    if plugins.select is not None:
        plugins.select.start(engine.select_controller)
    plugins.priority.start(engine.priority_controller)
    plugins.sched.start(engine.sched_controller)
    return engine, effects


def state_of(engine: Engine) -> dict[str, Any]:
    """Give the state, as JSON data, from which `boot` makes the engine again."""
    return save(engine)


def other_type(plugin_type: str, major: str) -> str:
    """Say that a plugin is of another API's type than the one it is named for; empty: it is not."""
    other = plugin_type.partition("/")[0]
    return (
        ""
        if other == major or other not in APIS
        else f"{plugin_type} is a plugin of type {other}: name one of type {major}"
    )


def load_named(host: PluginHost, config: ClusterConfig, key: str, plugin_type: str) -> LoadedPlugin:
    """Load a plugin that a key of slurm.conf names, or an option in its place.

    Raises:
        PluginError: it cannot be used; the message names file, line and key if slurm.conf names it and there is none.
    """
    try:
        return host.load(plugin_type)
    except PluginRefusedError:
        raise
    except PluginError as error:
        if config.get(key) != plugin_type:
            raise
        raise PluginError(str(config.error(key, str(error)))) from None


def boot_live(
    stack: ExitStack,
    config: ClusterConfig,
    saved: Mapping[str, Any] | None,
    *,
    boot_time: int,
    report: Callable[[str], object],
    utc_offset: Callable[[int], int],
    clock: Callable[[], float] | None = None,
) -> Engine:
    """Make the engine of a live cluster, with the plugins that its slurm.conf names, and let it begin.

    Args:
        stack: Unloads the plugins when it is closed.
        config: The configuration (slurm.conf).
        saved: See `boot`, as for what follows.
        boot_time: When the clock begins, Unix seconds.
        report: Is called with messages for the administrator.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
        clock: Gives real time in seconds, to report slow plugins; ``None``: they are not reported.

    Raises:
        InputError: slurm.conf or the saved state cannot be used.
        PluginError: a plugin cannot be used.
    """
    warnings: list[str] = []
    types = plugin_types(config, LIVE_PLUGINS)
    host = stack.enter_context(PluginHost(plugin_dirs(config, warnings), report=report))
    for key, major, named in zip(_KEYS, PluginTypes._fields, types, strict=True):
        if problem := other_type(named, major):
            raise config.error(key, problem)
    priority = load_named(host, config, "PriorityType", types.priority)
    sched = load_named(host, config, "SchedulerType", types.sched)
    select = load_named(host, config, "SelectType", types.select) if shares_nodes(config) else None
    engine, _ = boot(
        config,
        Plugins(priority, sched, select),
        boot_time=boot_time,
        associations=first_tree(config.cluster_name),
        saved=saved,
        utc_offset=utc_offset,
        clock=clock,
    )
    for effect in engine.begin():
        if isinstance(effect, Log | PluginFault):
            report(effect.message)
    for warning in warnings:
        report(warning)
    return engine
