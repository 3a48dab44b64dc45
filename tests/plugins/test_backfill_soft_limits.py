"""``--time-min`` as backfill heeds it by itself, and with ``time_min_as_soft_limit``.

The option came with Slurm 23.11, so that none of this was recorded. Expected is what the scheduler and the node
selection of that version do, as published: jobs are placed by ``--time-min`` and get their whole time limits. Who runs
is expected to end after ``--time-min`` and, when that is over, in the middle of what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from rota.model import ClusterConfig

_MACHINES = pytest.mark.parametrize("machine", ["processors", "nodes"])
_SOFT = ",time_min_as_soft_limit"


def _config(machine: str, more: str) -> ClusterConfig:
    options = f"bf_interval=1,bf_resolution=1,bf_window=10000{more}"
    if machine == "nodes":
        return cluster(nodes=2, SchedulerParameters=options)
    return cluster(cpus=2, SchedulerParameters=options)


@_MACHINES
@pytest.mark.parametrize(("more", "limit"), [("", 960), (_SOFT, 3600)])
def test_who_is_placed_by_time_min_has_the_whole_limit(machine: str, more: str, limit: int) -> None:
    with Harness(_config(machine, more), sched="sched/backfill") as rota:
        rota.submit(cpus=1, limit=1000)
        first = rota.submit(cpus=2, limit=600)
        second = rota.submit(cpus=1, limit=3600, time_min=900)
        rota.wait(2)
        assert (first.planned_start, second.start_time, second.time_limit) == (1000, 1, limit)


@_MACHINES
@pytest.mark.parametrize(("more", "planned"), [("", [3600] * 3), (_SOFT, [600, 601, 2150])])
def test_running_jobs_are_expected_to_end_after_their_time_min(machine: str, more: str, planned: list[int]) -> None:
    with Harness(_config(machine, more), sched="sched/backfill") as rota:
        rota.submit(cpus=2, limit=3600, time_min=600)
        job = rota.submit(cpus=1, limit=60)
        found = []
        for time in (10, 600, 700):
            rota.until(time - 1)
            rota.submit(cpus=2)  # else no cycle is made
            rota.until(time)
            found.append(job.planned_start)
        assert found == planned


def test_a_job_without_time_min_that_ends_sooner_goes_first() -> None:
    """On nodes, where running jobs end one after the other: the second by its limit, then the first by its time_min."""
    with Harness(_config("nodes", _SOFT), sched="sched/backfill") as rota:
        rota.submit(nodes=1, limit=300, time_min=280)
        rota.submit(nodes=1, limit=240)
        jobs = [rota.submit(nodes=1, limit=60), rota.submit(nodes=2, limit=60)]
        rota.wait(2)
        assert [job.planned_start for job in jobs] == [240, 300]
