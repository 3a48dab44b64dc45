"""The checks of invariants: a violation is found, and the error names the invariant and the job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.accounting import AssociationTree
from rota.core.timers import Timer, TimerKind
from rota.model import InvariantError, JobState, Qos, Reason
from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.cluster import Cluster

RUNNING, COMPLETING, QUEUED, PARKED, LATER = range(1, 6)


def _harness() -> Harness:
    """Make a machine with a queued, a parked, a running and a completing job, one with a licence, and an array."""
    tree = AssociationTree("cluster")
    tree.qos["normal"] = Qos(name="normal", limits={"GrpTRES": "cpu=100", "GrpSubmitJobs": "100"})
    tree.add("user0", "default")
    config = cluster(cpus=6, AccountingStorageEnforce="limits", Licenses="lic:3")
    rota = Harness(config, performs=False, associations=tree)
    rota.submit(cpus=2)
    rota.cancel(rota.submit(cpus=2))
    rota.submit(cpus=4)
    rota.submit(hold=True)
    rota.submit(begin=60)
    rota.submit(licenses="lic")
    rota.submit(array="1,2%1")
    return rota


def _set(job_id: int, **values: object) -> Callable[[Cluster], None]:
    """Set attributes of a job record."""

    def write(cluster: Cluster) -> None:
        for name, value in values.items():
            setattr(cluster.state.jobs[job_id], name, value)

    return write


def _begins(job_id: int, time: int) -> Callable[[Cluster], None]:
    """Set the begin time of a job."""

    def write(cluster: Cluster) -> None:
        job = cluster.state.jobs[job_id]
        job.spec = job.spec._replace(begin_time=time)

    return write


def _forget(cluster: Cluster) -> None:
    del cluster.queue.parked[PARKED]


def _put_twice(cluster: Cluster) -> None:
    cluster.queue.parked[QUEUED] = cluster.state.jobs[QUEUED]


def _keep_what_is_over(cluster: Cluster) -> None:
    del cluster.state.jobs[RUNNING]


def _give_twice(cluster: Cluster) -> None:
    cluster.state.pool.free += 1


def _oversubscribe(cluster: Cluster) -> None:
    cluster.state.pool.free = -2


def _say_nothing_of_who_is_behind(cluster: Cluster) -> None:
    cluster.queue.behind, cluster.queue.entered = (-(2**60),), []
    cluster.state.jobs[QUEUED].reason = Reason.NONE


def _forget_its_partition(cluster: Cluster) -> None:
    cluster.queue.behind, cluster.queue.behind_in, cluster.queue.entered = (2**60,), {"other"}, []


def _use_a_licence(cluster: Cluster) -> None:
    cluster.licenses.used["lic"] = 2


def _count_a_task(cluster: Cluster) -> None:
    cluster.state.arrays[7].running += 1


def _count_a_limited_job(cluster: Cluster) -> None:
    cluster.queue.limited += 1


def _count_in_ledgers(name: str, value: object) -> Callable[[Cluster], None]:
    def write(cluster: Cluster) -> None:
        setattr(cluster.policy.context.ledgers["QOS normal"], name, value)

    return write


def _forget_a_start(cluster: Cluster) -> None:
    cluster.policy.context.running.clear()


def _count_what_is_over(cluster: Cluster) -> None:
    cluster.policy.submitted_in[99] = ()


def _set_timer(timer: Timer) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.state.timers.set(60, timer)


PLACES = "jobs are not in exactly one place"
BREACHES: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "in no place": (_forget, f"{PLACES}: in several [], in none [4], not live []"),
    "in two places": (_put_twice, f"{PLACES}: in several [3], in none [], not live []"),
    "over and in a place": (_keep_what_is_over, f"{PLACES}: in several [], in none [], not live [1]"),
    "queued and running": (_set(QUEUED, state=JobState.RUNNING), "is in the queue"),
    "queued with resources": (_set(QUEUED, alloc=1), "is in the queue"),
    "queued and held": (_set(QUEUED, priority=0), "is in the queue and must not start: JobHeldAdmin"),
    "queued too early": (_begins(QUEUED, 60), "is in the queue and must not start: BeginTime"),
    "parked and running": (_set(PARKED, state=JobState.RUNNING), "is parked"),
    "parked with resources": (_set(PARKED, alloc=1), "is parked"),
    "parked with a place in the queue": (_set(PARKED, sort_key=(1,)), "is parked"),
    "running and pending": (_set(RUNNING, state=JobState.PENDING), "is among the running jobs"),
    "running without resources": (_set(RUNNING, alloc=0), "is among the running jobs"),
    "running and not started": (_set(RUNNING, start_time=None), "started before it was submitted"),
    "running before it was there": (_set(RUNNING, start_time=-1), "started before it was submitted"),
    "running too early": (_begins(RUNNING, 60), "started before its begin time"),
    "completing without resources": (_set(COMPLETING, alloc=0), "is among the completing jobs"),
    "completing with a place in the queue": (_set(COMPLETING, sort_key=(1,)), "is among the completing jobs"),
    "too much is free": (_give_twice, "free + allocated processors are not the whole"),
    "less than nothing is free": (_oversubscribe, "2 processors oversubscribed"),
    "the queue's keys": (_set(QUEUED, sort_key=(1,)), "a sorted list is out of order"),
    "the running jobs' keys": (_set(RUNNING, sort_key=(1,)), "a sorted list is out of order"),
    "a reason of before": (_say_nothing_of_who_is_behind, "waits behind others, which nobody has written"),
    "a partition of before": (_forget_its_partition, "is in the partition batch, of which nobody knows"),
    "an old priority": (_set(QUEUED, priority=5), "the queue is in an old order"),
    "licences": (_use_a_licence, "licences in use are {}, and {'lic': 2} were counted"),
    "running tasks": (_count_a_task, "0 tasks of array 7 run, not 1"),
    "limited jobs": (_count_a_limited_job, "7 jobs may be held back, and 8 were counted"),
    "running jobs of limits": (_forget_a_start, "jobs [1, 2] count as running, or do not, for limits"),
    "over and counted": (_count_what_is_over, "jobs [99] are over and count for limits"),
    "jobs of a ledger": (
        _count_in_ledgers("jobs", 9),
        "2 jobs take [4, 0, 0.0, 2, 4, 0.0, 0.0, 0.0], not 9 [4.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0]",
    ),
    "TRES of a ledger": (_count_in_ledgers("tres", [0.0] * 2), "QOS normal: 2 jobs take [4, 0], not 2 [0.0, 0.0]"),
    "nodes of a ledger": (_count_in_ledgers("nodes", 2), "QOS normal: its jobs run on nodes 0x1, not 0x2"),
    "live jobs of a ledger": (_count_in_ledgers("submitted", 1), "QOS normal: 8 jobs are live, not 1"),
    "a timer of nobody": (_set_timer(Timer(TimerKind.DEADLINE, 99)), "is of no live job"),
    "a timer of another run": (_set_timer(Timer(TimerKind.PREEMPT_GRACE, 1, 1)), "priority=4294901759> that is over"),
    "a timer of no reservation": (_set_timer(Timer(TimerKind.RESERVATION, name="r")), "is of no reservation"),
    "a begin time that is forgotten": (
        lambda cluster: cluster.state.timers.cancel(Timer(TimerKind.BEGIN_TIME, LATER)),
        "waits for its begin time, and nobody would notice",
    ),
    "an old end": (_set(RUNNING, end_time=5), "running jobs are in an old order"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_told(name: str) -> None:
    breach, told = BREACHES[name]
    with _harness() as rota:
        rota.engine.check_invariants()
        breach(rota.engine.cluster)
        with pytest.raises(InvariantError, match=rf"{re.escape(told)}$"):
            rota.engine.check_invariants()
