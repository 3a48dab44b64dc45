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
