"""What test 7.22 of Slurm's own test suite asks of sched/backfill, told in a sentence and written anew from that.

N - 1 of N nodes are busy for 3 T, and a job of high priority wants all N. A job of low priority that wants one node for
T may start on the idle one by backfill; one that wants it for 5 T may not start before the job of high priority.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from rota.model import JobState, Reason
from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.job import Job
    from rota.model import ClusterConfig

N, T = 4, 600
INTERVAL = 30
OPTIONS = f"bf_interval={INTERVAL}"
#: The same for every kind of machine.
KINDS = pytest.mark.parametrize(
    "machine",
    [
        pytest.param(partial(cluster, nodes=N), id="whole nodes"),
        pytest.param(partial(cluster, nodes=N, SelectType="select/cons_tres"), id="shared nodes"),
        pytest.param(partial(cluster, cpus=N), id="processors"),
    ],
)


def _with_a_high_job(machine: Callable[..., ClusterConfig], sched: str) -> tuple[Harness, Job]:
    """Make a cluster where N - 1 nodes are busy for 3 T and the high-priority job waits for all N."""
    rota = Harness(machine(SchedulerParameters=OPTIONS), sched=sched)
    rota.submit(cpus=N - 1, limit=3 * T, run=3 * T)
    high = rota.submit(cpus=N, limit=T, run=T, priority=1000)
    assert (high.state, rota.reason(high)) == (JobState.PENDING, Reason.RESOURCES)
    return rota, high


@KINDS
def test_a_short_job_starts_by_backfill(machine: Callable[..., ClusterConfig]) -> None:
    rota, high = _with_a_high_job(machine, "sched/backfill")
    with rota:
        short = rota.submit(cpus=1, limit=T, run=T, priority=1)
        assert (short.state, rota.reason(short)) == (JobState.PENDING, Reason.PRIORITY)  # no main pass starts it
        rota.wait(INTERVAL)
        assert (short.state, short.start_time) == (JobState.RUNNING, INTERVAL)
        assert high.planned_start == 3 * T
        rota.run_to_end()
        assert rota.starts == {1: 0, high.job_id: 3 * T, short.job_id: INTERVAL}


@KINDS
def test_a_long_job_waits_for_the_high_one(machine: Callable[..., ClusterConfig]) -> None:
    rota, high = _with_a_high_job(machine, "sched/backfill")
    with rota:
        long = rota.submit(cpus=1, limit=5 * T, run=5 * T, priority=1)
        rota.until(3 * T - 1)
        assert (long.state, rota.reason(long)) == (JobState.PENDING, Reason.PRIORITY)
        assert (high.planned_start, long.planned_start) == (3 * T, 4 * T)
        rota.run_to_end()
        assert rota.starts == {1: 0, high.job_id: 3 * T, long.job_id: 4 * T}


@KINDS
def test_of_both_at_once_only_the_short_one_goes_first(machine: Callable[..., ClusterConfig]) -> None:
    rota, high = _with_a_high_job(machine, "sched/backfill")
    with rota:
        long = rota.submit(cpus=1, limit=5 * T, run=5 * T, priority=2)
        short = rota.submit(cpus=1, limit=T, run=T, priority=1)
        rota.run_to_end()
        assert rota.starts == {1: 0, high.job_id: 3 * T, long.job_id: 4 * T, short.job_id: INTERVAL}


@KINDS
def test_without_backfill_the_short_one_waits_too(machine: Callable[..., ClusterConfig]) -> None:
    rota, high = _with_a_high_job(machine, "sched/builtin")
    with rota:
        short = rota.submit(cpus=1, limit=T, run=T, priority=1)
        rota.run_to_end()
        assert rota.starts == {1: 0, high.job_id: 3 * T, short.job_id: 4 * T}


@KINDS
def test_between_the_two_the_reservation_decides(machine: Callable[..., ClusterConfig]) -> None:
    """The first cycle comes after ``INTERVAL``, so that so much less than 3 T is left until the high job's turn.

    On nodes a reservation that begins at the very second when the job would end is in its way, as in Slurm's own code;
    interchangeable processors, which Slurm does not have, are free until then.
    """
    left = 3 * T - INTERVAL
    longest = left if machine().nodes[0].cpus == N else left - 1
    for limit, start in ((longest, INTERVAL), (longest + 1, 4 * T)):
        rota, high = _with_a_high_job(machine, "sched/backfill")
        with rota:
            job = rota.submit(cpus=1, limit=limit, run=limit, priority=1)
            rota.run_to_end()
            assert rota.starts == {1: 0, high.job_id: 3 * T, job.job_id: start}
