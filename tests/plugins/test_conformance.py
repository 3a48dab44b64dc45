"""Every plugin that rota brings or shows conforms, and the suite catches those that do not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.loader import PluginRefusedError
from rota.testing import MACHINES, ConformanceError, check_priority, check_scheduler, priority, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from _pytest.mark import ParameterSet

_PROJECT = Path(__file__).resolve().parents[2]
_EXAMPLES = _PROJECT / "examples" / "plugins"
_CHECKS: dict[str, Callable[..., None]] = {"sched": check_scheduler, "priority": check_priority}


def _types(folder: Path) -> list[str]:
    return sorted(file.stem.replace("_", "/", 1) for file in folder.glob("*_*.py") if not file.stem.startswith("_"))


def _built_in(major: str) -> list[str]:
    folder = _PROJECT / "src" / "rota" / "plugins" / major
    return sorted(f"{major}/{file.stem}" for file in folder.glob("*.py") if not file.stem.startswith("_"))


def _slow(value: str) -> ParameterSet:
    """Mark what is of the same kind as what the fast tests have."""
    return pytest.param(value, marks=pytest.mark.slow)


def _with_slow(values: list[str], slow: set[str]) -> list[str | ParameterSet]:
    """Mark some values as `_slow`."""
    return [_slow(value) if value in slow else value for value in values]


@pytest.mark.parametrize("plugin_type", [*_built_in("sched"), *_built_in("priority")])
@pytest.mark.seeds(1, 6)
def test_every_built_in_plugin_conforms(plugin_type: str, seeds: range) -> None:
    _CHECKS[plugin_type.partition("/")[0]](plugin_type, seeds=seeds)


@pytest.mark.parametrize(
    "plugin_type", _with_slow(_types(_EXAMPLES), {f"priority/{name}" for name in ("f2", "f3", "f4", "saf", "unicep")})
)
@pytest.mark.seeds(1, 6)
def test_every_example_conforms(plugin_type: str, seeds: range) -> None:
    _CHECKS[plugin_type.partition("/")[0]](plugin_type, plugin_dir=_EXAMPLES, seeds=seeds)


@pytest.mark.parametrize("sched", _with_slow(_built_in("sched"), {"sched/builtin", "sched/none"}))
@pytest.mark.parametrize("plugin_type", ["priority/wfp3", *map(_slow, ("priority/none", "priority/saf"))])
@pytest.mark.seeds(1, 3)
def test_every_scheduler_conforms_under_other_orders(sched: str, plugin_type: str, seeds: range) -> None:
    check_scheduler(sched, priority=plugin_type, plugin_dir=_EXAMPLES, seeds=seeds)


@pytest.mark.parametrize(
    ("sched", "parameters"),
    [
        ("sched/easy", "easy_order=sjf"),
        ("sched/backfill", "bf_interval=1,bf_resolution=1"),
        ("sched/backfill", "bf_interval=300,bf_resolution=300,bf_window=10,bf_max_job_test=2,bf_continue"),
    ],
)
@pytest.mark.seeds(1, 6)
def test_every_option_conforms(sched: str, parameters: str, seeds: range) -> None:
    check_scheduler(sched, SchedulerParameters=parameters, seeds=seeds)


@pytest.mark.slow
@pytest.mark.parametrize("more", [",bf_continue", ",bf_max_time=60"])
@pytest.mark.parametrize("seeds", [range(3)])
def test_backfill_that_takes_time_conforms(more: str, seeds: range) -> None:
    options = f"bf_interval=5,bf_test_time=700000,bf_yield_interval=1000000{more}"
    check_scheduler("sched/backfill", SchedulerParameters=options, seeds=seeds)


@pytest.mark.slow
@pytest.mark.parametrize("sched", _built_in("sched"))
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 20), marks=pytest.mark.longest)], ids=str)
def test_every_scheduler_conforms_with_many_jobs(sched: str, seeds: range) -> None:
    check_scheduler(sched, seeds=seeds, jobs=60)


# ---- the suite itself ---------------------------------------------------------------------------------------------


def _starving() -> SimpleNamespace:
    """Never start a job of more than 2 units."""
    plugin = scheduler()

    def schedule() -> int:
        plugin.ctld.disable_main_pass()
        for job in plugin.ctld.queue:
            if job.units <= 2:
                plugin.ctld.start(job)
        return 0

    plugin.slurm_sched_p_schedule = schedule
    return plugin


def _lucky() -> SimpleNamespace:
    """Draw from an unseeded source."""
    return priority(priority_p_set=lambda last, job: random.randint(1, 100))  # noqa: S311 - that is the fault


def _wrong() -> SimpleNamespace:
    """Return nothing now and then."""
    return scheduler(slurm_sched_p_newalloc=lambda job: None if job.job_id == 7 else 0)


def _writing() -> SimpleNamespace:
    """Write into records that are the engine's."""
    plugin = scheduler()

    def schedule() -> int:
        for job in plugin.ctld.queue:
            job.priority = 5
        return 0

    plugin.slurm_sched_p_schedule = schedule
    return plugin


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        (check_scheduler, _starving, r"machine 'processors', seed 0: jobs are left.*Resources"),
        (check_scheduler, _wrong, r"slurm_sched_p_newalloc.*returned None; expected SLURM_SUCCESS"),
        (check_scheduler, _writing, r"'priority' is read-only, a plugin only reads jobs"),
        (check_priority, _lucky, r"two runs differ"),
    ],
)
def test_a_plugin_that_does_not_conform_is_told_where_and_how(check: Any, plugin: Any, words: str) -> None:
    with pytest.raises(ConformanceError, match=f"(?s){words}"):
        check(plugin)


def test_a_container_that_lacks_a_function_is_refused_as_the_loader_would() -> None:
    plugin = scheduler()
    del plugin.slurm_sched_p_freealloc
    with pytest.raises(PluginRefusedError, match=r"slurm_sched_p_freealloc\(job_ptr\) is missing"):
        check_scheduler(plugin)


def test_a_class_is_made_anew_for_each_run() -> None:
    made: list[object] = []

    def make() -> SimpleNamespace:
        made.append(scheduler())
        return made[-1]  # type: ignore[return-value]

    check_scheduler(make, seeds=[1])
    assert len(made) == 2 * len(MACHINES)
