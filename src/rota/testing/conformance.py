"""The conformance suite: what every plugin must do, whatever its policy.

Two functions, each to be called from a test::

    from rota.testing import check_priority, check_scheduler

    def test_scheduler():
        check_scheduler("sched/mine", plugin_dir="plugins")

    def test_priority():
        check_priority("priority/mine", plugin_dir="plugins")

Random scripts are played to the plugin on several machines: interchangeable processors, nodes with overlapping
partitions, nodes of different sizes with partition tiers. Jobs are submitted, held, released, cancelled and requeued
and run into their time limits, nodes and partitions go down and come back, and slurm.conf is read again. Scripts are
drawn from fixed seeds, so failures are reproducible; the message has the machine, the seed and the last decisions.

What is checked:

*consistent*
    The engine's invariants hold after every event: resources are allocated once, every job is in exactly one state.
*clean*
    There is no plugin fault: no function raises, or returns anything else than its API documents.
*no starvation*
    When no more jobs are submitted, every job ends. A scheduler may delay a job, but not forever.
*deterministic*
    The same script leads to the same decisions. A plugin must not use an unseeded random generator, read the clock, or
    depend on the order of a set.
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

#: Number of decisions in the message of a failure.
_SHOWN = 12
_WEEK = 7 * 24 * 3600


class ConformanceError(AssertionError):
    """A plugin does not conform; the message says why, and how to reproduce it."""


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
        plugin: A plugin type such as ``"sched/mine"``, or a function or class that makes a new symbol container. A
            container itself can be given if its ``init`` resets all its state.
        priority: The priority plugin, given in the same way.
        plugin_dir: Directories that are searched first for plugin types.
        seeds: A script is drawn for each seed and machine.
        jobs: Number of jobs in each script.
        machines: Functions that make a machine, by name.
        parameters: ``Key="Value"`` of slurm.conf, such as ``SchedulerParameters="easy_order=sjf"``.

    Raises:
        ConformanceError: the plugin does not conform.
        PluginError: the plugin cannot be loaded.
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
    """Check a priority plugin. The arguments are those of `check_scheduler`; ``sched`` is the scheduler plugin.

    Raises:
        ConformanceError: the plugin does not conform.
        PluginError: the plugin cannot be loaded.
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
    """A script played to a scheduler and a priority plugin."""

    def __init__(self, machine: str, seed: int, config: ClusterConfig, jobs: int) -> None:
        self._where = f"machine {machine!r}, seed {seed}"
        self._config = config
        # Seeded on purpose: the same script each time.
        self._script: Script = random_script(Random(f"{machine} {seed}"), config, jobs=jobs)  # noqa: S311

    def play(self, sched: object, priority: object, plugin_dir: str | Path | Sequence[str | Path]) -> list[str]:
        """Play the script and check it; give the decisions."""
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
        """Seconds that the jobs take one after the other, without requeues."""
        return sum(one.spec.time_limit or 0 for one in self._script.submissions)

    def _ask(self, harness: Harness) -> None:
        """Ask for all that sprio, sshare and scontrol show."""
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
