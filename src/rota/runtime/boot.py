"""Making an engine with its plugins, new or from a saved state."""

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
        associations: The tree of associations, which the engine takes over; ``None``: only the root.
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
    effects = [] if saved is None else restore(engine, saved)
    if prepare is not None:
        prepare(engine)
    if plugins.select is not None:
        plugins.select.start(engine.select_controller)
    plugins.priority.start(engine.priority_controller)
    plugins.sched.start(engine.sched_controller)
    return engine, effects
