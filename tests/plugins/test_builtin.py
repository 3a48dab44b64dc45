"""sched/builtin: strict order, and rough estimates of when jobs will start.

The queue of `test_estimates_as_recorded` was played to a real Slurm 22.05.8 (4 nodes of one processor, an estimate
every 10 s); the expected starts are what its ``squeue --start`` said. The others are worked by hand from the rules in
the module's docstring.
"""

from __future__ import annotations

import pytest

from rota.model import InputError
from rota.testing import Harness, cluster, partition

MINUTE = 60


def _machine(parameters: str = "bf_interval=10") -> Harness:
    config = cluster(nodes=4, SelectType="select/cons_tres", SchedulerParameters=parameters)
    return Harness(config, sched="sched/builtin")


def _planned(rota: Harness) -> dict[int, int | None]:
    return {job: rota.job(job).planned_start for job in rota.queue}


def test_estimates_as_recorded() -> None:
    # Recorded at 11:25:40, with the first job since 11:25:36: 12:25:36, at once, 11:55:40.
    with _machine() as rota:
        rota.submit(min_nodes=3, cpus=3, limit=60 * MINUTE)
        rota.submit(min_nodes=2, cpus=2, limit=10 * MINUTE)
        rota.submit(limit=30 * MINUTE)
        rota.submit(limit=5 * MINUTE)
        rota.wait(10)
        assert _planned(rota) == {2: 60 * MINUTE, 3: 10, 4: 10 + 30 * MINUTE}


def test_estimates_of_jobs_for_one_node_as_recorded() -> None:
    # Recorded: the running job's end, then 10 minutes each after the other; but for the one that may start now.
    with _machine() as rota:
        rota.submit(required_nodes="n0", limit=60 * MINUTE)
        for _ in range(3):
            rota.submit(required_nodes="n0", limit=10 * MINUTE)
        rota.wait(10)
        assert _planned(rota) == {2: 60 * MINUTE, 3: 70 * MINUTE, 4: 80 * MINUTE}
        assert rota.job(4).planned_nodes == 0b0001


def test_a_job_is_said_to_wait_for_the_last_one_estimated_wherever_that_runs() -> None:
    with _machine() as rota:
        rota.submit(min_nodes=4, cpus=4, limit=10 * MINUTE)
        rota.submit(required_nodes="n0", limit=5 * MINUTE)  # at 10 min, to 15
        rota.submit(required_nodes="n1", limit=50 * MINUTE)  # at 10 min, to 60
        rota.submit(required_nodes="n0", limit=5 * MINUTE)  # could follow the first at 15 min
        rota.wait(10)
        assert _planned(rota) == {2: 10 * MINUTE, 3: 10 * MINUTE, 4: 60 * MINUTE}


def test_nothing_is_estimated_unless_slurm_conf_names_the_interval() -> None:
    for parameters in ("", "bf_max_job_test=5", "bf_interval=-1"):
        with _machine(parameters) as rota:
            rota.submit(min_nodes=4, cpus=4)
            job = rota.submit()
            rota.wait(1000)
            assert job.planned_start is None


def test_the_interval_of_another_scheduler_is_not_its_own() -> None:
    config = cluster(nodes=4, SchedulerType="sched/backfill", SchedulerParameters="bf_interval=10")
    with Harness(config, sched="sched/builtin") as rota:
        rota.submit(min_nodes=4, cpus=4)
        job = rota.submit()
        rota.wait(100)
        assert job.planned_start is None


@pytest.mark.parametrize(("parameters", "count"), [("bf_interval=10", 51), ("bf_interval=10,bf_max_job_test=2", 3)])
def test_one_job_more_is_estimated_than_bf_max_job_test_says(parameters: str, count: int) -> None:
    with _machine(parameters) as rota:
        rota.submit(min_nodes=4, cpus=4)
        for _ in range(60):
            rota.submit()
        rota.wait(10)
        assert [start is not None for start in _planned(rota).values()] == [True] * count + [False] * (60 - count)


def test_estimates_are_made_anew_after_a_change_and_only_then() -> None:
    with _machine() as rota:
        first = rota.submit(min_nodes=4, cpus=4, limit=10 * MINUTE)
        job = rota.submit(min_nodes=4, cpus=4)
        last = rota.submit(min_nodes=4, cpus=4)
        rota.wait(10)
        assert _planned(rota)[2] == 10 * MINUTE
        events = rota.engine.events
        rota.wait(100)
        assert rota.engine.events == events
        rota.cancel(first)
        assert job.start_time == 110
        assert job.planned_start is None
        rota.wait(10)
        assert last.planned_start == 110 + 60 * MINUTE


def test_of_several_partitions_the_first_is_estimated() -> None:
    parts = [partition("left", [0]), partition("right", [1])]
    config = cluster(nodes=2, partitions=parts, SchedulerParameters="bf_interval=10")
    with Harness(config, sched="sched/builtin") as rota:
        rota.submit(partition="left", limit=20 * MINUTE)
        rota.submit(partition="right", limit=10 * MINUTE)
        job = rota.submit(partition="left,right")
        rota.wait(10)
        assert (job.planned_start, job.planned_nodes) == (20 * MINUTE, 0b01)


def test_an_estimate_decides_nothing() -> None:
    def play(parameters: str) -> dict[int, int]:
        with _machine(parameters) as rota:
            for number in range(20):
                rota.submit(cpus=number % 4 + 1, min_nodes=number % 4 + 1, limit=HOUR, run=100 + 7 * number)
            rota.run_to_end()
            return rota.starts

    assert play("bf_interval=1") == play("")


HOUR = 60 * MINUTE


@pytest.mark.parametrize("parameters", ["bf_interval=0", "bf_interval=20000", "bf_max_job_test=0"])
def test_a_bad_value_is_named(parameters: str) -> None:
    with pytest.raises(InputError, match=parameters) as caught:
        _machine(parameters)
    assert caught.value.field == "SchedulerParameters"
