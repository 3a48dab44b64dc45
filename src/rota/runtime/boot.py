"""Putting an engine together with its plugins, fresh or from a saved state: once for all drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rota.core import Engine
from rota.core.snapshot import restore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.accounting import AssociationTree
    from rota.core.effects import Effect
    from rota.loader import LoadedPlugin
    from rota.model import ClusterConfig


class Plugins(NamedTuple):
    """The plugins of one engine, loaded and not started."""

    priority: LoadedPlugin
    sched: LoadedPlugin
    #: ``None``: there is nothing to pick.
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
    """Make an engine and start its plugins: the one that selects nodes, then priority, then scheduler.

    Args:
        config: slurm.conf.
        plugins: Loaded.
        boot_time: When the clock begins, Unix seconds.
        associations: Accounts and users, the engine's own from now on; ``None``: only the root.
        saved: State to go on from, as `rota.core.snapshot.save` gave it.
        utc_offset: Local time minus UTC, seconds, at a Unix time; ``None``: local time is UTC.
        clock: Gives seconds of real time, to report slow plugins; ``None``: nobody looks.
        prepare: Called with the engine before its plugins are started.

    Returns:
        The engine, and what is to be done since it goes on from a saved state. `Engine.begin` is still to be called.

    Raises:
        InputError: slurm.conf, the associations or the saved state cannot be used.
        PluginError: a plugin cannot.
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
    effects = [] if saved is None else restore(engine, saved)
    if prepare is not None:
        prepare(engine)
    if plugins.select is not None:
        plugins.select.start(engine.select_controller)
    plugins.priority.start(engine.priority_controller)
    plugins.sched.start(engine.sched_controller)
    return engine, effects
