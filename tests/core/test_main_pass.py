"""The main pass: which jobs it tests, which jobs block others, and when passes are made.

The scenarios marked *as recorded* were run with a real Slurm 22.05.8 (sched/builtin, priority/basic, 4 nodes with one
processor), whose starts are the expected values; its delays after submissions can be up to a second longer than the
option. The others follow from the documentation of SchedulerParameters.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from rota.core.scheduling.main_pass import END_OF_QUEUE, HIT_MAX_JOB_START, HIT_QUEUE_DEPTH
from rota.model import InputError, JobState, NodeState
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from rota.core.job import Job

HOUR = 3600


def _machine(parameters: str = "", nodes: int = 4) -> Harness:
    return Harness(cluster(nodes=nodes, SelectType="select/cons_tres", SchedulerParameters=parameters))


def _started(*jobs: Job) -> list[int | None]:
    return [job.start_time for job in jobs]


# ---- how far a pass goes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "start"), [(2, 20), (3, 0)])
def test_a_pass_looks_at_one_job_more_than_default_queue_depth_as_recorded(depth: int, start: int) -> None:
    with _machine(f"default_queue_depth={depth},sched_interval=20") as rota:
        rota.submit(required_nodes="n0", limit=HOUR)
        for _ in range(3):
            rota.submit(required_nodes="n0", limit=600)
        other = rota.submit(required_nodes="n1", limit=600)
        rota.wait(30)
        assert other.start_time == start


def test_default_queue_depth_brings_a_pass_over_the_whole_queue_every_minute() -> None:
    with _machine("default_queue_depth=0") as rota:
        rota.submit(required_nodes="n0")
        rota.submit(required_nodes="n0")
        assert rota.submit(required_nodes="n1").state is JobState.PENDING
        rota.wait(60)
        assert rota.job(3).start_time == 60


def test_without_the_option_the_whole_queue_is_looked_at() -> None:
    with _machine() as rota:
        rota.submit(required_nodes="n0")
        for _ in range(150):
            rota.submit(required_nodes="n0")
        assert rota.submit(required_nodes="n1").start_time == 0
        assert rota.engine.view.statistics().main.last_depth == 151


def test_jobs_of_a_blocked_partition_count_as_looked_at() -> None:
    parts = [partition("left", [0]), partition("right", [1])]
    config = cluster(nodes=2, partitions=parts, SchedulerParameters="default_queue_depth=2,sched_interval=1000")
    with Harness(config) as rota:
        rota.submit(partition="left")
        for _ in range(3):
            rota.submit(partition="left")
        assert rota.submit(partition="right").start_time is None
        assert rota.engine.view.statistics().main.last_depth == 3


def test_partition_job_depth_bounds_each_partition_by_itself() -> None:
    parts = [partition("left", [0]), partition("right", [1, 2])]
    config = cluster(
        nodes=3, SelectType="select/cons_tres", partitions=parts, SchedulerParameters="partition_job_depth=2"
    )
    with Harness(config) as rota:
        rota.submit(partition="right", required_nodes="n1")
        for _ in range(2):
            rota.submit(partition="right", required_nodes="n1")
        third = rota.submit(partition="right", required_nodes="n2")
        left = rota.submit(partition="left")
        assert _started(third, left) == [None, 0]
        assert rota.engine.view.statistics().main.last_depth == 3  # two on the right, and the one on the left


def test_sched_max_job_start_ends_a_pass_as_recorded() -> None:
    # Recorded: submitted together, they started at 0, 4 (the delay) and 19 s (the next pass over all, 15 s later).
    # Here nothing calls for the pass at 4 s, since all were submitted before the first one.
    with _machine("sched_max_job_start=1,sched_interval=15") as rota:
        rota.at(5, lambda: [rota.submit() for _ in range(3)])
        rota.wait(60)
        assert _started(*map(rota.job, (1, 2, 3))) == [5, 15, 30]
        assert rota.engine.view.statistics().main.exits[HIT_MAX_JOB_START] == 2


def test_sched_interval_minus_one_makes_no_main_pass_as_recorded() -> None:
    with _machine("sched_interval=-1") as rota:
        job = rota.submit()
        rota.wait(1000)
        assert job.state is JobState.PENDING
        assert rota.engine.view.statistics().main.cycles == 0


def test_a_pass_over_the_whole_queue_is_made_after_changes_only() -> None:
    with _machine("sched_interval=10") as rota:
        rota.submit(limit=3000)
        rota.wait(1000)
        assert rota.engine.passes == 2  # for the submission, and once more 10 s later
        rota.cancel(1)
        rota.wait(1000)
        assert rota.engine.passes == 4


# ---- who blocks whom ----------------------------------------------------------------------------------------------


def _behind_a_wide_one(parameters: str, limit: int = HOUR) -> list[bool]:
    """Run a job that waits for two nodes, of which one is free, and two jobs behind it; say which of these start."""
    with _machine(parameters) as rota:
        rota.submit(min_nodes=3, cpus=3, limit=HOUR)
        wide = rota.submit(min_nodes=2, cpus=2, limit=600)
        behind = [rota.submit(limit=1800), rota.submit(limit=300)]
        assert wide.state is JobState.PENDING
        return [job.state is JobState.RUNNING for job in behind]


@pytest.mark.parametrize(
    ("parameters", "running"),
    [
        ("", [False, False]),
        ("bf_min_age_reserve=3600", [True, False]),
        ("bf_min_prio_reserve=4294967295", [True, False]),
        ("bf_min_prio_reserve=1", [False, False]),
    ],
)
def test_a_job_too_young_or_too_low_blocks_nobody_as_recorded(parameters: str, running: list[bool]) -> None:
    assert _behind_a_wide_one(parameters) == running


def test_a_job_blocks_once_it_is_old_enough() -> None:
    with _machine("bf_min_age_reserve=100") as rota:
        rota.submit(min_nodes=3, cpus=3, limit=HOUR)
        rota.submit(min_nodes=2, cpus=2)
        rota.wait(99)
        assert rota.submit(run=1).start_time == 99
        rota.wait(1)
        assert rota.submit().start_time is None


def test_a_young_job_blocks_where_its_partition_has_too_few_nodes_left_for_it() -> None:
    parameters = "bf_min_age_reserve=100"
    with Harness(cluster(nodes=4, SchedulerParameters=parameters)) as rota:
        rota.submit(min_nodes=2, cpus=2)
        rota.node("n3", NodeState.DRAIN)
        young = rota.submit(min_nodes=4, cpus=4)
        assert _started(young, rota.submit()) == [None, None]
    with Harness(cluster(nodes=4, SchedulerParameters=parameters)) as rota:
        rota.submit(min_nodes=2, cpus=2)
        young = rota.submit(min_nodes=4, cpus=4)
        assert _started(young, rota.submit()) == [None, 0]


def test_a_job_that_names_its_nodes_takes_these_alone() -> None:
    with Harness(cluster(nodes=3, cpus_per_node=2, SelectType="select/cons_tres")) as rota:
        rota.submit(required_nodes="n0", limit=HOUR)
        rota.submit(required_nodes="n0", cpus=2)
        # n0 has a processor to spare, which is kept; n1 is as free as ever.
        assert rota.submit(required_nodes="n0").start_time is None
        assert rota.submit().alloc_nodes == 0b010


def test_a_job_that_needs_more_nodes_than_it_names_blocks() -> None:
    with _machine() as rota:
        rota.submit(required_nodes="n0", limit=HOUR)
        rota.submit(required_nodes="n0", min_nodes=2, cpus=2)
        assert rota.submit().start_time is None


def test_of_jobs_alike_that_block_nobody_each_has_its_say_at_its_own_age() -> None:
    with _machine("bf_min_age_reserve=100") as rota:
        rota.submit(min_nodes=3, cpus=3, limit=HOUR)
        old = rota.submit(min_nodes=2, cpus=2, priority=10)
        rota.wait(100)
        # First in line, young and in vain: the old one behind it, which is alike, still blocks.
        young = rota.submit(min_nodes=2, cpus=2, priority=20)
        assert _started(young, old, rota.submit(priority=5)) == [None, None, None]


# ---- when passes are made -----------------------------------------------------------------------------------------


def test_batch_sched_delay_is_from_pass_to_pass_as_recorded() -> None:
    with _machine("batch_sched_delay=5,sched_interval=1000") as rota:
        for time in (8, 9, 10):
            rota.at(time, rota.submit)
        rota.wait(30)
        assert _started(*map(rota.job, (1, 2, 3))) == [8, 13, 13]


@pytest.mark.parametrize(
    ("parameters", "epilog", "stopped", "start"),
    [
        # As recorded from 22.05.8, but those with defer.
        ("batch_sched_delay=10", "", None, 10),
        ("batch_sched_delay=10", "", 2, 2),
        ("batch_sched_delay=10", "/bin/true", None, 3),
        ("batch_sched_delay=10,defer", "/bin/true", None, 10),
        # Slurm's own delay is 3 s.
        ("defer", "/bin/true", 1, 3),
    ],
)
def test_what_an_end_waits_for(parameters: str, epilog: str, stopped: int | None, start: int) -> None:
    config = cluster(nodes=1, SelectType="select/cons_tres", SchedulerParameters=parameters, Epilog=epilog)
    with Harness(config) as rota:
        first = rota.submit(run=3)
        rota.at(1, partial(rota.submit, job_id=2))
        if stopped:
            rota.at(stopped, partial(rota.cancel, first))
        rota.wait(20)
        assert rota.job(2).start_time == start


def test_sched_min_interval_counts_whole_seconds() -> None:
    for micros, start in ((2, 1), (999_999, 1), (2_000_000, 2), (2_500_000, 3)):
        with _machine(f"sched_min_interval={micros}") as rota:
            rota.submit()
            rota.wait(1)
            rota.submit()
            rota.wait(20)
            assert rota.job(2).start_time == start, micros


def test_options_that_are_read_again_hold_from_then_on() -> None:
    with _machine("sched_interval=-1") as rota:
        job = rota.submit()
        rota.reconfigure(cluster(nodes=4, SelectType="select/cons_tres"))
        assert job.start_time == 0
        bad = cluster(nodes=4, SelectType="select/cons_tres", SchedulerParameters="default_queue_depth=-1")
        with pytest.raises(Exception, match="default_queue_depth=-1 is not an integer from 0"):
            rota.reconfigure(bad)
        assert rota.submit().start_time == 0


@pytest.mark.parametrize(
    "parameters",
    [
        "default_queue_depth=-1",
        "partition_job_depth=x",
        "sched_interval=-2",
        "sched_max_job_start=1.5",
        "sched_min_interval=-1",
        "batch_sched_delay=-3",
        "bf_min_age_reserve=-1",
        "bf_min_prio_reserve=4294967296",
    ],
)
def test_a_bad_value_is_named(parameters: str) -> None:
    with pytest.raises(InputError, match=parameters) as caught:
        _machine(parameters)
    assert caught.value.field == "SchedulerParameters"


def test_limits_of_time_are_accepted_and_change_nothing() -> None:
    with _machine("max_sched_time=1,max_rpc_cnt=1,build_queue_timeout=100") as rota:
        assert rota.submit().start_time == 0


# ---- statistics ---------------------------------------------------------------------------------------------------


def test_statistics_count_passes_and_what_they_looked_at() -> None:
    with _machine("default_queue_depth=1,sched_interval=1000", nodes=1) as rota:
        assert rota.engine.view.statistics().main.mean_depth == 0
        rota.submit()  # depth 1 of 1
        rota.submit()  # 1 of 1
        rota.submit()  # 2 of 2
        rota.submit()  # 2 of 3
        found = rota.engine.view.statistics().main
        assert (found.cycles, found.depth, found.jobs_started) == (4, 6, 1)
        assert (found.last_queue_length, found.last_depth, found.mean_depth) == (3, 2, 1.5)
        assert found.exits == {END_OF_QUEUE: 3, HIT_QUEUE_DEPTH: 1}


def test_depth_counts_jobs_behind_a_full_machine() -> None:
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(cpus=4)
        for _ in range(5):
            rota.submit()
        assert rota.engine.view.statistics().main.last_depth == 5
