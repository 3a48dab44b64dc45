"""What must always be true is looked for: whoever breaks one of the rules is told which, and of which job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.model import InvariantError, JobState
from rota.testing import Harness

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.state import ClusterState

RUNNING, COMPLETING, QUEUED, PARKED = 1, 2, 3, 4


def _harness() -> Harness:
    """Make a machine with a job in each place."""
    rota = Harness(performs=False)
    rota.submit(cpus=2)
    rota.cancel(rota.submit(cpus=2))
    rota.submit(cpus=4)
    rota.submit(hold=True)
    return rota


def _set(job_id: int, **values: object) -> Callable[[ClusterState], None]:
    """Write into a job's record."""

    def write(state: ClusterState) -> None:
        for name, value in values.items():
            setattr(state.jobs[job_id], name, value)

    return write


def _begins(job_id: int, time: int) -> Callable[[ClusterState], None]:
    """Have a job asked not to begin before a time."""

    def write(state: ClusterState) -> None:
        state.jobs[job_id].spec = state.jobs[job_id].spec._replace(begin_time=time)

    return write


def _forget(state: ClusterState) -> None:
    del state.parked[PARKED]


def _put_twice(state: ClusterState) -> None:
    state.parked[QUEUED] = state.jobs[QUEUED]


def _keep_what_is_over(state: ClusterState) -> None:
    del state.jobs[RUNNING]


def _give_twice(state: ClusterState) -> None:
    state.pool.free += 1


def _oversubscribe(state: ClusterState) -> None:
    state.pool.free = -2


PLACES = "jobs are not in exactly one place"
BREACHES: dict[str, tuple[Callable[[ClusterState], None], str]] = {
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
    "an old priority": (_set(QUEUED, priority=5), "the queue is in an old order"),
    "an old end": (_set(RUNNING, end_time=5), "running jobs are in an old order"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_told(name: str) -> None:
    breach, told = BREACHES[name]
    with _harness() as rota:
        rota.engine.check_invariants()
        breach(rota.engine.state)
        with pytest.raises(InvariantError, match=rf"{re.escape(told)}$"):
            rota.engine.check_invariants()
