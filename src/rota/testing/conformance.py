"""The conformance suite: what every plugin must do, whatever its policy.

Two functions, each to be called from a test::

    from rota.testing import check_priority, check_scheduler

    def test_scheduler():
        check_scheduler("sched/mine", plugin_dir="plugins")

    def test_priority():
        check_priority("priority/mine", plugin_dir="plugins")

They play random scripts to the plugin on several machines: interchangeable processors, nodes with overlapping
partitions, nodes of different sizes with partition tiers. In the scripts jobs are submitted, held, released, cancelled
and requeued, jobs run into their time limits, nodes and partitions go down and come back, slurm.conf is read again. The
scripts are drawn from fixed seeds, so a failure can be repeated; its message has the machine, the seed and the last
decisions.

What is checked:

*consistent*
    The engine's invariants hold after every event: no resource is given twice, every job is in exactly one place.
*clean*
    No fault was counted: no function raised or returned something other than what its API documents.
*no starvation*
    Once nothing new comes, every job ends. A scheduler may let a job wait, but not forever.
*deterministic*
    The same script leads to the same decisions, line by line. A plugin must not draw from an unseeded source of
    randomness, read the clock, or depend on the order of a set.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from rota.core import events as ev
from rota.model import InvariantError
from rota.testing.builders import with_parameters
from rota.testing.harness import Harness
from rota.testing.scripts import MACHINES, random_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rota.model import ClusterConfig
    from rota.testing.scripts import Script

#: Decisions that the message of a failure shows.
_SHOWN = 12
_WEEK = 7 * 24 * 3600


class ConformanceError(AssertionError):
    """A plugin does not do what every plugin must; the message says what, and how to see it again."""


def check_scheduler(
    plugin: object,
    *,
    priority: object = "priority/basic",
    plugin_dir: str | Path | Sequence[str | Path] = (),
    seeds: Iterable[int] = range(10),
    jobs: int = 30,
    machines: Mapping[str, Callable[[], ClusterConfig]] = MACHINES,
    **parameters: str,
) -> None:
    """Check a scheduler plugin.

    Args:
        plugin: A plugin type such as ``"sched/mine"``, or something that makes a fresh symbol container when called,
            such as a class. A container itself will do if its ``init`` forgets all that it knew.
        priority: The priority plugin to go with it; likewise.
        plugin_dir: Where plugin types are looked for first.
        seeds: A script is drawn from each, for each machine.
        jobs: Submitted in each script.
        machines: By name, functions that make a machine.
        parameters: ``Key="Value"`` of slurm.conf, such as ``SchedulerParameters="easy_order=sjf"``.

    Raises:
        ConformanceError: it does not conform.
        PluginError: it cannot be loaded.
    """
    seeds = list(seeds)
    for name, make in machines.items():
        for seed in seeds:
            first, again = (
                _Run(name, seed, with_parameters(make(), **parameters), jobs).play(plugin, priority, plugin_dir)
                for _ in range(2)
            )
            _compare(first, again, f"machine {name!r}, seed {seed}")


def check_priority(
    plugin: object,
    *,
    sched: object = "sched/builtin",
    plugin_dir: str | Path | Sequence[str | Path] = (),
    seeds: Iterable[int] = range(10),
    jobs: int = 30,
    machines: Mapping[str, Callable[[], ClusterConfig]] = MACHINES,
    **parameters: str,
) -> None:
    """Check a priority plugin. The arguments are those of `check_scheduler`; ``sched`` goes with it.

    Raises:
        ConformanceError: it does not conform.
        PluginError: it cannot be loaded.
    """
    check_scheduler(
        sched,
        priority=plugin,
        plugin_dir=plugin_dir,
        seeds=seeds,
        jobs=jobs,
        machines=machines,
        **parameters,
    )


class _Run:
    """One script played to one pair of plugins."""

    def __init__(self, machine: str, seed: int, config: ClusterConfig, jobs: int) -> None:
        self._where = f"machine {machine!r}, seed {seed}"
        self._config = config
        # A seeded generator is the point: the same script each time.
        self._script: Script = random_script(Random(f"{machine} {seed}"), config, jobs=jobs)  # noqa: S311

    def play(self, sched: object, priority: object, plugin_dir: str | Path | Sequence[str | Path]) -> list[str]:
        """Play it and check what one run can show; give the decisions."""
        script = self._script
        with Harness(self._config, sched=sched, priority=priority, plugin_dir=plugin_dir) as harness:
            script.put(harness)
            harness.at(script.last // 2, lambda: harness.send(ev.Reconfigure(config=self._config)))
            try:
                harness.run_to_end(script.last + 2 * self._work() + _WEEK)
            except InvariantError as error:
                raise self._failure(f"the engine was led to contradict itself: {error}", harness) from error
            self._ask(harness)
            self._check_clean(harness)
            self._check_all_ended(harness)
            return harness.trace

    def _work(self) -> int:
        """Seconds that the jobs take one after another, requeues apart."""
        return sum(one.spec.time_limit or 0 for one in self._script.submissions)

    def _ask(self, harness: Harness) -> None:
        """Ask what sprio, sshare and scontrol ask."""
        view = harness.engine.view
        view.factors()
        view.associations()
        view.scheduler_parameters()

    def _check_clean(self, harness: Harness) -> None:
        if harness.engine.faults:
            counts = ", ".join(f"{plugin}: {symbol} ×{n}" for (plugin, symbol), n in harness.engine.faults.items())
            first = f"; the first: {harness.faults[0].message}" if harness.faults else ""
            raise self._failure(f"faults were counted: {counts}{first}", harness)

    def _check_all_ended(self, harness: Harness) -> None:
        if harness.live:
            waiting = ", ".join(f"{job.job_id} ({harness.reason(job)})" for job in harness.live)
            raise self._failure(f"jobs are left although nothing new came: {waiting}", harness)

    def _failure(self, problem: str, harness: Harness) -> ConformanceError:
        decisions = "\n  ".join(harness.trace[-_SHOWN:])
        return ConformanceError(f"{self._where}: {problem}\nlast decisions:\n  {decisions}")


def _compare(first: list[str], again: list[str], where: str) -> None:
    if first == again:
        return
    differing = next((a, b) for a, b in zip([*first, ""], [*again, ""], strict=False) if a != b)
    raise ConformanceError(f"{where}: two runs differ: first {differing[0]!r}, then {differing[1]!r}")
