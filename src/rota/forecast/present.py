"""A cluster as it is now: what its controller tells, and engines that are made from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import count as count_from
from typing import TYPE_CHECKING

from rota.config.local_time import system_utc_offset
from rota.core.plain import shape_of
from rota.forecast.run_times import PastRun, RunTimes
from rota.model import YEAR, ClusterConfig, InputError, NodeState
from rota.runtime.boot import boot_live

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from rota.core import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A cluster as it is now."""

    #: Unix seconds.
    now: int
    config: ClusterConfig
    #: State of the engine, as `rota.core.snapshot` saves it: JSON, as an engine takes over what it is restored from.
    state: str
    #: The last runs that have ended, oldest first.
    past: tuple[PastRun, ...]

    @classmethod
    def read(cls, text: str) -> Present:
        """Read what the controller tells; see `rota.controller.present`."""
        told = json.loads(text)
        return cls(
            now=told["now"],
            config=shape_of(ClusterConfig).decode(told["config"]),
            state=json.dumps(told["engine"]),
            past=tuple(
                PastRun(user, account, name, limit or YEAR, took) for user, account, name, limit, took in told["past"]
            ),
        )

    def engine(self, stack: ExitStack, config: ClusterConfig, report: Callable[[str], object]) -> Engine:
        """Make an engine in this state.

        Args:
            stack: Unloads its plugins when it is closed.
            config: Its configuration, the cluster's or another one.
            report: Is called with messages for the administrator.

        Raises:
            InputError: the configuration cannot be used.
            PluginError: a plugin cannot be used.
        """
        return boot_live(
            stack, config, json.loads(self.state), boot_time=self.now, report=report, utc_offset=system_utc_offset
        )

    def run_times(self, engine: Engine) -> RunTimes:
        """Give the distributions of run times."""
        return RunTimes([*self.past, *present_runs(engine, self.now)])


def present_runs(engine: Engine, now: int) -> list[PastRun]:
    """Give what is known of the runs that have not ended."""
    return [
        PastRun(
            job.user_name, job.spec.account, job.spec.name, job.time_limit, max(now - job.effective_start, 0), False
        )
        for job in engine.jobs.values()
        if job.alloc and job.suspended_since is None and not job.completing
    ]


def with_nodes(config: ClusterConfig, change: int) -> ClusterConfig:
    """Add nodes to the largest partition, like its last one, or remove its last ones.

    Args:
        config: The configuration.
        change: Number of nodes to add; negative: to remove.

    Raises:
        InputError: there are not so many to remove.
    """
    largest = max(config.partitions, key=lambda one: one.nodes.bit_count())
    mine = [place for place in range(len(config.nodes)) if largest.nodes >> place & 1]
    if change >= 0:
        return _with_more(config, mine[-1], change)
    if -change >= len(mine):
        problem = f"partition {largest.name} has {len(mine)} nodes: remove fewer"
        raise InputError(problem, field="--nodes")
    gone = set(mine[change:])
    kept = [place for place in range(len(config.nodes)) if place not in gone]
    partitions = tuple(
        replace(one, nodes=sum(1 << new for new, old in enumerate(kept) if one.nodes >> old & 1))
        for one in config.partitions
    )
    return replace(config, nodes=tuple(config.nodes[place] for place in kept), partitions=partitions)


def _with_more(config: ClusterConfig, model: int, count: int) -> ClusterConfig:
    """Add nodes like the one at the place ``model``, to its partitions."""
    node, taken = config.nodes[model], {one.name for one in config.nodes}
    free = (name for number in count_from(1) if (name := f"{node.name}-{number}") not in taken)
    more = tuple(replace(node, name=next(free), state=NodeState.UP, reason="") for _ in range(count))
    added = ((1 << count) - 1) << len(config.nodes)
    partitions = tuple(
        replace(one, nodes=one.nodes | added) if one.nodes >> model & 1 else one for one in config.partitions
    )
    return replace(config, nodes=(*config.nodes, *more), partitions=partitions)
