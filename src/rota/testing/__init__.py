"""Tests of plugins: builders, a harness, and a conformance suite.

A scenario describes a machine, lets things happen, and checks the outcome::

    from rota.testing import Harness, cluster

    def test_a_short_job_is_backfilled():
        with Harness(cluster(cpus=4), sched="sched/easy") as cluster_:
            cluster_.submit(cpus=3, limit=100)
            head = cluster_.submit(cpus=4, limit=100)
            short = cluster_.submit(cpus=1, limit=100)
            assert short.state is JobState.RUNNING
            assert head.planned_start == 100

Two lines test what every plugin must do; further tests show the plugin's own policy::

    from rota.testing import check_scheduler

    def test_it_is_a_scheduler():
        check_scheduler("sched/mine", plugin_dir="plugins")

===================== =====================================================================================
`Harness`             an engine with plugins, a clock that the test moves, and a log of all decisions
`cluster`, `spec`     a machine, a request
`scheduler`,          a symbol container in which a test replaces some functions
`priority`
`Recorder`            a symbol container that records every call to another one
`check_scheduler`,    the conformance suite
`check_priority`
===================== =====================================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rota.testing.builders import cluster, partition, spec, with_parameters
    from rota.testing.conformance import ConformanceError, check_priority, check_scheduler
    from rota.testing.containers import Call, Recorder, priority, scheduler
    from rota.testing.harness import Harness
    from rota.testing.scripts import MACHINES, Script, random_script

__all__ = [
    "MACHINES",
    "Call",
    "ConformanceError",
    "Harness",
    "Recorder",
    "Script",
    "check_priority",
    "check_scheduler",
    "cluster",
    "partition",
    "priority",
    "random_script",
    "scheduler",
    "spec",
    "with_parameters",
]

#: Modules of the names: they are imported when they are first used, as pytest imports this package wherever rota is
#: installed, for the fixture of `rota.testing.pytest_plugin`.
_MODULES = {
    "rota.testing.builders": ("cluster", "partition", "spec", "with_parameters"),
    "rota.testing.conformance": ("ConformanceError", "check_priority", "check_scheduler"),
    "rota.testing.containers": ("Call", "Recorder", "priority", "scheduler"),
    "rota.testing.harness": ("Harness",),
    "rota.testing.scripts": ("MACHINES", "Script", "random_script"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module 'rota.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Offer the public names to completion, before they are imported."""
    return sorted({*globals(), *__all__})
